/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_TALLY_H
#define INV_NIF_TALLY_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/tracer_call.h"

/*
 * Counting instead of recording: a tracer with a tally (vm/tally.h) counts each
 * event in the thread in which it happens, under a key such as the function or
 * the process. Its rings get only notes: a process reads the counts and writes
 * them into the log as notes.
 */
struct inv_arrival;
struct inv_tally;
struct inv_tally_cell;
struct inv_tally_key;
struct inv_tracer;

/* A tally has one kind of keys: a value of enum inv_count_of, or INV_BY_RESULT.
 * With INV_BY_RESULT the keys are the results of calls and the reasons of exits
 * (nif/results.h). */
#define INV_BY_RESULT 0x100u

/* Counts an event. `thread' is the index of the calling thread. Returns false
 * if the arguments of the callback are not an event. */
bool inv_tally_event(struct inv_tracer *t, uint32_t thread,
		     struct inv_arrival *a);

/* For nif/results.h: counts an event under this key, whose value is in the
 * thread's part (vm/values.h). */
void inv_tally_value(struct inv_tracer *t, uint32_t thread,
		     const struct inv_tally_key *key);

/*
 * For nif/times.h. inv_tally_key_of makes the key of an event, or returns false
 * if the arguments of the callback are not an event. inv_tally_first makes a
 * cell for a key that the part has not counted yet. It returns NULL if the part
 * is full; then the event is counted in `others'. inv_tally_begin gives the
 * tracer a tally; it returns false if there is no memory.
 */
bool inv_tally_key_of(const struct inv_tally *tally, struct inv_arrival *a,
		      struct inv_tally_key *key);
struct inv_tally_cell *inv_tally_first(struct inv_tracer *t,
				       struct inv_tally *tally, uint32_t part,
				       ErlNifEnv *env,
				       const struct inv_tally_key *key);
bool inv_tally_begin(struct inv_tracer *t, uint32_t n_parts, uint32_t by);
bool inv_tally_by(ERL_NIF_TERM atom, uint32_t *by);
ERL_NIF_TERM inv_tally_key_term(ErlNifEnv *env, const struct inv_tracer *t,
				const struct inv_tally_key *k);

/* NIFs for the session; inviso_tracer.erl documents them. */
ERL_NIF_TERM inv_tally_set(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_tally_read(ErlNifEnv *, int, const ERL_NIF_TERM[]);

#endif
