/* SPDX-License-Identifier: Apache-2.0 */
#include "log/about.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "log/utf8.h"

#define SIZE_MIN (sizeof(struct inv_log_head) + 8)

/* The first bytes of a source, in the window. */
struct start {
	const uint8_t *data;
	size_t size;
};

static struct start look(struct inv_window *w)
{
	struct start b = { .size = INV_LOG_HEAD_MAX };

	if (w->src->size < b.size)
		b.size = (size_t)w->src->size;
	b.data = inv_window_get(w, 0, b.size);
	return b;
}

static bool has_magic(const struct start *b)
{
	return b->size >= 8 && !memcmp(b->data, INV_LOG_MAGIC, 8);
}

bool inv_log_about_is(struct inv_window *w)
{
	const struct start b = look(w);
	uint64_t off = 0;

	return has_magic(&b) || inv_scan_find_head(w, &off, b.size);
}

/* Returns a copy, made with `copy', of the head's string at *off, and sets *off
 * to the byte after the string. */
static char *take_string(const uint8_t *data, uint64_t end, uint64_t *off,
			 char *(*copy)(const char *s, size_t n))
{
	const uint8_t *p = data + *off;
	uint64_t n;

	if (end < 2 || *off > end - 2)
		return copy("", 0);
	n = p[0] | p[1] << 8;
	if (n > end - 2 - *off)
		n = end - 2 - *off;
	*off += 2 + n;
	return copy((const char *)p + 2, n);
}

static bool sum_sound(const struct start *b, uint32_t head_len)
{
	uint64_t sum;

	if (!has_magic(b) || head_len < SIZE_MIN ||
	    head_len > INV_LOG_HEAD_MAX || head_len > b->size)
		return false;
	memcpy(&sum, b->data + head_len - 8, sizeof(sum));
	return sum == XXH64(b->data, head_len - 8, 0);
}

/* Returns true if the source is growing and more bytes could change the result
 * of inv_log_about_read. */
static bool wait(struct inv_window *w)
{
	const struct start b = look(w);
	struct inv_log_head h;
	uint64_t off = 0;

	if (!w->src->growing)
		return false;
	if (b.size < SIZE_MIN)
		return true;
	memcpy(&h, b.data, sizeof(h));
	if (has_magic(&b) && h.head_len <= INV_LOG_HEAD_MAX) {
		if (h.head_len > b.size)
			return true;
		if (sum_sound(&b, h.head_len))
			return false;
	}
	return w->src->size <
		       INV_LOG_HEAD_MAX + sizeof(struct inv_log_packet) &&
	       !inv_scan_find_head(w, &off, w->src->size);
}

int inv_log_about_read(struct inv_log_about *a, struct inv_window *w,
		       struct inv_notices *ns, uint64_t *start,
		       struct inv_err *err)
{
	const char *name = w->src->name;
	uint64_t off = sizeof(a->head);
	struct start b;
	uint64_t end;

	memset(a, 0, sizeof(*a));
	if (wait(w))
		return INV_END;
	if (!inv_log_about_is(w))
		return inv_err_set(err, INV_EFORMAT, "%s: not a log", name);
	b = look(w);
	if (b.size < SIZE_MIN)
		return inv_err_set(err, INV_EFORMAT, "%s: too short for a log",
				   name);
	memcpy(&a->head, b.data, sizeof(a->head));
	*start = a->head.head_len;
	if (!sum_sound(&b, a->head.head_len)) {
		a->damaged = true;
		*start = 0;
		inv_scan_find_head(w, start, w->src->size);
		b = look(w);
		end = *start < b.size ? *start : b.size;
		inv_notice_damage(ns, name, 0, end,
				  "the file's head is damaged: its node and "
				  "number may be wrong");
	} else if (a->head.version > INV_LOG_VERSION) {
		return inv_err_set(err, INV_EVERSION,
				   "%s: a log of version %u; this program reads"
				   " up to %u",
				   name, a->head.version, INV_LOG_VERSION);
	} else {
		end = a->head.head_len - 8;
	}
	a->node = take_string(b.data, end, &off, inv_utf8_node_name);
	a->otp_release = take_string(b.data, end, &off, inv_utf8_sanitized);
	a->erts_version = take_string(b.data, end, &off, inv_utf8_sanitized);
	a->os_pid = take_string(b.data, end, &off, inv_utf8_sanitized);
	if (!a->node || !a->otp_release || !a->erts_version || !a->os_pid)
		return inv_err_set(err, INV_ENOMEM, "%s: no memory", name);
	return 0;
}

void inv_log_about_release(struct inv_log_about *a)
{
	free(a->node);
	free(a->otp_release);
	free(a->erts_version);
	free(a->os_pid);
	memset(a, 0, sizeof(*a));
}
