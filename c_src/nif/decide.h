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
 * Decides when a call ends whether the call is recorded: only slow calls and
 * calls that failed are. Until a call ends, the tracer keeps its arguments
 * (vm/kept.h, nif/kept.h).
 *
 * 	call		 the arguments are kept, with the time
 * 	return_from,	 a rule picks the call: it is recorded as one event, with
 * 	exception_from,	 its arguments (INV_EV_WHOLE); otherwise it is forgotten
 * 	exit
 *
 * This concerns only functions with rules. Calls of other functions are
 * recorded when they begin and when they end. The tracer keeps the times at
 * which these calls began, too, because calls with rules can be inside them.
 * The functions and their ends are those of the bound on open calls
 * (nif/bound.h).
 */
struct inv_arrival;
struct inv_bound_call;
struct inv_decide;
struct inv_kept_call;
struct inv_open_calls;
struct inv_thread;
struct inv_tracer;

void inv_decide_free(struct inv_decide *d);

/* Numbers of calls of functions with rules that the filter wants. Except for
 * without_args, these calls are not in `produced'. */
struct inv_decide_counts {
	uint64_t forgotten; /* they ended, and no rule picked them */
	uint64_t unkept;  /* not decided: there was no room, or the VM does not
			    report their ends */
	uint64_t unended; /* their ends were not reported: the process died, or
			     hibernated */
	uint64_t open;	  /* they have not ended */
	uint64_t without_args; /* recorded without arguments: there was no
				  room */
};

void inv_decide_read(const struct inv_decide *d, uint32_t n_threads,
		     struct inv_decide_counts *counts);

/* A call whose end was reported. */
struct inv_whole {
	uint64_t ns;			  /* how long it took */
	uint64_t self_ns;		  /* without calls inside it */
	uint32_t depth;			  /* calls around it */
	const struct inv_kept_call *call; /* NULL: it was recorded when it
					     began */
	struct inv_open_calls *functions; /* has its function */
	const uint8_t *bytes;		  /* its kept terms */
};

/*
 * A call begins. `wanted' is true if the filter of the tracer selects the
 * call. Returns true if the call is to be recorded now, and not when it ends.
 */
bool inv_decide_begin(struct inv_tracer *t, uint32_t thread,
		      const struct inv_tracer_event *te,
		      const struct inv_bound_call *of, uint64_t now,
		      bool wanted);

/* A call that the filter wants begins, and the VM will not report its end. Returns
 * true if the call is to be recorded. */
bool inv_decide_endless(struct inv_tracer *t, uint32_t thread,
			uint32_t function);

/*
 * An event that is not recorded, of a function with ends (INV_BOUND_LEAVE_OUT). A
 * call is kept all the same, so that its end is not taken for that of another
 * call. An end says that no end of its function is recorded any more, so the open
 * calls of such functions are removed, as by inv_decide_held.
 */
void inv_decide_left_out(struct inv_tracer *t, uint32_t thread,
			 const struct inv_tracer_event *te, enum inv_tag tag,
			 const struct inv_bound_call *of, uint64_t now);

/* The process is held from now on. The calls that are removed are not decided. */
void inv_decide_held(struct inv_tracer *t, uint32_t thread, uint64_t process);

enum inv_verdict {
	INV_VERDICT_FORGET,
	INV_VERDICT_RECORD, /* as an event of its own */
	INV_VERDICT_WHOLE,  /* with *w; inv_decide_done must follow */
};

/* The event ends a call. */
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

/* The process exits, so its innermost open call ends. Returns
 * INV_VERDICT_RECORD or INV_VERDICT_WHOLE, and the caller must then call
 * inv_decide_exited. Returns INV_VERDICT_FORGET if no call is open. The event
 * exit is recorded in each case. */
enum inv_verdict inv_decide_exit(struct inv_tracer *t, struct inv_arrival *a,
				 uint64_t now, struct inv_whole *w);
void inv_decide_exited(struct inv_tracer *t, uint32_t thread, uint64_t process,
		       enum inv_verdict verdict);

/* Appends the additional terms of the record of an end (INV_EV_WHOLE in
 * abi/event.h). Returns false in the same cases as inv_encode_term. */
bool inv_decide_put(struct inv_encoder *e, const struct inv_whole *w,
		    ERL_NIF_TERM tracee);

/* NIFs for the session; inviso_tracer.erl documents them. */
ERL_NIF_TERM inv_decide_set(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_decide_rules(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_decide_sweep(ErlNifEnv *, int, const ERL_NIF_TERM[]);

#endif
