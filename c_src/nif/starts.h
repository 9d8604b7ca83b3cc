/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_STARTS_H
#define INV_NIF_STARTS_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/tracer_call.h"

/*
 * Requests of sequential traces that begin with an event of a tracer.
 *
 * A call or a sent message begins a request if its match spec sets the token
 * of the process. Such a match spec is set with a second handle of the same
 * tracer, the start handle. The events of this handle have the value
 * {'$inviso_seq', Token} or {'$inviso_seq', Token, Label}, where Token is the
 * token that the process held before, or [].
 *
 * For a call that begins a request, the VM also reports the end of the call.
 * These ends are not recorded. They show which later call of the process begins
 * another request, although the process still holds a token (vm/starters.h).
 * Such a later call is recorded with [] as Token. If a limit or the sample
 * leaves the call out, it is recorded once with the value '$inviso_seq_over':
 * events that follow from it are not part of the earlier request.
 *
 * The number of requests can be limited, and one in N of them can be taken.
 * For a call, the VM asks enabled/3 before it runs the match spec, so `discard'
 * prevents the token. For a sent message it does not prevent the token. So a
 * request is counted, and its first event recorded, only when the match spec
 * has matched. A request beyond the limit is only counted.
 *
 * The tracer records the seq_trace events with one label, and leaves out tokens of
 * others.
 */
struct inv_slot;
struct inv_tracer;

/* The bit that marks a start handle. All other handles are smaller. */
#define INV_HANDLE_STARTS INV_TRACER_STARTS

/* Which patterns the session is to set for start calls. */
enum inv_starts_mode {
	INV_STARTS_PLAIN, /* patterns without ends of calls: stale tokens are
			   * not noticed */
	INV_STARTS_ENDS,  /* patterns that ask for the ends of calls, too */
	/* Requests may begin, but a process has too many start calls that have
	 * not ended: the session is to set patterns that do not ask for the
	 * ends of calls. */
	INV_STARTS_DEEP,
	/* No more requests may begin. Patterns clear the flags of a token that
	 * a process still holds, and have the value '$inviso_seq_over'. */
	INV_STARTS_OVER,
};

/* The part of a tracer's slot that belongs to requests. All fields are atomic,
 * because enabled/3 may read those of a freed tracer. */
struct inv_starts {
	_Atomic uint64_t label; /* the token's label plus 1; 0: any label */
	_Atomic uint8_t mode;	/* enum inv_starts_mode */
	_Atomic int64_t left;	/* how many requests may still begin;
				   INT64_MAX: no limit */
	_Atomic uint32_t one_in;
	_Atomic uint64_t node;	 /* the name of this node, an atom */
	_Atomic uint64_t begun;	 /* how many requests began and are recorded */
	_Atomic uint64_t beyond; /* how many requests began and are not
				    recorded */
	_Atomic uint64_t remote; /* requests that began with a message to
				    another node, which does not carry the
				    token itself */
	_Atomic uint64_t others; /* events whose token has another label */
};

void inv_starts_clear(struct inv_starts *s);

/*
 * Decides whether the match spec of a start call is run: the answer of
 * enabled/3. The VM may run it nevertheless, because another session wants the
 * call, so the calling thread remembers the decision for inv_starts_take.
 */
bool inv_starts_ask(uint64_t handle, ERL_NIF_TERM process);

/*
 * Counts an event of a start handle of tracer t. Returns true if the event is
 * to be recorded. It may then set *changed to an event that replaces it.
 */
bool inv_starts_take(struct inv_tracer *t, uint64_t handle,
		     const struct inv_tracer_event **event,
		     struct inv_tracer_event *changed);

/* If the event is a seq_trace event in which a process has received a message
 * with the tracer's token, notes this. Other events have no effect. */
void inv_starts_received(struct inv_tracer *t,
			 const struct inv_tracer_event *te);

/* Returns true if the label of a seq_trace event is the tracer's; otherwise counts
 * the event. */
bool inv_starts_is_ours(struct inv_starts *s,
			const struct inv_tracer_event *te);

/* NIFs for the session; inviso_tracer.erl documents them. */
ERL_NIF_TERM inv_starts_set(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_starts_counts(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_starts_patterns(ErlNifEnv *, int, const ERL_NIF_TERM[]);

#endif
