/* SPDX-License-Identifier: Apache-2.0 */
#include "table/rows.h"

#include <stdlib.h>
#include <string.h>

#include "table/rows_int.h"
#include "term/simple.h"

int inv_rows_init(struct inv_rows *r, struct inv_row_writer *writer,
		  struct inv_cursor *cursor, const struct inv_print_opts *print)
{
	memset(r, 0, sizeof(*r));
	r->writer = writer;
	r->cursor = cursor;
	r->print = print;
	r->memory = INV_ROWS_MEMORY;
	for (unsigned i = 1; i < INV_TAG_COUNT; i++) {
		size_t len;
		const char *text = inv_tag_text(i, &len);

		r->tags[i] = inv_words_add(&r->cast.words, text, len);
		if (!r->tags[i])
			return INV_ENOMEM;
	}
	return 0;
}

void inv_rows_release(struct inv_rows *r)
{
	inv_cast_release(&r->cast);
	inv_buf_release(&r->text);
	inv_row_set_release(&r->calls);
	inv_row_set_release(&r->messages);
	inv_row_set_release(&r->lives);
	inv_row_set_release(&r->requests);
	free(r->nodes);
	memset(r, 0, sizeof(*r));
}

void inv__rows_put(struct inv_rows *r, enum inv_table_id table,
		   const struct inv_cell *cells)
{
	if (r->text.error)
		r->rc = INV_ENOMEM;
	if (r->rc)
		return;
	r->rc = r->writer->put(r->writer, &r->cast, table, cells);
	r->n[table]++;
}

void inv__rows_word(struct inv_rows *r, struct inv_cell *c, const char *text)
{
	uint32_t word = inv_words_add(&r->cast.words, text, strlen(text));

	if (!word)
		r->rc = INV_ENOMEM;
	inv__cell_number(c, INV_CELL_WORD, word);
}

struct inv_rows_node *inv__rows_node(struct inv_rows *r,
				     const struct inv_node *node)
{
	struct inv_rows_node *n;

	if (node->number >= r->n_nodes) {
		uint32_t more = node->number + 1;

		n = realloc(r->nodes, more * sizeof(*n));
		if (!n) {
			r->rc = INV_ENOMEM;
			return NULL;
		}
		memset(n + r->n_nodes, 0, (more - r->n_nodes) * sizeof(*n));
		r->nodes = n;
		r->n_nodes = more;
	}
	n = &r->nodes[node->number];
	if (!n->node) {
		n->word = inv_words_add(&r->cast.words, node->name,
					strlen(node->name));
		if (!n->word) {
			r->rc = INV_ENOMEM;
			return NULL;
		}
		n->node = node;
		n->first_ns = INT64_MAX;
		n->last_ns = INT64_MIN;
	}
	return n;
}

/* --- terms ---------------------------------------------------------------- */

int inv__rows_term(struct inv_rows *r, struct inv_span *s)
{
	int rc = 0;

	s->off = r->text.len;
	if (!inv_simple_print(r->cursor, &r->text, r->print))
		rc = inv_term_print(r->cursor, &r->text, r->print);
	s->len = r->text.len - s->off;
	s->there = true;
	return inv__rows_must(rc);
}

/* Appends another term, after a comma. */
static int another_term(struct inv_rows *r, struct inv_span *s)
{
	struct inv_span more;
	int rc;

	inv_buf_puts(&r->text, ", ");
	rc = inv__rows_term(r, &more);
	s->len = r->text.len - s->off;
	return rc;
}

/* Appends arguments that are all integers from 0 to 255; they are encoded as a
 * string. */
static void small_args(struct inv_rows *r, const struct inv_token *tok)
{
	for (size_t i = 0; i < tok->len; i++) {
		if (i)
			inv_buf_putc(&r->text, ',');
		inv_buf_u64(&r->text, tok->bytes[i]);
	}
	if (tok->cut)
		inv_buf_printf(&r->text, "%s...(%llu more)",
			       tok->len ? "," : "",
			       (unsigned long long)tok->left);
}

static int list_args(struct inv_rows *r)
{
	struct inv_token tok;
	int rc;

	for (;;) {
		rc = inv__rows_must(inv_cursor_next(r->cursor, &tok));
		if (rc || tok.kind == INV_TOK_END)
			return rc;
		if (tok.sep == INV_SEP_BAR)
			inv_buf_putc(&r->text, '|');
		else if (tok.sep == INV_SEP_COMMA)
			inv_buf_putc(&r->text, ',');
		tok.sep = INV_SEP_NONE;
		rc = inv_term_print_token(r->cursor, &tok, &r->text, r->print);
		if (rc)
			return inv__rows_must(rc);
	}
}

int inv__rows_args(struct inv_rows *r, const struct inv_event *ev,
		   const struct inv_mfa *m, struct inv_span *s)
{
	struct inv_token tok;
	uint32_t n;
	int rc = 0;

	inv_mfa_third(m, r->cursor, ev);
	if (!m->has_args)
		return inv__rows_must(inv_cursor_skip(r->cursor));
	s->off = r->text.len;
	s->there = true;
	inv_buf_putc(&r->text, '[');
	if (!inv_simple_print_elements(r->cursor, &r->text, r->print, NULL, 0,
				       &n)) {
		rc = inv__rows_must(inv_cursor_next(r->cursor, &tok));
		if (!rc && tok.kind == INV_TOK_STRING)
			small_args(r, &tok);
		else if (!rc && tok.kind == INV_TOK_LIST)
			rc = list_args(r);
		else if (!rc && tok.kind != INV_TOK_NIL)
			rc = inv__rows_must(inv_term_print_token(
				r->cursor, &tok, &r->text, r->print));
	}
	inv_buf_putc(&r->text, ']');
	s->len = r->text.len - s->off;
	return rc;
}

/* --- events by tag -------------------------------------------------------- */

/* Reads the payload. If it is a process, sets s->peer; otherwise appends the
 * payload as text. */
static int read_peer(struct inv_rows *r, struct inv_seen *s)
{
	struct inv_cursor *c = r->cursor;
	struct inv_cursor *at = c;
	struct inv_token tok;
	int rc = inv__rows_must(inv_cursor_next(at, &tok));

	if (rc)
		return rc;
	s->peer = inv__rows_process(r, s->it, &tok);
	if (s->peer)
		return 0;
	s->payload.off = r->text.len;
	s->payload.there = true;
	rc = inv__rows_must(inv_term_print_token(c, &tok, &r->text, r->print));
	s->payload.len = r->text.len - s->payload.off;
	return rc;
}

/* Reads the payload. Sets s->function if it is {M,F,Arity} or {M,F,Args}. */
static int read_function(struct inv_rows *r, struct inv_seen *s)
{
	const struct inv_mfa *m = s->it->facts ? s->it->facts->mfa : NULL;

	if (!m)
		return inv__rows_term(r, &s->payload);
	s->function = inv_cast_function(&r->cast, m);
	if (!s->function)
		r->rc = INV_ENOMEM;
	return inv__rows_args(r, &s->it->ev, m, &s->payload);
}

/* Reads the payload {send | 'receive' | print, Serial, From, To, Message}. If
 * the payload is another term, the event has no processes. */
static int read_seq(struct inv_rows *r, struct inv_seen *s)
{
	struct inv_cursor *c = r->cursor;
	uint32_t from = 0, to = 0;
	struct inv_token tok;
	int rc = inv_cursor_next(c, &tok);

	if (rc || tok.kind != INV_TOK_TUPLE || tok.count != 5)
		return rc;
	rc = inv__rows_must(inv_cursor_next(c, &tok));
	if (rc)
		return rc;
	if (inv_token_is(&tok, "send"))
		s->seq_kind = INV_SEQ_SEND;
	else if (inv_token_is(&tok, "receive"))
		s->seq_kind = INV_SEQ_RECEIVE;
	else
		s->seq_kind = INV_SEQ_PRINT;
	rc = inv_cursor_skip_rest(c, &tok);
	if (!rc)
		rc = inv__rows_must(inv_cursor_skip(c));
	if (!rc)
		rc = inv__rows_receiver(r, s->it, &from);
	if (!rc)
		rc = inv__rows_receiver(r, s->it, &to);
	if (!rc)
		rc = inv__rows_term(r, &s->message);
	s->process = s->seq_kind == INV_SEQ_RECEIVE ? to : from;
	s->peer = s->seq_kind == INV_SEQ_RECEIVE ? from : to;
	if (s->seq_kind == INV_SEQ_PRINT)
		s->peer = 0;
	return rc;
}

/* Reads the terms after the tracee. */
static int read_terms(struct inv_rows *r, struct inv_seen *s)
{
	const struct inv_event *ev = &s->it->ev;
	bool extra = ev->extra;
	int rc;

	switch (ev->tag) {
	case INV_TAG_CALL:
	case INV_TAG_RETURN_TO:
	case INV_TAG_IN:
	case INV_TAG_OUT:
	case INV_TAG_IN_EXITING:
	case INV_TAG_OUT_EXITING:
	case INV_TAG_OUT_EXITED:
	case INV_TAG_RETURN_FROM:
	case INV_TAG_EXCEPTION_FROM:
		rc = read_function(r, s);
		break;
	case INV_TAG_SPAWN:
	case INV_TAG_SPAWNED:
		rc = read_peer(r, s);
		if (!rc && extra)
			rc = read_function(r, s);
		extra = false;
		break;
	case INV_TAG_LINK:
	case INV_TAG_UNLINK:
	case INV_TAG_GETTING_LINKED:
	case INV_TAG_GETTING_UNLINKED:
	case INV_TAG_OPEN:
		rc = read_peer(r, s);
		break;
	case INV_TAG_SEND:
	case INV_TAG_SEND_NO_PROC:
		rc = inv__rows_term(r, &s->payload);
		if (!rc && extra)
			rc = inv__rows_receiver(r, s->it, &s->peer);
		extra = false;
		break;
	default:
		rc = inv__rows_term(r, &s->payload);
		break;
	}
	if (!rc && extra)
		rc = s->payload.there ? another_term(r, &s->payload) :
					inv__rows_term(r, &s->payload);
	if (!rc && ev->ms_result)
		rc = inv__rows_term(r, &s->result);
	return rc;
}

static int read_event(struct inv_rows *r, struct inv_seen *s)
{
	const struct inv_event *ev = &s->it->ev;
	struct inv_token tok;
	int rc;

	if (ev->bare) {
		inv_cursor_init(r->cursor, INV_ENC_ETF, NULL, ev->raw,
				ev->raw_len);
		return inv__rows_term(r, &s->payload);
	}
	rc = inv_event_tracee(ev, r->cursor, &tok);
	if (rc)
		return rc;
	if (ev->tag != INV_TAG_SEQ_TRACE)
		s->process = inv__rows_tracee(r, s->it, &tok);
	rc = inv_event_payload(ev, r->cursor);
	if (!rc)
		rc = read_terms(r, s);
	if (rc || ev->tag != INV_TAG_SEQ_TRACE)
		return rc;
	/* Read the payload once more, to find the processes in it. */
	rc = inv_event_tracee(ev, r->cursor, &tok);
	if (!rc)
		rc = inv_event_payload(ev, r->cursor);
	return rc ? rc : read_seq(r, s);
}

/* --- rows ----------------------------------------------------------------- */

static void put_event(struct inv_rows *r, const struct inv_seen *s)
{
	struct inv_cell c[INV_EVENTS_COUNT] = { 0 };
	const struct inv_event *ev = &s->it->ev;
	const struct inv_cause *cause = s->it->facts ? s->it->facts->cause :
						       NULL;

	inv__cell_int(&c[INV_EVENTS_ID], (int64_t)s->id);
	inv__cell_int(&c[INV_EVENTS_TS], s->it->ts_ns);
	inv__cell_number(&c[INV_EVENTS_PROCESS], INV_CELL_PROCESS, s->process);
	inv__cell_number(&c[INV_EVENTS_PEER], INV_CELL_PROCESS, s->peer);
	inv__cell_number(&c[INV_EVENTS_FUNCTION], INV_CELL_FUNCTION,
			 s->function);
	if (ev->tag < INV_TAG_COUNT)
		inv__cell_number(&c[INV_EVENTS_TAG], INV_CELL_WORD,
				 r->tags[ev->tag]);
	else if (ev->other)
		inv__cell_number(&c[INV_EVENTS_TAG], INV_CELL_WORD,
				 inv_words_add(&r->cast.words, ev->other,
					       ev->other_len));
	inv__cell_span(&c[INV_EVENTS_PAYLOAD], r, &s->payload);
	inv__cell_span(&c[INV_EVENTS_RESULT], r, &s->result);
	if (cause) {
		inv__cell_int(&c[INV_EVENTS_REQUEST], (int64_t)cause->request);
		inv__cell_int(&c[INV_EVENTS_SEQ], (int64_t)cause->id);
		if (cause->cause)
			inv__cell_int(&c[INV_EVENTS_CAUSE],
				      (int64_t)cause->cause);
	}
	if (ev->has_sched)
		inv__cell_int(&c[INV_EVENTS_SCHEDULER], (int64_t)ev->sched);
	if (ev->cut)
		inv__cell_int(&c[INV_EVENTS_TRUNCATED], 1);
	if (ev->redacted)
		inv__cell_int(&c[INV_EVENTS_REDACTED], 1);
	if (s->it->moved_ns)
		inv__cell_int(&c[INV_EVENTS_MOVED_NS], s->it->moved_ns);
	inv__rows_put(r, INV_TABLE_EVENTS, c);
}

static void put_collection(struct inv_rows *r, const struct inv_seen *s)
{
	const struct inv_gc *gc = s->it->facts->gc;
	struct inv_cell c[INV_COLLECTIONS_COUNT] = { 0 };

	inv__cell_int(&c[INV_COLLECTIONS_ID], (int64_t)s->id);
	inv__cell_int(
		&c[INV_COLLECTIONS_TS],
		(int64_t)((uint64_t)s->it->ts_ns - (uint64_t)gc->duration_ns));
	inv__cell_number(&c[INV_COLLECTIONS_PROCESS], INV_CELL_PROCESS,
			 s->process);
	inv__cell_int(&c[INV_COLLECTIONS_MAJOR], gc->major);
	inv__cell_int(&c[INV_COLLECTIONS_DURATION_NS], gc->duration_ns);
	inv__cell_int(&c[INV_COLLECTIONS_BEFORE_BYTES], (int64_t)gc->before);
	inv__cell_int(&c[INV_COLLECTIONS_AFTER_BYTES], (int64_t)gc->after);
	inv__rows_put(r, INV_TABLE_COLLECTIONS, c);
}

static void count(struct inv_rows *r, const struct inv_item *it)
{
	struct inv_rows_node *n = inv__rows_node(r, it->node);

	if (!n)
		return;
	if (it->kind == INV_ITEM_LOSS)
		n->lost += it->lost.n;
	else
		n->events++;
	if (it->ts_ns < n->first_ns)
		n->first_ns = it->ts_ns;
	if (it->ts_ns > n->last_ns)
		n->last_ns = it->ts_ns;
}

int inv_rows_event(struct inv_rows *r, const struct inv_item *it)
{
	struct inv_seen s = { .it = it };
	int rc;

	if (r->rc)
		return 0;
	inv_buf_reset(&r->text);
	rc = read_event(r, &s);
	if (r->text.error)
		r->rc = INV_ENOMEM;
	if (r->rc || rc == INV_ENOMEM) {
		r->rc = r->rc ? r->rc : rc;
		return 0;
	}
	if (rc)
		return rc;
	s.id = ++r->id;
	put_event(r, &s);
	count(r, it);
	if (!it->facts)
		return 0;
	inv__rows_live(r, &s);
	inv__rows_call(r, &s);
	inv__rows_message(r, &s);
	if (it->facts->gc)
		put_collection(r, &s);
	return 0;
}

void inv_rows_loss(struct inv_rows *r, const struct inv_item *it)
{
	struct inv_cell c[INV_LOSSES_COUNT] = { 0 };
	const struct inv_rows_node *n;

	count(r, it);
	n = inv__rows_node(r, it->node);
	if (!n)
		return;
	inv__cell_int(&c[INV_LOSSES_ID], (int64_t)++r->id);
	inv__cell_int(&c[INV_LOSSES_TS], it->ts_ns);
	inv__cell_number(&c[INV_LOSSES_NODE], INV_CELL_WORD, n->word);
	inv__rows_word(r, &c[INV_LOSSES_REASON],
		       inv_lost_text(it->lost.reason));
	inv__cell_int(&c[INV_LOSSES_N], (int64_t)it->lost.n);
	inv__rows_put(r, INV_TABLE_LOSSES, c);
}

void inv_rows_end(struct inv_rows *r)
{
	inv__rows_calls_end(r);
	inv__rows_messages_end(r);
	inv__rows_lives_end(r);
}
