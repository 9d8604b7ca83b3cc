/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the VM reports to the system monitor. The form of the payload depends on
 * the event:
 *
 *	long_gc, large_heap	[{timeout,Ms},{heap_block_size,Words},...]
 *	long_schedule		[{timeout,Ms},{in,{M,F,A}},{out,{M,F,A}}], or
 *				[{timeout,Ms},{port_op,Operation}]
 *	long_message_queue	true | false
 *	busy_port, ...		a port
 */
#include "sink/text.h"

#include "sink/duration.h"
#include "term/print.h"

/* The payload has another form. */
#define OTHER 1

#define MAX_MS INT64_C(1000000000000)

/* The sum of the blocks that the heap of a process consists of. */
struct heap {
	uint64_t words;
	bool known;
};

static int next(struct inv_line *t, struct inv_token *tok)
{
	return inv_line_must(inv_cursor_next(t->sink.cursor, tok));
}

static int milliseconds(struct inv_line *t)
{
	struct inv_token tok;
	int64_t ms;
	int rc = next(t, &tok);

	if (rc || !inv_token_i64(&tok, &ms) || ms < 0 || ms > MAX_MS)
		return rc ? rc : OTHER;
	inv_buf_i64(t->sink.out, ms);
	inv_line_put(t, " ms");
	return 0;
}

/* Prints the function in which a process began or ceased to run. Prints nothing
 * for undefined. */
static int place(struct inv_line *t, const char *before)
{
	struct inv_token tok;
	int rc = next(t, &tok);

	if (rc || tok.kind == INV_TOK_ATOM)
		return rc;
	inv_line_put(t, before);
	return inv_line_function(t, &tok);
}

static int operation(struct inv_line *t)
{
	inv_line_put(t, ", ");
	return inv_line_term(t);
}

static int words(struct inv_line *t, bool counts, struct heap *heap)
{
	struct inv_token tok;
	int64_t n;
	int rc = next(t, &tok);

	if (rc || !inv_token_i64(&tok, &n) || n < 0 || n > INT64_C(1) << 56)
		return rc ? rc : OTHER;
	if (counts) {
		heap->words += (uint64_t)n;
		heap->known = true;
	}
	return 0;
}

/* Prints an element {Key, Value}, whose first token was already read. */
static int element(struct inv_line *t, struct heap *heap)
{
	struct inv_token key;
	int rc = next(t, &key);

	if (rc || key.kind != INV_TOK_ATOM)
		return rc ? rc : OTHER;
	if (inv_token_is(&key, "timeout"))
		rc = milliseconds(t);
	else if (inv_token_is(&key, "in"))
		rc = place(t, ", in ");
	else if (inv_token_is(&key, "out"))
		rc = place(t, ", out ");
	else if (inv_token_is(&key, "port_op"))
		rc = operation(t);
	else
		rc = words(t,
			   inv_token_is(&key, "heap_block_size") ||
				   inv_token_is(&key, "old_heap_block_size") ||
				   inv_token_is(&key, "mbuf_size"),
			   heap);
	return rc ? rc : inv_cursor_end(t->sink.cursor);
}

static int list(struct inv_line *t)
{
	struct heap heap = { 0 };
	size_t begin = t->sink.out->len;
	struct inv_token tok;
	uint64_t bytes;
	int rc = next(t, &tok);

	if (rc || tok.kind != INV_TOK_LIST)
		return rc ? rc : OTHER;
	for (;;) {
		rc = next(t, &tok);
		if (rc)
			return rc;
		if (tok.kind == INV_TOK_END)
			break;
		if (tok.kind != INV_TOK_TUPLE || tok.count != 2 ||
		    tok.sep == INV_SEP_BAR)
			return OTHER;
		rc = element(t, &heap);
		if (rc)
			return rc;
	}
	if (!heap.known)
		return 0;
	bytes = heap.words * 8;
	inv_line_put(t, t->sink.out->len > begin ? ", heap " : "heap ");
	inv_line_sizes(t->sink.out, &bytes, 1);
	return 0;
}

int inv_line_system(struct inv_line *t, const struct inv_event *ev)
{
	struct inv_cursor *c = t->sink.cursor;
	size_t off = (size_t)(c->p - ev->terms);
	size_t len = t->sink.out->len;

	if (!list(t))
		return 0;
	t->sink.out->len = len;
	inv_cursor_init(c, (enum inv_enc)ev->enc, ev->dict, ev->terms + off,
			ev->len - off);
	return inv_line_term(t);
}
