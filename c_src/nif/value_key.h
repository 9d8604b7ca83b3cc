/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_VALUE_KEY_H
#define INV_NIF_VALUE_KEY_H

#include <erl_nif.h>
#include <stdbool.h>

#include "abi/event.h"
#include "abi/tracer_call.h"
#include "vm/values.h"

/*
 * Keys of a tally that are the values of an expression. The match spec of the
 * event has {message, {{Expr}}}, so that a value that is false is a value; or
 * {message, {{Number, Expr}}}, for a histogram of numbers. An expression that fails
 * has the value 'EXIT'.
 *
 * An atom, a process or port of this node, or an integer of 64 bits is in the key
 * itself.  Of any other value the key has two hashes, and the values
 * (vm/values.h) have its bytes:
 *
 *	a word		atom, or process or port of this node
 *	i, f 8 bytes	integer, float
 *	b n bytes	binary of n bytes
 *	B n bytes	the first n bytes of a longer binary
 *	t n terms	tuple of n elements
 *	m n terms	map of n pairs, key and value of each
 *	c head tail	cons
 *	n		[]
 *	r		a redacted value
 *	x		a term that was left out: the bytes do not suffice, or it is
 *			a term of another type
 *
 * So values that differ only in what is left out are one key.
 */

struct inv_tracer;

/*
 * Makes the key of an event in the thread `part'. Returns false if the event has
 * no value.  The tracer's rules redact values of keys and fields of records in the
 * value (nif/redact.h); but not the value itself, which the expression selects.
 */
bool inv_value_key(struct inv_tracer *t, uint32_t part,
		   const struct inv_tracer_event *te,
		   struct inv_tally_key *key);

/* Makes the key of kind `of' for this value. */
void inv_value_key_of(struct inv_tracer *t, uint32_t part, ErlNifEnv *env,
		      ERL_NIF_TERM value, enum inv_count_of of,
		      struct inv_tally_key *key);

/* Returns the key's cell in the part, and makes one if there is none; or returns
 * NULL if there is no room. A new cell of a long key gets the bytes of the value of
 * the thread's current event. Only the part's thread may call it; afterwards it
 * counts the event. */
struct inv_tally_cell *inv_value_cell(struct inv_values *v,
				      struct inv_tally *keys, uint32_t part,
				      const struct inv_tally_key *key);

/* Returns the value of a key. What was left out is the atom '...'. */
ERL_NIF_TERM inv_value_term(ErlNifEnv *env, const struct inv_values *v,
			    const struct inv_tally *keys,
			    const struct inv_tally_key *key);

#endif
