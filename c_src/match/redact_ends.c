/* SPDX-License-Identifier: Apache-2.0 */
#include "match/redact_ends.h"

struct inv_redact_end {
	const uint8_t *begin;
	const uint8_t *end; /* the byte after the container; NULL: the
			       container is still open */
	size_t around;	    /* 1 + the index of the container around this
			     * container; 0: there is none */
	uint32_t depth;
};

void inv_redact_ends_reset(struct inv_redact_ends *ends)
{
	inv_buf_reset(&ends->found);
	ends->until = NULL;
	ends->n_read = 0;
}

void inv_redact_ends_release(struct inv_redact_ends *ends)
{
	inv_buf_release(&ends->found);
}

static struct inv_redact_end *all(const struct inv_redact_ends *ends)
{
	return (struct inv_redact_end *)(void *)ends->found.data;
}

static size_t count(const struct inv_redact_ends *ends)
{
	return ends->found.len / sizeof(struct inv_redact_end);
}

static const struct inv_redact_end *find(const struct inv_redact_ends *ends,
					 const uint8_t *p)
{
	size_t low = 0;
	size_t high = count(ends);

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct inv_redact_end *e = all(ends) + mid;

		if (e->begin == p)
			return e;
		if (e->begin < p)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static bool opens(const struct inv_token *tok)
{
	return tok->kind == INV_TOK_TUPLE || tok->kind == INV_TOK_LIST ||
	       tok->kind == INV_TOK_MAP;
}

/* Reads the term at p, and stores where its containers end. The list of
 * arguments of an APPLY is not stored: it has no code byte of its own, so its
 * first byte is also the first byte of its first element. */
static const uint8_t *read_term(struct inv_redact_ends *ends,
				struct inv_cursor *c, const uint8_t *p)
{
	struct inv_redact_end new = { 0 };
	struct inv_token tok;
	size_t open = 0; /* 1 + the index of the innermost open container */

	do {
		new.begin = p + inv_cursor_offset(c);
		if (inv_cursor_next(c, &tok))
			return NULL;
		if (opens(&tok) && p + inv_cursor_offset(c) > new.begin) {
			new.around = open;
			new.depth = inv_cursor_depth(c);
			inv_buf_put(&ends->found, &new, sizeof(new));
			open = count(ends);
			if (ends->found.error)
				return NULL;
		} else if (tok.kind == INV_TOK_END && open > 0 &&
			   all(ends)[open - 1].depth > inv_cursor_depth(c)) {
			all(ends)[open - 1].end = p + inv_cursor_offset(c);
			open = all(ends)[open - 1].around;
		}
	} while (inv_cursor_depth(c) > 0);
	return p + inv_cursor_offset(c);
}

static bool is_container(uint8_t code)
{
	return code == INV_T_LIST || code == INV_T_MAP || code == INV_T_TUPLE ||
	       code >= INV_T_APPLY ||
	       (code >= INV_T_TUPLE_SMALL && code < INV_T_BINARY_SMALL);
}

const uint8_t *inv_redact_after(struct inv_redact_ends *ends,
				struct inv_cursor *cursor,
				const struct inv_dict *dict, const uint8_t *p,
				const uint8_t *end)
{
	const struct inv_redact_end *known;
	const uint8_t *to;

	if (!p || p >= end)
		return NULL;
	inv_cursor_init(cursor, INV_ENC_PACKED, dict, p, (size_t)(end - p));
	if (is_container(*p) && (!ends->until || p >= ends->until)) {
		to = read_term(ends, cursor, p);
		ends->n_read += inv_cursor_offset(cursor);
		ends->until = to ? to : end;
		return to;
	}
	known = is_container(*p) ? find(ends, p) : NULL;
	if (known)
		return known->end;
	to = inv_cursor_skip(cursor) ? NULL : p + inv_cursor_offset(cursor);
	if (is_container(*p))
		ends->n_read += inv_cursor_offset(cursor);
	return to;
}
