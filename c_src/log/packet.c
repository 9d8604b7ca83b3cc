/* SPDX-License-Identifier: Apache-2.0 */
#include "log/packet.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct inv_unpacker {
	ZSTD_DCtx *zstd;
	struct inv_packet_buf packed; /* a compressed body, as it is in the
					 file */
	struct inv_packet_buf buf;    /* a decompressed body of totals or
					 anchors */
};

struct inv_unpacker *inv_unpacker_new(void)
{
	struct inv_unpacker *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->zstd = ZSTD_createDCtx();
	if (!u->zstd) {
		free(u);
		return NULL;
	}
	return u;
}

void inv_unpacker_free(struct inv_unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	free(u->packed.data);
	free(u->buf.data);
	free(u);
}

static int reserve(struct inv_packet_buf *b, size_t n)
{
	uint8_t *more;

	if (n <= b->cap && b->data)
		return 0;
	/* The old bytes are not needed, so do not let realloc copy them. */
	free(b->data);
	b->cap = 0;
	b->data = more = malloc(n ? n : 1);
	if (!more)
		return INV_ENOMEM;
	b->cap = n;
	return 0;
}

/* Sets *body to the packet's body, which may be compressed. If the body is in a
 * file, reads it to *buf. */
static int load(const struct inv_log_place *at, struct inv_packet_buf *buf,
		const uint8_t **body)
{
	*body = at->body;
	if (at->body)
		return 0;
	if (reserve(buf, at->head.body_len))
		return INV_ENOMEM;
	inv_source_copy(at->src, at->off + at->head.head_len, buf->data,
			at->head.body_len);
	*body = buf->data;
	return 0;
}

static bool is_packed(const struct inv_log_place *at)
{
	return at->head.codec != INV_CODEC_NONE;
}

/* Sets *raw to the decompressed body, which has raw_len bytes. Decompresses a
 * compressed body to *buf, which grows if necessary. */
static int unpack(struct inv_unpacker *u, const struct inv_log_place *at,
		  const uint8_t *body, struct inv_packet_buf *buf,
		  const uint8_t **raw, const char **what)
{
	size_t n = at->head.raw_len;

	switch (at->head.codec) {
	case INV_CODEC_NONE:
		*raw = body;
		*what = "a packet's length is wrong";
		return n == at->head.body_len ? 0 : INV_EDAMAGED;
	case INV_CODEC_ZSTD:
		if (reserve(buf, n))
			return INV_ENOMEM;
		*raw = buf->data;
		*what = "a packet's body cannot be unpacked";
		return ZSTD_decompressDCtx(u->zstd, buf->data, n, body,
					   at->head.body_len) == n ?
			       0 :
			       INV_EDAMAGED;
	default:
		*what = "a packet has an unknown compression";
		return INV_EVERSION;
	}
}

int inv_packet_open(struct inv_packet *p, struct inv_unpacker *u,
		    const struct inv_log_place *at, const char **what)
{
	const struct inv_log_packet *h = &at->head;
	const uint8_t *body = NULL;
	const uint8_t *raw = NULL;
	int rc;

	p->events = NULL;
	p->len = 0;
	if (at->cut) {
		*what = "the file ends within a packet";
		return INV_ETRUNCATED;
	}
	if (!at->damaged &&
	    load(at, is_packed(at) ? &u->packed : &p->buf, &body))
		return INV_ENOMEM;
	if (at->damaged || XXH64(body, h->body_len, 0) != h->body_sum) {
		*what = "a packet's body is damaged";
		return INV_EDAMAGED;
	}
	if (h->raw_len > INV_EVENT_MAX || h->def_len > h->raw_len) {
		*what = "a packet's lengths are invalid";
		return INV_EDAMAGED;
	}
	rc = unpack(u, at, body, &p->buf, &raw, what);
	if (rc)
		return rc;
	rc = inv_dict_parse(&p->dict, raw, h->def_len, NULL);
	if (rc) {
		*what = "a packet's definitions are invalid";
		return rc;
	}
	p->events = raw + h->def_len;
	p->len = h->raw_len - h->def_len;
	return 0;
}

void inv_packet_release(struct inv_packet *p)
{
	inv_dict_release(&p->dict);
	free(p->buf.data);
	memset(p, 0, sizeof(*p));
}

void inv_packet_release_long(struct inv_packet *p, struct inv_unpacker *u)
{
	inv_packet_release(p);
	if (u->packed.cap > INV_PACKET_BODY_MAX) {
		free(u->packed.data);
		u->packed = (struct inv_packet_buf){ 0 };
	}
}

void inv_entries_open(struct inv_entries *e, struct inv_unpacker *u,
		      const struct inv_log_place *at)
{
	const struct inv_log_packet *h = &at->head;
	const uint8_t *body;
	const char *what;

	memset(e, 0, sizeof(*e));
	e->type = h->type;
	if (at->cut || at->damaged || h->raw_len > INV_PACKET_RAW_MAX ||
	    !h->n_events ||
	    load(at, is_packed(at) ? &u->packed : &u->buf, &body) ||
	    unpack(u, at, body, &u->buf, &e->data, &what))
		return;
	e->size = h->raw_len / h->n_events;
	if (e->size >= (e->type == INV_LOG_TOTALS ?
				sizeof(struct inv_log_totals) :
				INV_ANCHOR_1_SIZE))
		e->n = h->n_events;
}

/* Copies entry i to *out, which has `size' bytes. In logs of an older version
 * an entry can be shorter; then the rest of *out is zero. In logs of a newer
 * version it can be longer; then the end is not copied. */
static bool entry(const struct inv_entries *e, unsigned type, uint32_t i,
		  void *out, size_t size)
{
	if (e->type != type || i >= e->n)
		return false;
	memset(out, 0, size);
	memcpy(out, e->data + i * e->size, size < e->size ? size : e->size);
	return true;
}

bool inv_entries_totals(const struct inv_entries *e, uint32_t i,
			struct inv_log_totals *t)
{
	return entry(e, INV_LOG_TOTALS, i, t, sizeof(*t));
}

bool inv_entries_of_stream(const struct inv_entries *e, uint32_t stream,
			   struct inv_log_totals *t)
{
	if (inv_entries_totals(e, stream, t) && t->stream == stream)
		return true;
	for (uint32_t i = 0; inv_entries_totals(e, i, t); i++)
		if (t->stream == stream)
			return true;
	return false;
}

bool inv_entries_anchor(const struct inv_entries *e, uint32_t i,
			struct inv_anchor *a)
{
	return entry(e, INV_LOG_ANCHORS, i, a, sizeof(*a));
}
