/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_REDACT_H
#define INV_NIF_REDACT_H

#include <stdatomic.h>

#include "match/redact.h"
#include "nif/encode.h"

/*
 * The redaction rules of a tracer, and a cache that tells for an atom whether a
 * rule matches it. With the cache, even a rule with a wildcard costs only one
 * look-up for a key that is an atom. All threads use the cache without a lock:
 * an entry is one word, with an atom and the result for this atom, and each
 * thread stores correct entries.
 */
#define INV_REDACTION_ATOMS 1024u

struct inv_redaction {
	struct inv_redact rules;
	_Atomic uint64_t atoms[INV_REDACTION_ATOMS];
};

/* Call it when the library is loaded. */
void inv_redaction_init(ErlNifEnv *env);

/*
 * Writes a mark in place of the term. A mark says only the type of the term.
 * Here and below, the parameters and results are those of inv_encode_term.
 */
bool inv_redact_mark(struct inv_encoder *e, ERL_NIF_TERM term) INV_COLD;

/* Returns true if the term, a part of the result of a match spec, is a value
 * that was redacted in the same event. Example: a rule redacts the key
 * password, the match spec's head has #{password => '$1'}, and its result is
 * '$1'. */
bool inv_redact_was_marked(const struct inv_encoder *e,
			   ERL_NIF_TERM term) INV_COLD;
static inline bool inv_redact_is_again(const struct inv_encoder *e,
				       ERL_NIF_TERM term)
{
	return e->in_result && inv_redact_was_marked(e, term);
}

/*
 * Writes the shape of a term: a mark replaces each number, binary, string and
 * atom. These remain: lists, tuples and maps; keys that are atoms; the tags of
 * tuples; pids, ports, references and funs.
 */
bool inv_redact_shape(struct inv_encoder *e, ERL_NIF_TERM term, uint32_t depth);

/* Writes the reason of an exception as inv_redact_shape does, but writes the
 * VM's own reasons, such as badarg, without a mark. */
bool inv_redact_reason(struct inv_encoder *e, ERL_NIF_TERM reason,
		       uint32_t depth);

/* Which parts of a tuple are redacted. */
struct inv_redact_tuple {
	inv_redact_set hidden; /* the elements that are redacted */
	bool reason; /* the last element is a stack trace, and one of its
		      * functions has a rule. Then the other elements are
		      * redacted as reasons of exceptions, except the first one
		      * if it is an atom */
};

/* Sets *t to the parts of the tuple that the rules redact. */
void inv_redact_tuple(struct inv_encoder *e, const ERL_NIF_TERM *elements,
		      uint32_t arity, struct inv_redact_tuple *t);

/*
 * These return true if an element of the list, or a value of the map, is a
 * stack trace with a function that has a rule. The caller then writes the other
 * elements or values with inv_redact_reason. In a list, the stack trace can
 * also be in a pair {Key, Stack}. inv_redact_has_stack checks one element or
 * value.
 */
bool inv_redact_list(struct inv_encoder *e, ERL_NIF_TERM list);
bool inv_redact_map(struct inv_encoder *e, ERL_NIF_TERM map);
bool inv_redact_has_stack(struct inv_encoder *e, ERL_NIF_TERM term);

/*
 * Functions such as proc_lib:init_p/5 and gen:init_it/7 call another function.
 * One of their arguments contains the arguments of this other function. Returns
 * true if the term seems to be such an argument, and a rule redacts it. There
 * are two cases.
 * First: the term is a list, and a module and a function are in front of it.
 * Second: the term is no atom, a module is in front of it, and the rule is for
 * the argument of the module's init/1. before[1] is the element in front of the
 * term, and before[0] is the element in front of before[1]; 0: no element.
 */
bool inv_redact_is_passed(struct inv_encoder *e, const ERL_NIF_TERM before[2],
			  ERL_NIF_TERM term);
static inline bool inv_redact_passed(struct inv_encoder *e,
				     const ERL_NIF_TERM before[2],
				     ERL_NIF_TERM term)
{
	return (e->redaction->rules.n_functions > 0 &&
		inv_redact_is_passed(e, before, term)) ||
	       inv_redact_is_again(e, term);
}

/* Returns true if a rule redacts values with this key. */
bool inv_redact_is_key(struct inv_encoder *e, ERL_NIF_TERM key);

/*
 * Sets *call to the parts of a function's calls that the rules redact, and
 * returns call->any, which is true if there are such parts. `mfa' is {M, F,
 * Args} or {M, F, Arity}.
 */
bool inv_redact_function(struct inv_encoder *e, ERL_NIF_TERM mfa,
			 struct inv_redact_call *call);
bool inv_redact_mfa(struct inv_encoder *e, ERL_NIF_TERM module,
		    ERL_NIF_TERM function, uint32_t arity,
		    struct inv_redact_call *call);

#endif
