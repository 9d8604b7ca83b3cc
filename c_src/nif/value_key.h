/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_VALUE_KEY_H
#define INV_NIF_VALUE_KEY_H

#include <erl_nif.h>
#include <stdbool.h>

#include "abi/event.h"
#include "abi/tracer_call.h"
#include "vm/values.h"

/*
 * Keys of a tally that are the values of an expression, Expr. The match spec of
 * the event has {message, {{Expr}}}; for a histogram of numbers, it has
 * {message, {{Number, Expr}}}. The value is in a tuple because {message, false}
 * would suppress the event. If the expression fails, its value is 'EXIT'.
 *
 * If the value is an atom, a process or port of this node, or an integer of 64
 * bits, the key itself contains the value.  For any other value, the key
 * contains two hashes of the value's bytes, and a table (vm/values.h) contains
 * the bytes:
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
 *	x		a term that was left out because of its size or type
 *
 * So values that differ only in parts that were left out have the same key.
 */

struct inv_tracer;

/*
 * Makes the key of an event. `part' is the index of the calling thread. Returns
 * false if the event has no value.  The tracer's rules redact parts of the
 * value: values of map keys and fields of records (nif/redact.h). They do not
 * redact the value as a whole, because the user's expression selects it.
 */
bool inv_value_key(struct inv_tracer *t, uint32_t part,
		   const struct inv_tracer_event *te,
		   struct inv_tally_key *key);

/* Makes the key of kind `of' for this value. */
void inv_value_key_of(struct inv_tracer *t, uint32_t part, ErlNifEnv *env,
		      ERL_NIF_TERM value, enum inv_count_of of,
		      struct inv_tally_key *key);

/* Returns the key's cell in a part of the tally `keys'. If there is none, makes
 * a cell, or returns NULL if there is no room. If the key has hashes, a new
 * cell gets the bytes of the value of the thread's current event. Only the
 * thread to which the part belongs may call this; the thread must count the
 * event afterwards. */
struct inv_tally_cell *inv_value_cell(struct inv_values *v,
				      struct inv_tally *keys, uint32_t part,
				      const struct inv_tally_key *key);

/* Returns the value of a key as a term. The atom '...' is in the place of each
 * part that was left out. */
ERL_NIF_TERM inv_value_term(ErlNifEnv *env, const struct inv_values *v,
			    const struct inv_tally *keys,
			    const struct inv_tally_key *key);

#endif
