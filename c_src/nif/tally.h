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
struct inv_arrival;
struct inv_tally;
struct inv_tally_cell;
struct inv_tally_key;
struct inv_tracer;

/* Keys are the results of calls, and the reasons of exits (nif/results.h); the
 * others are those of enum inv_count_of. */
#define INV_BY_RESULT 0x100u

/* Counts an event of the thread with this index. Returns false if the arguments
 * are not an event. */
bool inv_tally_event(struct inv_tracer *t, uint32_t thread,
		     struct inv_arrival *a);

/* For results: counts an event with this key, which is a value. */
void inv_tally_value(struct inv_tracer *t, uint32_t thread,
		     const struct inv_tally_key *key);

/*
 * For times (nif/times.h). inv_tally_key_of returns false if the arguments are
 * not an event. inv_tally_first makes a cell for a key that the part has not
 * counted yet. It returns NULL if there is no cell; then the key is counted
 * among the others. inv_tally_begin returns false if there is no memory.
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
