/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "flow/hops_int.h"
#include "flow/seq.h"
#include "log/utf8.h"
#include "term/cursor.h"

size_t inv__hops_end_text(struct inv_hops *h, size_t from)
{
	struct inv_buf *b = &h->texts;

	if (!b->error && b->len - from > INV_HOPS_TEXT) {
		b->len = from + INV_HOPS_TEXT;
		b->len -= inv_utf8_partial(b->data + from, INV_HOPS_TEXT);
		inv_buf_puts(b, "…");
	}
	inv_buf_putc(b, 0);
	return from;
}

size_t inv__hops_put_token(struct inv_hops *h, const struct inv_token *tok,
			   const struct inv_print_opts *o)
{
	size_t from = h->texts.len;
	struct inv_token alone = *tok;

	alone.sep = INV_SEP_NONE;
	if (inv_term_print_token(h->cursor, &alone, &h->texts, o) < 0)
		inv_buf_puts(&h->texts, "?");
	return inv__hops_end_text(h, from);
}

/* Prints the function of {spawn_request, Ref, Parent, Leader, {M,F,Args}, ...},
 * such as m:f/1. Returns false if the message is another term. */
static bool print_spawned(struct inv_hops *h, const struct inv_print_opts *o)
{
	struct inv_cursor *c = h->cursor;
	struct inv_token tok;

	for (int i = 0; i < 5; i++)
		if (i ? inv_cursor_skip(c) : inv_cursor_next(c, &tok))
			return false;
	if (inv_cursor_next(c, &tok) || tok.kind != INV_TOK_TUPLE ||
	    tok.count != 3 || inv_cursor_next(c, &tok) ||
	    tok.kind != INV_TOK_ATOM)
		return false;
	inv_term_print_module(tok.bytes, tok.len, &h->texts, o);
	if (inv_cursor_next(c, &tok) || tok.kind != INV_TOK_ATOM)
		return false;
	inv_term_print_function(tok.bytes, tok.len, &h->texts, o);
	if (inv_cursor_next(c, &tok))
		return false;
	inv_buf_putc(&h->texts, '/');
	if (tok.kind == INV_TOK_INT)
		inv_buf_i64(&h->texts, tok.i);
	else if (tok.kind == INV_TOK_STRING)
		inv_buf_u64(&h->texts, tok.len);
	else
		inv_buf_u64(&h->texts,
			    tok.kind == INV_TOK_LIST ? tok.count : 0);
	return true;
}

/* Moves the cursor to From in {Kind, Serial, From, To, Message}. */
static int before_from(struct inv_hops *h, const struct inv_item *it)
{
	struct inv_token tok;

	return inv_event_tracee(&it->ev, h->cursor, &tok) ||
	       inv_event_payload(&it->ev, h->cursor) ||
	       inv_cursor_next(h->cursor, &tok) || inv_cursor_skip(h->cursor) ||
	       inv_cursor_skip(h->cursor);
}

static int read_from(struct inv_hops *h, const struct inv_item *it,
		     struct inv_hop_parts *p)
{
	struct inv_token tok;

	return inv_cursor_next(h->cursor, &tok) ?
		       0 :
		       inv_hops_process(h, it, &tok, p->seq.from, &p->from);
}

static int read_to(struct inv_hops *h, const struct inv_item *it,
		   struct inv_hop_parts *p, const struct inv_print_opts *o)
{
	struct inv_token tok;

	if (inv_cursor_next(h->cursor, &tok))
		return 0;
	if (tok.kind == INV_TOK_PID)
		return inv_hops_process(h, it, &tok, p->seq.to, &p->to);
	if (p->seq.kind == INV_SEQ_SEND)
		p->to_text = inv__hops_put_token(h, &tok, o);
	else
		inv_cursor_skip_rest(h->cursor, &tok);
	return 0;
}

/* Reads the text of the message. The caller reads the text only from the send
 * event, although the receive event contains the message, too. */
static void read_message(struct inv_hops *h, const struct inv_item *it,
			 struct inv_hop_parts *p,
			 const struct inv_print_opts *o)
{
	size_t from = h->texts.len;
	struct inv_token tok;

	if (p->seq.signal == INV_SIGNAL_SPAWN) {
		if (print_spawned(h, o)) {
			p->text = inv__hops_end_text(h, from);
			return;
		}
		h->texts.len = from;
		if (before_from(h, it) || inv_cursor_skip(h->cursor) ||
		    inv_cursor_skip(h->cursor))
			return;
	}
	if (!inv_cursor_next(h->cursor, &tok))
		p->text = inv__hops_put_token(h, &tok, o);
}

int inv__hops_read(struct inv_hops *h, const struct inv_item *it,
		   struct inv_hop_parts *p, bool message,
		   const struct inv_print_opts *o)
{
	p->from = p->to = INV_HOP_NONE;
	p->to_text = p->text = 0;
	if (before_from(h, it) || read_from(h, it, p) || read_to(h, it, p, o))
		return INV_ENOMEM;
	if (message)
		read_message(h, it, p, o);
	return h->texts.error;
}
