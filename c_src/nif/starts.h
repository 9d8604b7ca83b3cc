/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_STARTS_H
#define INV_NIF_STARTS_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/tracer_call.h"

/*
 * Requests (sequential traces) that begin with an event of a tracer.
 *
 * A call or a sent message begins a request if its match spec sets the token of
 * the process. Such a call is a start call, and such a message is a start
 * message. The session sets such a match spec with a second handle of the same
 * tracer, the start handle. The events of this handle have the value
 * {'$inviso_seq', Token} or {'$inviso_seq', Token, Label}. Token is the token
 * that the process held before the event, or [].
 *
 * The VM also reports the end of each start call. These ends are not recorded.
 * They show whether a later start call of the process begins another request,
 * although the process still holds a token (vm/starters.h). A start call that
 * begins another request is recorded with [] as Token. But if a limit or the
 * sample leaves this request out, the call is recorded once with the value
 * '$inviso_seq_over': events that follow from it are not part of the earlier
 * request.
 *
 * The number of requests can be limited, and the tracer can take a sample, one
 * request in N. Before the VM runs the match spec of a call, it calls
 * enabled/3. If enabled/3 returns `discard', the match spec does not set the
 * token. The match spec of a sent message sets the token nevertheless. So a
 * request is counted, and its first event recorded, only when the match spec
 * has matched. A request beyond the limit is only counted.
 *
 * The tracer records the seq_trace events whose token has the tracer's own
 * label. Events whose token has another label are only counted.
 */
struct inv_slot;
struct inv_tracer;

/* The bit that marks a start handle. All other handles are smaller. */
#define INV_HANDLE_STARTS INV_TRACER_STARTS

/* Which patterns the session is to set on the functions of start calls. */
enum inv_starts_mode {
	INV_STARTS_PLAIN, /* patterns that do not ask for the ends of calls. The
			   * tracer then does not notice if a process still
			   * has the token of an earlier request */
	INV_STARTS_ENDS,  /* patterns that ask for the ends of calls, too */
	/* The same patterns as for INV_STARTS_PLAIN, because a process has too
	 * many start calls that have not ended. Requests may still begin. */
	INV_STARTS_DEEP,
	/* Patterns that begin no requests, because no more may begin. They
	 * clear the flags of a token that a process still has; their events
	 * have the value '$inviso_seq_over'. */
	INV_STARTS_OVER,
};

/* The part of a tracer's slot that is about requests. All fields are atomic,
 * because enabled/3 may read them after the tracer was freed. */
struct inv_starts {
	_Atomic uint64_t label;	 /* label of the tracer's tokens, plus 1; 0: any
				    label */
	_Atomic uint8_t mode;	 /* enum inv_starts_mode */
	_Atomic int64_t left;	 /* how many requests may still begin;
				   INT64_MAX: no limit */
	_Atomic uint32_t one_in; /* take one of this many requests */
	_Atomic uint64_t node;	 /* the name of this node, an atom */
	_Atomic uint64_t begun;	 /* how many requests began and are recorded */
	_Atomic uint64_t beyond; /* how many requests began and are not
				    recorded */
	_Atomic uint64_t remote; /* requests that began with a message to
				    another node; this message does not carry
				    the token */
	_Atomic uint64_t others; /* events whose token has another label */
};

void inv_starts_clear(struct inv_starts *s);

/*
 * Returns true if the VM is to run the match spec of a start call. enabled/3
 * returns this decision to the VM. But if another session wants the call, the
 * VM runs the match spec in any case. So the thread also stores, for
 * inv_starts_take, whether the call may begin a request.
 */
bool inv_starts_ask(uint64_t handle, ERL_NIF_TERM process);

/*
 * Counts an event of a start handle of tracer t. Returns true if *event is to
 * be recorded. It may first replace the event: it then writes the new event to
 * *changed, and *event points there.
 */
bool inv_starts_take(struct inv_tracer *t, uint64_t handle,
		     const struct inv_tracer_event **event,
		     struct inv_tracer_event *changed);

/* If te is the seq_trace event of a process that has received a message whose
 * token has the tracer's label, calls inv_starters_received. Does nothing for
 * other events. */
void inv_starts_received(struct inv_tracer *t,
			 const struct inv_tracer_event *te);

/* Returns true if the label of a seq_trace event is the tracer's. Otherwise
 * counts the event in `others'. */
bool inv_starts_is_ours(struct inv_starts *s,
			const struct inv_tracer_event *te);

/* NIFs for the session; inviso_tracer.erl documents them. */
ERL_NIF_TERM inv_starts_set(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_starts_counts(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_starts_patterns(ErlNifEnv *, int, const ERL_NIF_TERM[]);

#endif
