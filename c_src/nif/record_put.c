/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/record_put.h"

#include <string.h>

#include "base/clock.h"
#include "base/likely.h"
#include "nif/decide.h"
#include "nif/put.h"
#include "nif/redact.h"

static bool put_strict(struct inv_encoder *e)
{
	ErlNifSInt64 n = 0;

	enif_get_int64(
		e->env,
		enif_make_unique_integer(e->env, ERL_NIF_UNIQUE_MONOTONIC), &n);
	return inv_put_varint(e, inv_zigzag(n));
}

static bool put_options(struct inv_encoder *e, const struct inv_recording *ev)
{
	if (ev->flags & INV_EV_SCHED && !inv_put_varint(e, ev->scheduler))
		return false;
	if (ev->ts_kind == INV_TS_CPU &&
	    !inv_put_varint(e, inv_clock_ns(CLOCK_PROCESS_CPUTIME_ID)))
		return false;
	return ev->ts_kind != INV_TS_STRICT || put_strict(e);
}

/* Writes the content of a seq_trace event: {send | 'receive' | print, Serial,
 * From, To, Message}. The redaction rules apply only to Message. */
static bool put_seq(struct inv_encoder *e, const struct inv_recording *ev)
{
	ERL_NIF_TERM info = ev->of->content;
	const ERL_NIF_TERM *element;
	int arity;
	int i;

	if (!enif_get_tuple(e->env, info, &arity, &element) || arity != 5)
		return inv_encode_term(e, info);
	if (!inv_encode_tuple(e, 5))
		return false;
	for (i = 0; i < 4; i++)
		if (!inv_encode_plain(e, element[i]))
			return false;
	return ev->flags & INV_EV_LIGHT ? inv_encode_hole(e) :
					  inv_encode_term(e, element[4]);
}

/* The tags whose content is a function: {M, F, Args} or {M, F, Arity}. */
#define FUNCTION_TAGS                                                      \
	(1u << INV_TAG_CALL | 1u << INV_TAG_RETURN_TO |                    \
	 1u << INV_TAG_RETURN_FROM | 1u << INV_TAG_EXCEPTION_FROM |        \
	 1u << INV_TAG_IN | 1u << INV_TAG_OUT | 1u << INV_TAG_IN_EXITING | \
	 1u << INV_TAG_OUT_EXITING | 1u << INV_TAG_OUT_EXITED)

static inline bool put_content(struct inv_encoder *e,
			       const struct inv_recording *ev)
{
	if (ev->tag < INV_TAG_COUNT && 1u << ev->tag & FUNCTION_TAGS)
		return inv_encode_function(e, ev->of->content, true);
	return inv_encode_term(e, ev->of->content);
}

static bool put_light(struct inv_encoder *e, const struct inv_recording *ev)
{
	switch (ev->tag) {
	case INV_TAG_SEND:
	case INV_TAG_SEND_NO_PROC:
	case INV_TAG_RECEIVE:
		return inv_encode_hole(e);
	case INV_TAG_CALL:
		return inv_encode_function(e, ev->of->content, false);
	case INV_TAG_SEQ_TRACE:
		return put_seq(e, ev);
	default:
		return put_content(e, ev);
	}
}

static bool put_extra(struct inv_encoder *e, const struct inv_recording *ev)
{
	if (ev->tag == INV_TAG_SPAWN || ev->tag == INV_TAG_SPAWNED)
		return inv_encode_function(e, ev->of->extra,
					   !(ev->flags & INV_EV_LIGHT));
	return inv_encode_term(e, ev->of->extra);
}

/* Redaction rules do not apply to the content of events with these tags. This
 * content is a process, a port, a registered name, or the figures of a garbage
 * collection. */
#define PLAIN_TAGS                                                          \
	(1u << INV_TAG_SPAWN | 1u << INV_TAG_SPAWNED | 1u << INV_TAG_LINK | \
	 1u << INV_TAG_UNLINK | 1u << INV_TAG_GETTING_LINKED |              \
	 1u << INV_TAG_GETTING_UNLINKED | 1u << INV_TAG_REGISTER |          \
	 1u << INV_TAG_UNREGISTER | 1u << INV_TAG_GC_MINOR_START |          \
	 1u << INV_TAG_GC_MINOR_END | 1u << INV_TAG_GC_MAJOR_START |        \
	 1u << INV_TAG_GC_MAJOR_END | 1u << INV_TAG_GC_MAX_HEAP_SIZE |      \
	 1u << INV_TAG_OPEN)

static bool put_content_redacted(struct inv_encoder *e,
				 const struct inv_recording *ev)
{
	if (ev->tag < INV_TAG_COUNT && 1u << ev->tag & PLAIN_TAGS)
		return inv_encode_plain(e, ev->of->content);
	if (ev->flags & INV_EV_LIGHT)
		return put_light(e, ev);
	if (ev->tag == INV_TAG_SEQ_TRACE)
		return put_seq(e, ev);
	if (ev->tag == INV_TAG_EXIT && e->redaction->rules.n_functions > 0)
		return inv_encode_shape(e, ev->of->content);
	return put_content(e, ev);
}

/* Writes {Class, Reason}. `hidden' is true if the function has a redaction
 * rule: the exception may then contain a value that the rule redacts. */
static bool put_exception(struct inv_encoder *e, ERL_NIF_TERM exception,
			  bool hidden)
{
	const ERL_NIF_TERM *element;
	int arity;

	if (!enif_get_tuple(e->env, exception, &arity, &element) || arity != 2)
		return inv_encode_shape(e, exception);
	return inv_encode_tuple(e, 2) && inv_encode_plain(e, element[0]) &&
	       (hidden ? inv_redact_mark(e, element[1]) :
			 inv_encode_shape(e, element[1]));
}

static bool put_extra_redacted(struct inv_encoder *e,
			       const struct inv_recording *ev,
			       const struct inv_redact_call *call)
{
	switch (ev->tag) {
	case INV_TAG_SEND: /* the receiver */
	case INV_TAG_SEND_NO_PROC:
		return inv_encode_plain(e, ev->of->extra);
	case INV_TAG_RETURN_FROM:
		if (call->result)
			return inv_redact_mark(e, ev->of->extra);
		break;
	case INV_TAG_EXCEPTION_FROM:
		if (e->redaction->rules.n_functions > 0)
			return put_exception(e, ev->of->extra, call->result);
		break;
	default:
		break;
	}
	return put_extra(e, ev);
}

/* Like put_terms, but applies the rules of redaction. */
__attribute__((noinline)) static bool put_terms_redacted(
	struct inv_encoder *e, const struct inv_recording *ev)
{
	struct inv_redact_call call = { .any = false };

	if (ev->tag == INV_TAG_OTHER && !inv_encode_plain(e, ev->of->tag))
		return false;
	/* In a seq_trace event, `tracee' is the label, which is user data. */
	if (!(ev->tag == INV_TAG_SEQ_TRACE ?
		      inv_encode_term(e, ev->of->tracee) :
		      inv_encode_plain(e, ev->of->tracee)))
		return false;
	if (ev->tag < INV_TAG_COUNT && 1u << ev->tag & FUNCTION_TAGS)
		inv_redact_function(e, ev->of->content, &call);
	if (!put_content_redacted(e, ev))
		return false;
	if (ev->flags & INV_EV_EXTRA && !put_extra_redacted(e, ev, &call))
		return false;
	if (!(ev->flags & INV_EV_MS_RESULT))
		return true;
	return call.any ? inv_encode_shape(e, ev->of->value) :
			  inv_encode_result(e, ev->of->value);
}

static bool put_terms(struct inv_encoder *e, const struct inv_recording *ev)
{
	if (inv_unlikely(e->redaction != NULL))
		return put_terms_redacted(e, ev);
	if (inv_unlikely(ev->tag == INV_TAG_OTHER) &&
	    !inv_encode_term(e, ev->of->tag))
		return false;
	if (!inv_encode_term(e, ev->of->tracee))
		return false;
	if (!(ev->flags & INV_EV_LIGHT ? put_light(e, ev) : put_content(e, ev)))
		return false;
	if (ev->flags & INV_EV_EXTRA && !put_extra(e, ev))
		return false;
	return !(ev->flags & INV_EV_MS_RESULT) ||
	       inv_encode_term(e, ev->of->value);
}

/* The flags that are in the record's head. */
#define HEAD_FLAGS (INV_EV_EXTRA | INV_EV_CUT)

static inline uint8_t other_flags(const struct inv_recording *ev)
{
	unsigned flags = ev->flags & ~(unsigned)HEAD_FLAGS;

	return (uint8_t)(ev->whole ? flags | INV_EV_WHOLE : flags);
}

static uint8_t head_of(const struct inv_recording *ev)
{
	unsigned head = ev->tag & INV_HEAD_TAG;

	if (ev->flags & INV_EV_EXTRA)
		head |= INV_HEAD_EXTRA;
	if (ev->ends)
		head |= INV_HEAD_ENDS;
	if (other_flags(ev))
		head |= INV_HEAD_FLAGS;
	return (uint8_t)head;
}

/*
 * Sets INV_EV_REDACTED in the record at `head': its terms contain a mark. If
 * the record has no byte of flags yet, inserts this byte; most records have
 * none.
 */
static INV_COLD bool flag_redacted(struct inv_encoder *e, uint8_t *head)
{
	if (!(head[0] & INV_HEAD_FLAGS)) {
		if (!inv_put_room(e, 1))
			return false;
		memmove(head + 2, head + 1, (size_t)(e->p - head) - 1);
		e->p++;
		head[0] |= INV_HEAD_FLAGS;
		head[1] = 0;
	}
	head[1] |= INV_EV_REDACTED;
	return true;
}

/* Writes the record without its length. */
static inline bool put_record(struct inv_encoder *e,
			      const struct inv_recording *ev, uint64_t last_ns)
{
	uint8_t *head = e->p;

	*e->p++ = head_of(ev);
	if (other_flags(ev))
		*e->p++ = other_flags(ev);
	e->p = inv_varint_put(e->p, ev->now - last_ns);
	if (!put_options(e, ev) || !put_terms(e, ev))
		return false;
	if (inv_unlikely(ev->whole != NULL) &&
	    !inv_decide_put(e, ev->whole, ev->of->tracee))
		return false;
	if (e->cut)
		*head |= INV_HEAD_CUT;
	if (inv_unlikely(e->redacted > 0))
		return flag_redacted(e, head);
	return true;
}

bool inv_record_put(struct inv_encoder *e, const struct inv_recording *ev,
		    uint64_t last_ns)
{
	uint8_t *start = e->p;

	if ((size_t)(e->top - e->p) < 3 + INV_VARINT_MAX)
		return false;
	e->p++;
	return put_record(e, ev, last_ns) && inv_put_length(e, start);
}

/* The length of a large record always takes this many bytes, so that the record
 * need not be moved after its length is known. */
#define LONG_LENGTH 4u

bool inv_record_put_large(struct inv_encoder *e, const struct inv_recording *ev)
{
	uint8_t *start = e->p;
	uint32_t len;
	unsigned i;

	e->p += LONG_LENGTH;
	if (!put_record(e, ev, ev->now))
		return false;
	len = (uint32_t)(e->p - start) - LONG_LENGTH;
	for (i = 0; i < LONG_LENGTH; i++, len >>= 7)
		start[i] = (uint8_t)((len & 0x7f) |
				     (i + 1 < LONG_LENGTH ? 0x80 : 0));
	return true;
}
