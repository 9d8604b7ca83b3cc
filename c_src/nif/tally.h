/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_TALLY_H
#define INV_NIF_TALLY_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/tracer_call.h"

/*
 * Counting instead of recording: a tracer with a tally (vm/tally.h) counts each
 * event in the thread in which it happens, by function or by process. Its rings
 * get only notes: a process reads the counts and notes them in the log.
 */
struct inv_tracer;

/* Counts an event of the thread with this index. Returns false if the arguments
 * are not an event. */
bool inv_tally_event(struct inv_tracer *t, uint32_t thread,
		     const struct inv_tracer_event *te);

/* NIFs for the session; inviso_tracer.erl documents them. */
ERL_NIF_TERM inv_tally_set(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_tally_read(ErlNifEnv *, int, const ERL_NIF_TERM[]);

#endif
