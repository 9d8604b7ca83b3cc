/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timeline for Perfetto. Each event of the log becomes one event of the
 * timeline. If this event is the end of a slice, its annotation `end' is the
 * tag of the log's event; otherwise its category is this tag. An event of the
 * timeline that comes from no event of the log has neither annotation nor
 * category.
 *
 * 	call, return_from          the begin and the end of a slice on the track
 * 	                           of the process
 * 	in, out                    slices on the process's track of states, and
 * 	                           on the track of the scheduler
 * 	gc_minor_start, _end       slices on the process's track of states, and
 * 	                           a counter
 * 	seq_trace                  instants, connected by flows
 * 	others                     instants on the track of the process
 *
 * before() writes everything that must precede an event: descriptions, names,
 * and the ends of other slices. event() writes the event itself. If the event's
 * terms are invalid, only the output of event() is removed.
 */
#include "sink/perfetto_int.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sink/formats.h"

static int must(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

static struct inv_perfetto *of(struct inv_sink *s)
{
	return (struct inv_perfetto *)s;
}

/* --- events --------------------------------------------------------------- */

static struct inv_pf_open open_event(struct inv_perfetto *f,
				     const struct inv_item *it,
				     enum inv_pf_type type, uint64_t track,
				     uint32_t name)
{
	struct inv_pf_open o = inv__pf_event(f, type, track, f->ts_ns);
	struct inv_buf *out = f->sink.out;
	size_t len;
	const char *tag;

	if (inv_likely(it->ev.tag < INV_TAG_COUNT && !it->ev.bare)) {
		inv_proto_u64(out, PF_EVENT_CATEGORY, it->ev.tag);
		inv_proto_u64(out, PF_EVENT_NAME, name ? name : it->ev.tag);
		return o;
	}
	tag = inv_event_tag(&it->ev, &len);
	inv_proto_bytes(out, PF_EVENT_CATEGORY_TEXT, tag, len);
	inv_proto_bytes(out, PF_EVENT_NAME_TEXT, tag, len);
	return o;
}

/* The event of the log ends a slice. Begins the timeline's event for the end of
 * this slice. */
static struct inv_pf_open open_end(struct inv_perfetto *f,
				   const struct inv_item *it, uint64_t track)
{
	struct inv_pf_open o = inv__pf_event(f, INV_PF_END, track, f->ts_ns);
	size_t len;
	const char *tag = inv_event_tag(&it->ev, &len);

	inv__pf_text(f, INV_PF_KEY_END, tag, len);
	return o;
}

/* Adds the fields that every event can have, and closes the event. */
static int close_event(struct inv_perfetto *f, const struct inv_item *it,
		       struct inv_pf_open o, int rc)
{
	const struct inv_event *ev = &it->ev;

	if (rc)
		return rc;
	if (ev->has_sched)
		inv__pf_uint(f, INV_PF_KEY_SCHEDULER, ev->sched);
	if (ev->cut)
		inv__pf_bool(f, INV_PF_KEY_TRUNCATED, true);
	if (ev->redacted)
		inv__pf_bool(f, INV_PF_KEY_REDACTED, true);
	inv__pf_close(f, o);
	return 0;
}

/* Starts the cursor at the payload. */
static int payload(struct inv_perfetto *f, const struct inv_item *it)
{
	struct inv_token tok;
	int rc = inv_event_tracee(&it->ev, f->sink.cursor, &tok);

	return rc ? rc : inv_event_payload(&it->ev, f->sink.cursor);
}

/* Sets `keys' to the keys under which the terms after the tag become
 * annotations. */
static void keys_of(unsigned tag, enum inv_pf_key keys[2])
{
	keys[0] = INV_PF_KEY_PAYLOAD;
	keys[1] = INV_PF_KEY_EXTRA;
	switch (tag) {
	case INV_TAG_SEND:
	case INV_TAG_SEND_NO_PROC:
		keys[0] = INV_PF_KEY_MESSAGE;
		keys[1] = INV_PF_KEY_TO;
		break;
	case INV_TAG_RECEIVE:
		keys[0] = INV_PF_KEY_MESSAGE;
		break;
	case INV_TAG_CALL:
	case INV_TAG_RETURN_TO:
	case INV_TAG_IN:
	case INV_TAG_OUT:
	case INV_TAG_IN_EXITING:
	case INV_TAG_OUT_EXITING:
	case INV_TAG_OUT_EXITED:
		keys[0] = INV_PF_KEY_FUNCTION;
		break;
	case INV_TAG_RETURN_FROM:
		keys[0] = INV_PF_KEY_FUNCTION;
		keys[1] = INV_PF_KEY_RETURN;
		break;
	case INV_TAG_EXCEPTION_FROM:
		keys[0] = INV_PF_KEY_FUNCTION;
		keys[1] = INV_PF_KEY_EXCEPTION;
		break;
	case INV_TAG_SPAWN:
	case INV_TAG_OPEN:
		keys[0] = INV_PF_KEY_PROCESS;
		keys[1] = INV_PF_KEY_FUNCTION;
		break;
	case INV_TAG_SPAWNED:
		keys[0] = INV_PF_KEY_PARENT;
		keys[1] = INV_PF_KEY_FUNCTION;
		break;
	case INV_TAG_EXIT:
	case INV_TAG_CLOSED:
		keys[0] = INV_PF_KEY_REASON;
		break;
	case INV_TAG_LINK:
	case INV_TAG_UNLINK:
	case INV_TAG_GETTING_LINKED:
	case INV_TAG_GETTING_UNLINKED:
		keys[0] = INV_PF_KEY_PROCESS;
		break;
	case INV_TAG_REGISTER:
	case INV_TAG_UNREGISTER:
		keys[0] = INV_PF_KEY_NAME;
		break;
	default:
		break;
	}
}

/* Annotates the event with all of its terms after the tag. */
static int terms(struct inv_perfetto *f, const struct inv_item *it)
{
	const struct inv_event *ev = &it->ev;
	enum inv_pf_key keys[2];
	int rc = payload(f, it);

	keys_of(ev->tag, keys);
	if (!rc)
		rc = inv__pf_term(f, keys[0]);
	if (!rc && ev->extra)
		rc = inv__pf_term(f, keys[1]);
	if (!rc && ev->ms_result)
		rc = inv__pf_term(f, INV_PF_KEY_RESULT);
	return rc;
}

static int instant(struct inv_perfetto *f, const struct inv_item *it,
		   uint32_t name)
{
	struct inv_pf_open o =
		open_event(f, it, INV_PF_INSTANT, f->track, name);

	return close_event(f, it, o, terms(f, it));
}

/* Writes a term that is not a trace event, from the file of a trace port. */
static int bare(struct inv_perfetto *f, const struct inv_item *it)
{
	struct inv_pf_open o = open_event(f, it, INV_PF_INSTANT, f->track, 0);

	inv_cursor_init(f->sink.cursor, INV_ENC_ETF, NULL, it->ev.raw,
			it->ev.raw_len);
	return close_event(f, it, o, inv__pf_term(f, INV_PF_KEY_PAYLOAD));
}

/* --- calls ---------------------------------------------------------------- */

/* Annotates the event with the arguments of the call, and with the value that a
 * match spec has added to the call. */
static int call_terms(struct inv_perfetto *f, const struct inv_event *ev,
		      const struct inv_mfa *m)
{
	int rc = inv__pf_args(f, ev, m);

	if (rc || !ev->ms_result)
		return rc;
	inv_mfa_third(m, f->sink.cursor, ev);
	rc = must(inv_cursor_skip(f->sink.cursor));
	return rc ? rc : inv__pf_term(f, INV_PF_KEY_RESULT);
}

static int call(struct inv_perfetto *f, const struct inv_item *it)
{
	const struct inv_facts *facts = it->facts;
	struct inv_pf_open o;
	bool slice;
	int rc;

	if (!facts || !facts->mfa)
		return instant(f, it, 0);
	slice = facts->open && f->process &&
		inv__pf_enter(f, f->process, facts->depth);
	o = open_event(f, it, slice ? INV_PF_BEGIN : INV_PF_INSTANT, f->track,
		       f->name);
	rc = close_event(f, it, o, call_terms(f, &it->ev, facts->mfa));
	if (rc && slice)
		f->process->n--;
	return rc;
}

/* Annotates the end of a call with how it ended. */
static int end_terms(struct inv_perfetto *f, const struct inv_item *it)
{
	int rc = payload(f, it);

	if (!it->facts->call->certain)
		inv__pf_bool(f, INV_PF_KEY_CERTAIN, false);
	if (rc || !it->ev.extra)
		return rc;
	rc = must(inv_cursor_skip(f->sink.cursor));
	if (rc)
		return rc;
	return inv__pf_term(f, it->ev.tag == INV_TAG_RETURN_FROM ?
				       INV_PF_KEY_RETURN :
				       INV_PF_KEY_EXCEPTION);
}

/* Writes a call as a whole, when it has ended. */
static int whole(struct inv_perfetto *f, const struct inv_item *it)
{
	const struct inv_call *c = it->facts->call;
	struct inv_buf *out = f->sink.out;
	struct inv_pf_open o =
		inv__pf_event(f, INV_PF_BEGIN, f->track, c->begin_ts_ns);
	int rc;

	inv_proto_u64(out, PF_EVENT_CATEGORY, INV_TAG_CALL);
	inv_proto_u64(out, PF_EVENT_NAME, f->name);
	rc = call_terms(f, c->event, c->mfa);
	if (rc)
		return rc;
	inv__pf_close(f, o);
	o = open_end(f, it, f->track);
	return close_event(f, it, o,
			   it->ev.tag == INV_TAG_EXIT ? 0 : end_terms(f, it));
}

static bool is_end(const struct inv_perfetto *f, const struct inv_item *it)
{
	const struct inv_pf_process *p = f->process;
	const struct inv_call *c = it->facts ? it->facts->call : NULL;

	return c && p && p->n && p->open[p->n - 1] == c->depth;
}

static int call_end(struct inv_perfetto *f, const struct inv_item *it)
{
	struct inv_pf_open o;
	int rc;

	if (!is_end(f, it))
		return instant(f, it, f->name);
	o = open_end(f, it, f->track);
	rc = close_event(f, it, o, end_terms(f, it));
	if (!rc)
		f->process->n--;
	return rc;
}

/* --- states --------------------------------------------------------------- */

static int state(struct inv_perfetto *f, const struct inv_item *it)
{
	unsigned tag = it->ev.tag;
	bool runs = tag == INV_TAG_IN || tag == INV_TAG_IN_EXITING;
	struct inv_pf_process *p = f->process;
	struct inv_pf_open o;
	uint32_t name;
	int rc;

	if (!p)
		return instant(f, it, 0);
	name = runs ? INV_PF_NAME_RUNNING : INV_PF_NAME_WAITING;
	if (tag == INV_TAG_IN_EXITING || tag == INV_TAG_OUT_EXITING)
		name = INV_PF_NAME_EXITING;
	if (tag == INV_TAG_OUT_EXITED)
		o = open_event(f, it, INV_PF_INSTANT, p->states, 0);
	else
		o = open_event(f, it, INV_PF_BEGIN, p->states, name);
	rc = close_event(f, it, o, terms(f, it));
	if (rc)
		return rc;
	p->in_state = tag != INV_TAG_OUT_EXITED;
	inv__pf_runs(f, it, runs);
	return 0;
}

/* --- garbage collections -------------------------------------------------- */

static void heap_is(struct inv_perfetto *f, int64_t ts_ns, uint64_t bytes)
{
	struct inv_pf_open o =
		inv__pf_event(f, INV_PF_COUNTER, f->process->heap, ts_ns);

	inv_proto_u64(f->sink.out, PF_EVENT_COUNTER, bytes);
	inv__pf_close(f, o);
}

static int collects(struct inv_perfetto *f, const struct inv_item *it)
{
	struct inv_pf_process *p = f->process;
	struct inv_pf_open o;
	int rc;

	if (!p)
		return instant(f, it, 0);
	o = open_event(f, it, INV_PF_BEGIN, p->states, INV_PF_NAME_COLLECTING);
	rc = close_event(f, it, o, terms(f, it));
	p->collecting = p->collecting || !rc;
	return rc;
}

static int collected(struct inv_perfetto *f, const struct inv_item *it)
{
	const struct inv_gc *gc = it->facts ? it->facts->gc : NULL;
	struct inv_pf_process *p = f->process;
	struct inv_pf_open o;
	int rc;

	if (!p || !p->collecting)
		return instant(f, it, 0);
	o = open_end(f, it, p->states);
	rc = close_event(f, it, o, terms(f, it));
	if (rc)
		return rc;
	p->collecting = false;
	if (p->heap && gc && gc->before && gc->after) {
		heap_is(f, f->ts_ns - gc->duration_ns, gc->before);
		heap_is(f, f->ts_ns, gc->after);
	}
	return 0;
}

/* --- requests ------------------------------------------------------------- */

static struct inv_pf_sent *sent(struct inv_perfetto *f, uint64_t id)
{
	return &f->sent[id % INV_PF_SENT];
}

/* Begins an arrow at a send event, or ends an arrow at a receive event.
 * Perfetto draws an arrow from the earlier to the later of the two events. So
 * there is no arrow if their times say that the message was received before it
 * was sent. */
static void connect(struct inv_perfetto *f, const struct inv_cause *c,
		    bool sends, bool receives)
{
	struct inv_buf *out = f->sink.out;
	struct inv_pf_sent *x;

	if (sends) {
		*sent(f, c->id) = (struct inv_pf_sent){ c->id, f->ts_ns };
		inv_proto_fixed64(out, PF_EVENT_FLOW, c->id);
	}
	if (!receives || !c->cause)
		return;
	x = sent(f, c->cause);
	if (x->id != c->cause || x->ts_ns > f->ts_ns)
		return;
	inv_proto_fixed64(out, PF_EVENT_FLOW_END, c->cause);
	x->id = 0;
}

static void cause(struct inv_perfetto *f, const struct inv_cause *c)
{
	const char *orphan = inv_orphan_text(c->orphan);
	const char *signal = inv_signal_text(c->signal);

	inv_proto_u64(f->sink.out, PF_EVENT_CORRELATION, c->request);
	inv__pf_uint(f, INV_PF_KEY_REQUEST, c->request);
	inv__pf_uint(f, INV_PF_KEY_ID, c->id);
	if (c->cause)
		inv__pf_uint(f, INV_PF_KEY_CAUSE, c->cause);
	if (!c->certain)
		inv__pf_bool(f, INV_PF_KEY_CERTAIN, false);
	if (orphan)
		inv__pf_text(f, INV_PF_KEY_ORPHAN, orphan, strlen(orphan));
	if (signal)
		inv__pf_text(f, INV_PF_KEY_SIGNAL, signal, strlen(signal));
}

static int label(struct inv_perfetto *f, const struct inv_item *it)
{
	const char *text = it->facts ? it->facts->label : NULL;
	struct inv_token tok;
	int rc = inv_event_tracee(&it->ev, f->sink.cursor, &tok);

	if (rc || !text)
		return rc ? rc : inv__pf_token(f, INV_PF_KEY_LABEL, &tok);
	inv__pf_text(f, INV_PF_KEY_LABEL, text, strlen(text));
	return 0;
}

/* Annotates the event with {Kind, Serial, From, To, Message}, and connects it
 * with other events. */
static int message(struct inv_perfetto *f, const struct inv_item *it)
{
	static const enum inv_pf_key keys[] = {
		INV_PF_KEY_SERIAL,
		INV_PF_KEY_FROM,
		INV_PF_KEY_TO,
		INV_PF_KEY_MESSAGE,
	};
	struct inv_cursor *c = f->sink.cursor;
	struct inv_token tok;
	bool sends, receives;
	int rc = payload(f, it);

	if (!rc)
		rc = must(inv_cursor_next(c, &tok));
	if (rc)
		return rc;
	if (tok.kind != INV_TOK_TUPLE || tok.count != 5)
		return inv__pf_token(f, INV_PF_KEY_PAYLOAD, &tok);
	rc = must(inv_cursor_next(c, &tok));
	if (rc)
		return rc;
	sends = inv_token_is(&tok, "send");
	receives = inv_token_is(&tok, "receive");
	tok.sep = INV_SEP_NONE;
	rc = inv__pf_token(f, INV_PF_KEY_NAME, &tok);
	for (unsigned i = 0; !rc && i < 4; i++) {
		rc = must(inv_cursor_next(c, &tok));
		tok.sep = INV_SEP_NONE;
		if (!rc)
			rc = inv__pf_token(f, keys[i], &tok);
	}
	if (!rc && it->facts && it->facts->cause)
		connect(f, it->facts->cause, sends, receives);
	return rc;
}

static int request_event(struct inv_perfetto *f, const struct inv_item *it)
{
	struct inv_pf_open o = open_event(f, it, INV_PF_INSTANT, f->track, 0);
	int rc;

	if (it->facts && it->facts->cause)
		cause(f, it->facts->cause);
	rc = label(f, it);
	if (!rc)
		rc = message(f, it);
	return close_event(f, it, o, rc);
}

/* If the event is the first one of a request, marks it on the track of
 * requests. */
static void new_request(struct inv_perfetto *f, const struct inv_item *it)
{
	static const char name[] = "requests";
	uint64_t track = inv__pf_uuid(INV_PF_REQUESTS, 0, 0, 0);
	const struct inv_facts *facts = it->facts;
	struct inv_pf_open o;

	/* Requests are numbered in the order in which they begin. */
	if (!facts || !facts->cause || facts->cause->request <= f->request)
		return;
	f->request = facts->cause->request;
	if (!f->requests_described)
		inv__pf_close(f, inv__pf_track(f, track, 0, name,
					       sizeof(name) - 1));
	f->requests_described = true;
	inv_buf_reset(&f->text);
	inv_buf_printf(&f->text, "request %" PRIu64, f->request);
	if (facts->label)
		inv_buf_printf(&f->text, ": %s", facts->label);
	o = inv__pf_event(f, INV_PF_INSTANT, track, f->ts_ns);
	inv_proto_bytes(f->sink.out, PF_EVENT_NAME_TEXT, f->text.data,
			f->text.len);
	inv_proto_u64(f->sink.out, PF_EVENT_CORRELATION, f->request);
	inv__pf_close(f, o);
}

/* --- before an event ------------------------------------------------------ */

/* Reads the process in which {Kind, Serial, From, To, Message} happened: To if
 * Kind is 'receive', otherwise From. The cursor c is before the payload. */
static int party(struct inv_cursor *c, struct inv_token *tok)
{
	bool receive;

	if (inv_cursor_next(c, tok) || tok->kind != INV_TOK_TUPLE ||
	    tok->count != 5 || inv_cursor_next(c, tok))
		return INV_EDAMAGED;
	receive = inv_token_is(tok, "receive");
	if (inv_cursor_skip_rest(c, tok) || inv_cursor_skip(c) ||
	    (receive && inv_cursor_skip(c)))
		return INV_EDAMAGED;
	return must(inv_cursor_next(c, tok));
}

static void find_process(struct inv_perfetto *f, const struct inv_item *it)
{
	struct inv_token tok;
	int rc = it->ev.bare ? INV_EUNKNOWN :
			       inv_event_tracee(&it->ev, f->sink.cursor, &tok);

	if (!rc && it->ev.tag == INV_TAG_SEQ_TRACE) {
		rc = inv_event_payload(&it->ev, f->sink.cursor);
		if (!rc)
			rc = party(f->sink.cursor, &tok);
	}
	f->process = rc ? NULL : inv__pf_process(f, it, &tok);
	f->track = f->process ? f->process->track :
				inv__pf_group(f, it->node, INV_PF_NODE);
	f->ts_ns = f->process ? f->process->ts_ns : it->ts_ns;
}

static void end_states(struct inv_perfetto *f)
{
	struct inv_pf_process *p = f->process;

	if (p->collecting)
		inv__pf_end(f, p->states, f->ts_ns, NULL);
	if (p->in_state)
		inv__pf_end(f, p->states, f->ts_ns, NULL);
	p->collecting = p->in_state = false;
}

/*
 * Ends the slices that have no end event of their own. The begin or end of a
 * call ends slices of calls that are no longer open. The events `in' and `out'
 * end the slice of the process's state. The start of a garbage collection ends
 * the slice of a collection whose end is missing.
 */
static void end_slices(struct inv_perfetto *f, const struct inv_item *it)
{
	const struct inv_facts *facts = it->facts;
	struct inv_pf_process *p = f->process;

	switch (it->ev.tag) {
	case INV_TAG_CALL:
		if (facts && facts->mfa)
			inv__pf_leave(f, p, facts->depth, NULL);
		break;
	case INV_TAG_RETURN_FROM:
	case INV_TAG_EXCEPTION_FROM:
		if (facts && facts->call && !facts->whole)
			inv__pf_leave(f, p, facts->call->depth + 1, NULL);
		break;
	case INV_TAG_IN:
	case INV_TAG_OUT:
	case INV_TAG_IN_EXITING:
	case INV_TAG_OUT_EXITING:
	case INV_TAG_OUT_EXITED:
		inv__pf_states(f, p);
		end_states(f);
		break;
	case INV_TAG_GC_MINOR_START:
	case INV_TAG_GC_MAJOR_START:
		inv__pf_states(f, p);
		inv__pf_heap(f, p);
		if (p->collecting)
			inv__pf_end(f, p->states, f->ts_ns, NULL);
		p->collecting = false;
		break;
	default:
		break;
	}
}

static void before(struct inv_sink *s, const struct inv_item *it)
{
	struct inv_perfetto *f = of(s);
	const struct inv_facts *facts;

	if (!it)
		return;
	if (f->exited && f->process)
		inv__pf_forget(f, f->process, "process exited");
	f->exited = false;
	f->process = NULL;
	f->name = 0;
	inv__pf_begin(f, it->ts_ns);
	if (it->kind != INV_ITEM_EVENT)
		return;
	inv_sink_manner(s, it);
	inv__pf_seen(f, it);
	find_process(f, it);
	if (f->process)
		end_slices(f, it);
	facts = it->facts;
	if (facts && facts->whole)
		f->name = inv__pf_function(f, it, facts->call->mfa);
	else if (facts && facts->mfa &&
		 (it->ev.tag == INV_TAG_CALL ||
		  it->ev.tag == INV_TAG_RETURN_FROM ||
		  it->ev.tag == INV_TAG_EXCEPTION_FROM))
		f->name = inv__pf_function(f, it, facts->mfa);
	if (it->ev.tag == INV_TAG_SEQ_TRACE)
		new_request(f, it);
}

static int event(struct inv_sink *s, const struct inv_item *it)
{
	struct inv_perfetto *f = of(s);
	int rc;

	if (it->ev.bare)
		return bare(f, it);
	if (it->facts && it->facts->whole)
		return whole(f, it);
	switch (it->ev.tag) {
	case INV_TAG_CALL:
		return call(f, it);
	case INV_TAG_RETURN_FROM:
	case INV_TAG_EXCEPTION_FROM:
		return call_end(f, it);
	case INV_TAG_IN:
	case INV_TAG_OUT:
	case INV_TAG_IN_EXITING:
	case INV_TAG_OUT_EXITING:
	case INV_TAG_OUT_EXITED:
		return state(f, it);
	case INV_TAG_GC_MINOR_START:
	case INV_TAG_GC_MAJOR_START:
		return collects(f, it);
	case INV_TAG_GC_MINOR_END:
	case INV_TAG_GC_MAJOR_END:
		return collected(f, it);
	case INV_TAG_SEQ_TRACE:
		return request_event(f, it);
	default:
		rc = instant(f, it, 0);
		f->exited = !rc && (it->ev.tag == INV_TAG_EXIT ||
				    it->ev.tag == INV_TAG_CLOSED);
		return rc;
	}
}

static void loss(struct inv_sink *s, const struct inv_item *it)
{
	struct inv_perfetto *f = of(s);

	/* A recorded event that cannot be printed is a loss, too. A part of it
	 * may have been written already. */
	inv__pf_gap(f, it);
}

static void end(struct inv_sink *s)
{
	struct inv_perfetto *f = of(s);

	if (f->exited && f->process)
		inv__pf_forget(f, f->process, "process exited");
	f->exited = false;
	inv__pf_begin(f, 0);
}

static int init(struct inv_sink *s)
{
	struct inv_perfetto *f = of(s);

	inv_sink_for_people(s);
	f->functions =
		calloc((size_t)4 * INV_PF_FUNCTIONS, sizeof(*f->functions));
	f->sent = calloc(INV_PF_SENT, sizeof(*f->sent));
	return f->functions && f->sent ? 0 : INV_ENOMEM;
}

static void release(struct inv_sink *s)
{
	struct inv_perfetto *f = of(s);

	inv__pf_processes_release(f);
	inv__pf_tracks_release(f);
	inv_buf_release(&f->text);
	free(f->functions);
	free(f->sent);
}

const struct inv_sink_ops inv_sink_perfetto = {
	.name = "perfetto",
	.help = "a timeline for ui.perfetto.dev",
	.binary = true,
	.size = sizeof(struct inv_perfetto),
	.init = init,
	.event = event,
	.loss = loss,
	.before = before,
	.end = end,
	.release = release,
};
