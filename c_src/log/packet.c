/* SPDX-License-Identifier: Apache-2.0 */
#include "log/packet.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct inv_unpacker {
	ZSTD_DCtx *zstd;
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
	free(u);
}

static int unpack_zstd(struct inv_packet *p, struct inv_unpacker *u,
		       const struct inv_log_place *at, const char **what)
{
	size_t n = at->head.raw_len;

	if (n > p->cap) {
		uint8_t *buf = realloc(p->buf, n);

		if (!buf)
			return INV_ENOMEM;
		p->buf = buf;
		p->cap = n;
	}
	if (ZSTD_decompressDCtx(u->zstd, p->buf, n, at->body,
				at->head.body_len) != n) {
		*what = "a packet's body cannot be unpacked";
		return INV_EDAMAGED;
	}
	return 0;
}

/* The unpacked body in *raw, raw_len bytes. */
static int unpack(struct inv_packet *p, struct inv_unpacker *u,
		  const struct inv_log_place *at, const uint8_t **raw,
		  const char **what)
{
	switch (at->head.codec) {
	case INV_CODEC_NONE:
		*raw = at->body;
		*what = "a packet's length is wrong";
		return at->head.raw_len == at->head.body_len ? 0 : INV_EDAMAGED;
	case INV_CODEC_ZSTD:
		if (unpack_zstd(p, u, at, what))
			return INV_EDAMAGED;
		*raw = p->buf;
		return 0;
	default:
		*what = "a packet is packed in a way unknown here";
		return INV_EVERSION;
	}
}

int inv_packet_open(struct inv_packet *p, struct inv_unpacker *u,
		    const struct inv_log_place *at, const char **what)
{
	const struct inv_log_packet *h = &at->head;
	const uint8_t *raw = NULL;
	int rc;

	p->events = NULL;
	p->len = 0;
	if (!at->body) {
		*what = "the file ends within a packet";
		return INV_ETRUNCATED;
	}
	if (XXH64(at->body, h->body_len, 0) != h->body_sum) {
		*what = "a packet's body is damaged";
		return INV_EDAMAGED;
	}
	if (h->raw_len > INV_PACKET_RAW_MAX || h->def_len > h->raw_len) {
		*what = "a packet's lengths make no sense";
		return INV_EDAMAGED;
	}
	rc = unpack(p, u, at, &raw, what);
	if (rc)
		return rc;
	rc = inv_dict_parse(&p->dict, raw, h->def_len, NULL);
	if (rc) {
		*what = "a packet's definitions make no sense";
		return rc;
	}
	p->events = raw + h->def_len;
	p->len = h->raw_len - h->def_len;
	return 0;
}

void inv_packet_release(struct inv_packet *p)
{
	inv_dict_release(&p->dict);
	free(p->buf);
	memset(p, 0, sizeof(*p));
}

/* Entry *i of a body of fixed entries; they are never packed. */
static bool entry(const struct inv_log_packet *h, const uint8_t *body,
		  uint32_t *i, void *out, size_t size)
{
	if (!body || h->codec != INV_CODEC_NONE || *i >= h->body_len / size ||
	    *i >= h->n_events)
		return false;
	memcpy(out, body + *i * size, size);
	++*i;
	return true;
}

bool inv_totals_next(const struct inv_log_packet *h, const uint8_t *body,
		     uint32_t *i, struct inv_log_totals *t)
{
	return entry(h, body, i, t, sizeof(*t));
}

bool inv_anchor_next(const struct inv_log_packet *h, const uint8_t *body,
		     uint32_t *i, struct inv_anchor *a)
{
	return entry(h, body, i, a, sizeof(*a));
}
