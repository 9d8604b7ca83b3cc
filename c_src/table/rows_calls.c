/* SPDX-License-Identifier: Apache-2.0 */
/* The table of calls: a row for each call event. */
#include <stdlib.h>
#include <string.h>

#include "table/rows_int.h"

/* A call that has not ended. */
struct call {
	struct inv_row held; /* the key is the number of the call event */
	uint64_t id;
	int64_t ts_ns;
	uint32_t process;
	uint32_t function;
	uint32_t depth;
	bool has_args;
	size_t args_len;
	uint8_t args[];
};

static void put(struct inv_rows *r, const struct call *call, struct inv_cell *c)
{
	inv__cell_int(&c[INV_CALLS_ID], (int64_t)call->id);
	inv__cell_int(&c[INV_CALLS_TS], call->ts_ns);
	inv__cell_number(&c[INV_CALLS_PROCESS], INV_CELL_PROCESS,
			 call->process);
	inv__cell_number(&c[INV_CALLS_FUNCTION], INV_CELL_FUNCTION,
			 call->function);
	inv__cell_int(&c[INV_CALLS_DEPTH], call->depth);
	if (call->has_args)
		inv__cell_text(&c[INV_CALLS_ARGS], call->args, call->args_len);
	inv__rows_put(r, INV_TABLE_CALLS, c);
}

static void put_open(struct inv_rows *r, const struct call *call)
{
	struct inv_cell c[INV_CALLS_COUNT] = { 0 };

	put(r, call, c);
}

static struct call *new_call(struct inv_rows *r, const struct inv_seen *s)
{
	size_t size = sizeof(struct call) + s->payload.len;
	struct call *call = malloc(size);

	if (!call) {
		r->rc = INV_ENOMEM;
		return NULL;
	}
	*call = (struct call){
		.held = { .key = s->it->facts->item, .size = size },
		.id = s->id,
		.ts_ns = s->it->ts_ns,
		.process = s->process,
		.function = s->function,
		.depth = s->it->facts->depth,
		.has_args = s->payload.there,
		.args_len = s->payload.len,
	};
	if (s->payload.len)
		memcpy(call->args, r->text.data + s->payload.off,
		       s->payload.len);
	return call;
}

static void forget(struct inv_rows *r)
{
	while (r->calls.size > r->memory) {
		struct inv_row *oldest = r->calls.oldest;

		put_open(r, (struct call *)oldest);
		inv_row_set_remove(&r->calls, oldest);
		free(oldest);
		r->forgotten++;
	}
}

static void begin(struct inv_rows *r, const struct inv_seen *s)
{
	struct call *call = new_call(r, s);

	if (!call)
		return;
	if (!s->it->facts->open) {
		put_open(r, call);
		free(call);
	} else if (inv_row_set_add(&r->calls, &call->held)) {
		r->rc = INV_ENOMEM;
		free(call);
	} else {
		forget(r);
	}
}

/* Moves the cursor to the event's value: the returned value, the exception, or
 * the reason of the exit. */
static bool to_value(struct inv_rows *r, const struct inv_event *ev)
{
	struct inv_token tok;

	if (inv_event_tracee(ev, r->cursor, &tok) ||
	    inv_event_payload(ev, r->cursor))
		return false;
	return ev->tag == INV_TAG_EXIT ||
	       (ev->extra && !inv_cursor_skip(r->cursor));
}

/* Returns true if the call has failed, as `inviso merge --failed' defines
 * it. */
static bool has_failed(struct inv_rows *r, const struct inv_event *ev)
{
	struct inv_token tok;

	if (ev->tag == INV_TAG_EXCEPTION_FROM)
		return true;
	if (!to_value(r, ev) || inv_cursor_next(r->cursor, &tok))
		return false;
	if (ev->tag == INV_TAG_EXIT)
		return !inv_token_is(&tok, "normal");
	if (tok.kind == INV_TOK_TUPLE && tok.count &&
	    inv_cursor_next(r->cursor, &tok))
		return false;
	return inv_token_is(&tok, "error");
}

static void put_ended(struct inv_rows *r, const struct inv_seen *s,
		      const struct call *call)
{
	static const char *const outcomes[] = { "", "return", "exception",
						"exit" };
	const struct inv_call *end = s->it->facts->call;
	struct inv_cell c[INV_CALLS_COUNT] = { 0 };

	inv__cell_int(&c[INV_CALLS_END_ID], (int64_t)s->id);
	inv__rows_word(r, &c[INV_CALLS_OUTCOME], outcomes[end->end]);
	inv__cell_int(&c[INV_CALLS_FAILED], has_failed(r, &s->it->ev));
	inv__cell_int(&c[INV_CALLS_DURATION_NS], end->duration_ns);
	inv__cell_int(&c[INV_CALLS_SELF_NS], end->self_ns);
	inv__cell_int(&c[INV_CALLS_CERTAIN], end->certain);
	inv__cell_span(&c[INV_CALLS_RESULT], r, &s->payload);
	put(r, call, c);
}

/* Makes the row of a call whose beginning has no event in the output: the call
 * was selected at its end by --min-duration or --failed, or the node has
 * recorded only its end. */
static void put_whole(struct inv_rows *r, const struct inv_seen *s)
{
	const struct inv_call *end = s->it->facts->call;
	struct inv_span args = { 0 };
	struct inv_seen begun = *s;
	struct call *call;

	if (!end->event || inv__rows_args(r, end->event, end->mfa, &args))
		return;
	begun.payload = args;
	begun.function = inv_cast_function(&r->cast, end->mfa);
	call = new_call(r, &begun);
	if (!call)
		return;
	call->ts_ns = end->begin_ts_ns;
	call->depth = end->depth;
	put_ended(r, s, call);
	free(call);
}

void inv__rows_call(struct inv_rows *r, const struct inv_seen *s)
{
	const struct inv_facts *facts = s->it->facts;
	struct inv_row *held;

	if (s->it->ev.tag == INV_TAG_CALL)
		begin(r, s);
	if (!facts->call)
		return;
	held = inv_row_set_find(&r->calls, facts->call->item);
	if (held) {
		put_ended(r, s, (struct call *)held);
		inv_row_set_remove(&r->calls, held);
		free(held);
	} else if (facts->whole || facts->call->decided) {
		put_whole(r, s);
	}
}

void inv__rows_calls_end(struct inv_rows *r)
{
	while (r->calls.oldest) {
		struct inv_row *oldest = r->calls.oldest;

		put_open(r, (struct call *)oldest);
		inv_row_set_remove(&r->calls, oldest);
		free(oldest);
	}
}
