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
 * A call or a sent message begins a request if its match spec sets the token of
 * the process. Such a match spec is set with another handle of the same tracer:
 * its start handle. Its events have the value {'$inviso_seq', Token} or {'$inviso_seq',
 * Token, Label}, where Token is what the process held before, or [].
 *
 * A call that begins a request also asks for its end. Such ends are not recorded:
 * they tell which later call of the process begins another request, although the
 * process still holds a token (vm/starters.h). This call is recorded with the value
 * [] for Token. If a limit or the sample leaves it out, it is recorded once with the
 * value '$inviso_seq_over': what follows from it is no part of the earlier request.
 *
 * The number of requests can be limited, and one in N of them can be taken. For a
 * call, the VM asks enabled/3 before it runs the match spec, so `discard' prevents
 * the token. For a sent message it does not. So a request is counted, and its
 * first event recorded, when the match spec has matched; what begins beyond the
 * limit is only counted.
 *
 * The tracer records the seq_trace events with one label, and leaves out tokens of
 * others.
 */
struct inv_slot;
struct inv_tracer;

/* In a handle: it is a start handle. Handles are smaller. */
#define INV_HANDLE_STARTS INV_TRACER_STARTS

/* What the patterns of start calls ask for. */
enum inv_starts_mode {
	INV_STARTS_PLAIN, /* no ends: tokens that a process keeps are not noticed */
	INV_STARTS_ENDS, /* ends of calls */
	/* The same, but a process has too many start calls that have not ended:
	 * the session is to set patterns that ask for no ends. */
	INV_STARTS_DEEP,
	/* No more requests may begin. Patterns clear the flags of a token that a
	 * process still holds, with the value '$inviso_seq_over'. */
	INV_STARTS_OVER,
};

/* What a slot of the table of tracers has for it. All fields are atomic, because
 * enabled/3 may read those of a freed tracer. */
struct inv_starts {
	_Atomic uint64_t label; /* of the token, plus 1; 0: any */
	_Atomic uint8_t mode;	/* enum inv_starts_mode */
	_Atomic int64_t left;	/* requests; INT64_MAX: no limit */
	_Atomic uint32_t one_in;
	_Atomic uint64_t node;	 /* the name of this node, an atom */
	_Atomic uint64_t begun;	 /* requests that are recorded */
	_Atomic uint64_t beyond; /* those that are not */
	_Atomic uint64_t remote; /* begun by a message to another node, which
				    does not carry the token itself */
	_Atomic uint64_t others; /* events of tokens with other labels */
};

void inv_starts_clear(struct inv_starts *s);

/*
 * Decides whether the match spec of a start call is run: the answer of enabled/3.
 * The VM may run it nevertheless, because another session wants the call, so the
 * calling thread remembers for inv_starts_take what was decided.
 */
bool inv_starts_ask(uint64_t handle, ERL_NIF_TERM process);

/*
 * Counts an event of a start handle of tracer t. Returns true if the event is to be
 * recorded; it is then perhaps replaced by *changed.
 */
bool inv_starts_take(struct inv_tracer *t, uint64_t handle,
		     const struct inv_tracer_event **event,
		     struct inv_tracer_event *changed);

/* Notes that a process has received a message with the tracer's token. Other
 * seq_trace events change nothing. */
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
