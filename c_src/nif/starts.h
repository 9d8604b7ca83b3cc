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

/* In a handle: it is a start handle. Handles are smaller. */
#define INV_HANDLE_STARTS INV_TRACER_STARTS

/* What a slot of the table of tracers has for it. All fields are atomic, because
 * enabled/3 may read those of a freed tracer. */
struct inv_starts {
	_Atomic uint64_t label; /* of the token, plus 1; 0: any */
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

/* Returns true if enabled/3 is to answer `trace' for the tag. */
bool inv_starts_enabled(const struct inv_starts *s, ERL_NIF_TERM tag,
			ERL_NIF_TERM tracee);

/*
 * For the engine: decides whether a call may begin a request. The VM may run the
 * match spec nevertheless, because another session wants the call, so the calling
 * thread remembers the answer for inv_starts_take.
 */
bool inv_starts_ask(uint64_t handle, ERL_NIF_TERM process);

/*
 * Counts an event of a start handle, and returns true if it is to be recorded.
 * `asked': the VM has called enabled/3 for it.
 */
bool inv_starts_take(uint64_t handle, const struct inv_tracer_event *te,
		     bool asked);

/* Returns true if the label of a seq_trace event is the tracer's; otherwise counts
 * the event. */
bool inv_starts_is_ours(struct inv_starts *s,
			const struct inv_tracer_event *te);

/* NIFs for the session; inviso_tracer.erl documents them. */
ERL_NIF_TERM inv_starts_set(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_starts_counts(ErlNifEnv *, int, const ERL_NIF_TERM[]);

#endif
