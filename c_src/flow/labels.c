/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/labels.h"

#include <stdlib.h>
#include <string.h>

#include "flow/seq_int.h"

#define HASH_FUNCTION(key, len, hash) \
	((hash) = inv__seq_bucket((key), (len) / sizeof(uint64_t)))
#include "base/err.h"
#include "base/utf8.h"
#include "base/uthash.h"
#include "flow/seq.h"

struct inv_label {
	uint64_t key; /* the process (in `begun') or the number of the request
			 (in `requests') */
	char *text;
	bool stored;
	UT_hash_handle hh;
};

static void free_label(struct inv_label *x)
{
	free(x->text);
	free(x);
}

static void free_all(struct inv_label **table)
{
	struct inv_label *x = *table;

	HASH_CLEAR(hh, *table);
	while (x) {
		struct inv_label *next = x->hh.next;

		free_label(x);
		x = next;
	}
}

void inv_labels_release(struct inv_labels *l)
{
	free_all(&l->begun);
	free_all(&l->requests);
}

/* Removes the label with this key from the table, and returns it, or NULL. */
static struct inv_label *take(struct inv_label **table, uint64_t key)
{
	struct inv_label *x;

	HASH_FIND(hh, *table, &key, sizeof(key), x);
	if (x)
		HASH_DEL(*table, x);
	return x;
}

/*
 * Adds the label x to the table, as its newest entry. Returns 0, or frees x and
 * returns INV_ENOMEM.
 */
static int put(struct inv_label **table, struct inv_label *x, uint64_t key)
{
	struct inv_label *oldest = *table;

	if (HASH_COUNT(*table) >= INV_LABELS_MAX) {
		HASH_DEL(*table, oldest);
		free_label(oldest);
	}
	x->key = key;
	x->stored = true;
	HASH_ADD(hh, *table, key, sizeof(x->key), x);
	if (x->stored)
		return 0;
	free_label(x);
	return INV_ENOMEM;
}

/* Reads {'$inviso_seq', Token, ...} to the end of Token. */
static bool read_mark(struct inv_beginning *b, struct inv_cursor *c)
{
	struct inv_token tok;

	if (inv_cursor_next(c, &tok))
		return false;
	b->labels = 0;
	b->held = false;
	b->over = inv_token_is(&tok, "$inviso_seq_over");
	if (b->over)
		return true;
	if (tok.kind != INV_TOK_TUPLE || tok.count < 2)
		return false;
	b->labels = tok.count - 2;
	if (inv_cursor_next(c, &tok) || !inv_token_is(&tok, "$inviso_seq") ||
	    inv_cursor_next(c, &tok))
		return false;
	b->held = tok.kind == INV_TOK_TUPLE;
	return !inv_cursor_skip_rest(c, &tok);
}

bool inv_labels_read(struct inv_beginning *b, struct inv_cursor *c,
		     const struct inv_item *it)
{
	struct inv_token tok;

	if (it->kind != INV_ITEM_EVENT || !it->ev.ms_result || it->ev.bare ||
	    (it->ev.tag != INV_TAG_CALL && it->ev.tag != INV_TAG_SEND) ||
	    inv_event_tracee(&it->ev, c, &tok) || tok.kind != INV_TOK_PID)
		return false;
	b->process = inv_seq_pid(it, &tok);
	if (inv_cursor_skip_rest(c, &tok))
		return false;
	/* Skip the event's own terms. The value of the match spec follows. */
	for (unsigned i = 0; i < 1u + it->ev.extra; i++)
		if (inv_cursor_next(c, &tok) || inv_cursor_skip_rest(c, &tok))
			return false;
	b->mark = inv_cursor_offset(c);
	return read_mark(b, c);
}

/* Returns the next n terms of the cursor as the text of a label, or NULL if
 * there is no memory. */
static char *print(struct inv_cursor *c, uint32_t n,
		   const struct inv_print_opts *o)
{
	struct inv_buf b = { 0 };

	for (uint32_t i = 0; i < n && b.len <= INV_LABEL_TEXT; i++) {
		if (i)
			inv_buf_puts(&b, ", ");
		if (inv_term_print(c, &b, o)) {
			inv_buf_puts(&b, "?");
			break;
		}
	}
	if (!b.error && b.len > INV_LABEL_TEXT) {
		b.len = INV_LABEL_TEXT;
		b.len -= inv_utf8_partial(b.data, INV_LABEL_TEXT);
		inv_buf_puts(&b, "…");
	}
	inv_buf_putc(&b, 0);
	if (!b.error)
		return (char *)b.data;
	inv_buf_release(&b);
	return NULL;
}

int inv_labels_begin(struct inv_labels *l, struct inv_cursor *c,
		     const struct inv_beginning *b,
		     const struct inv_print_opts *o)
{
	struct inv_label *x = NULL;

	if (l->begun)
		x = take(&l->begun, b->process);
	/* The process has a token: the event continues a request, and the
	 * request keeps its label. */
	if (x && b->held)
		return put(&l->begun, x, b->process);
	if (x)
		free_label(x);
	if (!b->labels)
		return 0;
	x = calloc(1, sizeof(*x));
	if (x)
		x->text = print(c, b->labels, o);
	if (x && x->text)
		return put(&l->begun, x, b->process);
	free(x);
	return INV_ENOMEM;
}

const char *inv_labels_of(struct inv_labels *l, const struct inv_seq *s,
			  const struct inv_cause *cause)
{
	struct inv_label *x, *begun = NULL;

	if (l->begun)
		begun = take(&l->begun, inv_seq_process(s));
	if (!l->requests && !begun)
		return NULL;
	x = take(&l->requests, cause->request);
	if (!x && begun && !cause->cause && s->kind != INV_SEQ_RECEIVE) {
		x = begun;
		begun = NULL;
	}
	if (begun)
		free_label(begun);
	return x && !put(&l->requests, x, cause->request) ? x->text : NULL;
}
