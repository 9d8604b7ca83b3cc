/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/ctf_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"

/* The header and context of each packet, up to the name of the node. */
struct head {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t timestamp_begin;
	uint64_t timestamp_end;
	uint64_t content_size; /* in bits */
	uint64_t packet_size;
	uint64_t events_discarded;
};
_Static_assert(sizeof(struct head) == 64, "no padding");

/* The name of a stream's file has at most this many bytes of the node's
 * name. */
#define PATH_NAME 100

int inv_ctf_stream_init(struct inv_ctf_stream *st, const char *dir,
			const struct inv_node *node, const uint8_t *uuid)
{
	char name[PATH_NAME + 1];
	unsigned i;

	for (i = 0; i < PATH_NAME && node->name[i]; i++) {
		char c = node->name[i];

		name[i] = '_';
		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || c == '@' || c == '.' || c == '-')
			name[i] = c;
	}
	name[i] = 0;
	st->node = node;
	st->uuid = uuid;
	if (asprintf(&st->path, "%s/%u_%s", dir, node->number, name) < 0) {
		st->path = NULL;
		return INV_ENOMEM;
	}
	return 0;
}

void inv_ctf_stream_release(struct inv_ctf_stream *st)
{
	inv_buf_release(&st->packet);
	free(st->path);
}

int inv_ctf_append(const char *path, const struct inv_buf *b,
		   struct inv_err *err)
{
	size_t off = 0;
	int fd, rc = 0;

	if (b->error)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	if (fd < 0)
		return inv_err_sys(err, errno, "create %s", path);
	while (!rc && off < b->len) {
		ssize_t n = write(fd, b->data + off, b->len - off);

		if (n >= 0)
			off += (size_t)n;
		else if (errno != EINTR)
			rc = inv_err_sys(err, errno, "write %s", path);
	}
	if (close(fd) && !rc)
		rc = inv_err_sys(err, errno, "close %s", path);
	return rc;
}

/* Returns the time that is written for ts_ns. It is never before the last time
 * in the stream, because readers require that. */
static uint64_t place(struct inv_ctf_stream *st, int64_t ts_ns)
{
	if (ts_ns > 0 && (uint64_t)ts_ns > st->last_ns)
		st->last_ns = (uint64_t)ts_ns;
	return st->last_ns;
}

static void begin(struct inv_ctf_stream *st, uint64_t ns)
{
	static const struct head zero;

	if (st->packet.len)
		return;
	st->begin_ns = ns;
	inv_buf_put(&st->packet, &zero, sizeof(zero));
	inv_ctf_text(&st->packet, st->node->name, strlen(st->node->name),
		     INV_CTF_NAME);
}

size_t inv_ctf_stream_event(struct inv_ctf_stream *st, uint16_t id,
			    int64_t ts_ns)
{
	uint64_t ns = place(st, ts_ns);
	int64_t earlier_ns = (int64_t)(ns - (uint64_t)ts_ns);
	size_t off;

	begin(st, ns);
	off = st->packet.len;
	inv_buf_put(&st->packet, &id, sizeof(id));
	inv_buf_put(&st->packet, &ns, sizeof(ns));
	inv_buf_put(&st->packet, &earlier_ns, sizeof(earlier_ns));
	return off;
}

void inv_ctf_stream_cancel(struct inv_ctf_stream *st, size_t begin)
{
	st->packet.len = begin;
}

int inv_ctf_stream_end(struct inv_ctf_stream *st, struct inv_err *err)
{
	if (st->packet.len < INV_CTF_PACKET && !st->packet.error)
		return 0;
	return inv_ctf_stream_flush(st, err);
}

int inv_ctf_stream_lose(struct inv_ctf_stream *st, int64_t ts_ns, uint64_t n,
			struct inv_err *err)
{
	uint64_t ns = place(st, ts_ns);
	int rc = 0;

	begin(st, ns);
	/* Readers find losses by comparing the counters of two packets, so a
	 * loss in the first packet would not be found. If no packet was written
	 * yet, write one without the loss first. */
	if (!st->written)
		rc = inv_ctf_stream_flush(st, err);
	begin(st, ns);
	st->lost += n;
	return rc;
}

int inv_ctf_stream_flush(struct inv_ctf_stream *st, struct inv_err *err)
{
	struct head h = {
		.magic = INV_CTF_MAGIC,
		.timestamp_begin = st->begin_ns,
		.timestamp_end = st->last_ns,
		.content_size = (uint64_t)st->packet.len * 8,
		.packet_size = (uint64_t)st->packet.len * 8,
		.events_discarded = st->lost,
	};
	int rc;

	if (!st->packet.len && !st->packet.error)
		return 0;
	memcpy(h.uuid, st->uuid, sizeof(h.uuid));
	if (!st->packet.error)
		memcpy(st->packet.data, &h, sizeof(h));
	rc = inv_ctf_append(st->path, &st->packet, err);
	st->written = true;
	inv_buf_reset(&st->packet);
	return rc;
}

/* --- strings -------------------------------------------------------------- */

static bool is_hidden(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || inv_char_hidden(c);
}

/* How many bytes inv_ctf_text can append in addition to `most': the longest
 * escape, "…" and NUL. */
#define REST 16

void inv_ctf_text(struct inv_buf *b, const void *text, size_t len, size_t most)
{
	const uint8_t *p = text, *end;
	uint8_t *begin, *w;

	if (!len) {
		inv_buf_put(b, "-", 2);
		return;
	}
	/* The longest text for one byte is \x{ff}, six characters. */
	begin = inv_buf_reserve(b, (len < most / 6 ? len * 6 : most) + REST);
	if (!begin)
		return;
	w = begin;
	end = p + len;
	while (p < end && (size_t)(w - begin) < most) {
		unsigned n = 1;
		uint32_t c;

		if (*p >= 0x20 && *p < 0x7f) {
			*w++ = *p++;
			continue;
		}
		c = inv_utf8_get(p, end, &n);
		p += n;
		if (c == INV_CHAR_BAD)
			w = inv_utf8_put(w, 0xfffd);
		else if (is_hidden(c))
			w += sprintf((char *)w, "\\x{%x}", c);
		else
			w = inv_utf8_put(w, c);
	}
	if (p < end)
		w = inv_utf8_put(w, 0x2026);
	*w++ = 0;
	inv_buf_commit(b, (size_t)(w - begin));
}
