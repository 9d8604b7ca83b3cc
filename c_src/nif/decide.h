/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_DECIDE_H
#define INV_NIF_DECIDE_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/event.h"
#include "abi/tracer_call.h"
#include "nif/encode.h"

/*
 * Rules that pick slow calls, and calls that failed. If a function has rules, a
 * call of this function is recorded only if a rule picks the call. The rules
 * are applied when the call ends. Until then, the tracer keeps the call's
 * arguments (vm/kept.h, nif/kept.h).
 *
 * 	event		 what the tracer does
 * 	call		 keeps the arguments and the time
 * 	return_from,	 if a rule picks the call: records it as one event, with
 * 	exception_from,	 its arguments (INV_EV_WHOLE); otherwise forgets it
 * 	exit
 *
 * Calls of functions without rules are recorded when they begin and when they
 * end. The tracer keeps the times at which these calls began, too, because
 * calls of functions with rules can be inside them. The table of open calls
 * (nif/bound.h) says for which functions the VM reports the ends of calls.
 *
 * A process is `held' if it has reached the bound on open calls: its calls are
 * left out until the session has changed a pattern.
 */
struct inv_arrival;
struct inv_bound_call;
struct inv_decide;
struct inv_kept_call;
struct inv_open_calls;
struct inv_thread;
struct inv_tracer;

void inv_decide_free(struct inv_decide *d);

/* Counts of calls of functions with rules; only calls that the filter wants are
 * counted. Of these counts, only without_args is part of `produced'
 * (nif/count.h). */
struct inv_decide_counts {
	uint64_t forgotten; /* no rule picked the call when it ended */
	uint64_t unkept;    /* the rules were not applied: no memory to keep the
			    call, or the VM does not report its end */
	uint64_t unended;   /* the VM did not report the call's end, because the
			     process died or hibernated */
	uint64_t open;	    /* the call has not ended yet */
	uint64_t without_args; /* recorded without arguments: no memory to
				  keep them */
};

void inv_decide_read(const struct inv_decide *d, uint32_t n_threads,
		     struct inv_decide_counts *counts);

/* A call whose end was reported. */
struct inv_whole {
	uint64_t ns;			  /* how long the call took */
	uint64_t self_ns;		  /* ns without the time of the traced
					     calls inside the call */
	uint32_t depth;			  /* how many calls were open around
					     it */
	const struct inv_kept_call *call; /* NULL: its function has no rules,
					     and the call was recorded when it
					     began */
	struct inv_open_calls *functions; /* the table with the function */
	const uint8_t *bytes;		  /* kept terms: the arguments */
};

/*
 * Call it when a traced call begins. `wanted' is true if the tracer's filter
 * selects the call. Returns true if the function has no rules: the caller then
 * records the call now.
 */
bool inv_decide_begin(struct inv_tracer *t, uint32_t thread,
		      const struct inv_tracer_event *te,
		      const struct inv_bound_call *of, uint64_t now,
		      bool wanted);

/* Call it when a call begins that the filter wants, but whose end the VM will
 * not report. Returns true if the function has no rules: the caller then
 * records the call. Otherwise counts the call in `unkept'. */
bool inv_decide_endless(struct inv_tracer *t, uint32_t thread,
			uint32_t function);

/*
 * Call it for an event for which inv_bound_count returned INV_BOUND_LEAVE_OUT.
 * If the event is a call whose end will be recorded, the tracer keeps the call
 * nevertheless, so that its end is not taken for the end of another call. If
 * the event is the end of a call, the called function is stopped, which means
 * that ends of its calls are not recorded any more. For such an end, this
 * function also does what inv_decide_held does.
 */
void inv_decide_left_out(struct inv_tracer *t, uint32_t thread,
			 const struct inv_tracer_event *te, enum inv_tag tag,
			 const struct inv_bound_call *of, uint64_t now);

/* Call it when the process becomes held. Removes its kept calls whose ends are
 * not recorded any more. Rules are not applied to these calls; they count in
 * `unkept'. */
void inv_decide_held(struct inv_tracer *t, uint32_t thread, uint64_t process);

enum inv_verdict {
	INV_VERDICT_FORGET,
	INV_VERDICT_RECORD, /* record the event without *w */
	INV_VERDICT_WHOLE,  /* record the event with *w. If inv_decide_end has
			     * returned this, call inv_decide_done next */
};

/* An event that ends a call. */
struct inv_decide_event {
	struct inv_arrival *arrival;
	enum inv_tag tag;
	uint32_t function;
	uint64_t now;
};

enum inv_verdict inv_decide_end(struct inv_tracer *t, struct inv_thread *thread,
				const struct inv_decide_event *ev,
				struct inv_whole *w);
void inv_decide_done(struct inv_tracer *t, uint32_t thread, uint64_t process,
		     const struct inv_whole *w);

/* Call it when the process exits, which ends its innermost open call. After
 * INV_VERDICT_RECORD and INV_VERDICT_WHOLE the caller must call
 * inv_decide_exited. INV_VERDICT_FORGET means that no call is open. The caller
 * records the exit event in each case. */
enum inv_verdict inv_decide_exit(struct inv_tracer *t, struct inv_arrival *a,
				 uint64_t now, struct inv_whole *w);
void inv_decide_exited(struct inv_tracer *t, uint32_t thread, uint64_t process,
		       enum inv_verdict verdict);

/* Appends the terms that INV_EV_WHOLE (abi/event.h) adds to the record of an
 * end. Returns false if they do not fit. */
bool inv_decide_put(struct inv_encoder *e, const struct inv_whole *w,
		    ERL_NIF_TERM tracee);

/* NIFs for the session; inviso_tracer.erl documents them. */
ERL_NIF_TERM inv_decide_set(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_decide_rules(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_decide_sweep(ErlNifEnv *, int, const ERL_NIF_TERM[]);

#endif
