/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_REDACT_H
#define INV_NIF_REDACT_H

#include <stdatomic.h>

#include "match/redact.h"
#include "nif/encode.h"

/*
 * The rules of a tracer, and their verdicts on atoms. All threads use it
 * without a lock: an entry of the table is one word, an atom with its verdict,
 * and is correct whichever thread stored it last. So a rule with a wildcard
 * costs one look-up for a key that is an atom.
 */
#define INV_REDACTION_ATOMS 1024u

struct inv_redaction {
	struct inv_redact rules;
	_Atomic uint64_t atoms[INV_REDACTION_ATOMS];
};

/* Call it when the library is loaded. */
void inv_redaction_init(ErlNifEnv *env);

/*
 * Writes a mark in the place of the term. Parameters and results as for
 * inv_encode_term, also of the functions below.
 */
bool inv_redact_mark(struct inv_encoder *e, ERL_NIF_TERM term) INV_COLD;

/* Returns true if the term, a part of the result of a match spec, is a value that
 * was redacted in the event: '#{password := P}' with the label P. */
bool inv_redact_was_marked(const struct inv_encoder *e,
			   ERL_NIF_TERM term) INV_COLD;
static inline bool inv_redact_is_again(const struct inv_encoder *e,
				       ERL_NIF_TERM term)
{
	return e->in_result && inv_redact_was_marked(e, term);
}

/*
 * Writes the shape of a term: marks in the place of numbers, binaries, strings
 * and atoms. Lists, tuples and maps remain, with their keys that are atoms and
 * the tags of tuples, and so do pids, ports, references and funs.
 */
bool inv_redact_shape(struct inv_encoder *e, ERL_NIF_TERM term, uint32_t depth);

/* Writes the reason of an exception as inv_redact_shape writes a term, but
 * keeps the VM's own reasons, such as badarg. */
bool inv_redact_reason(struct inv_encoder *e, ERL_NIF_TERM reason,
		       uint32_t depth);

/* Which parts of a tuple are redacted. */
struct inv_redact_tuple {
	inv_redact_set hidden;
	bool reason; /* the last element is a stack trace with a function that
		      * has a rule; if the first element is an atom, it is a
		      * tag, and all other elements are reasons of exceptions */
};

/* Sets *t to the parts of the tuple that the rules redact. */
void inv_redact_tuple(struct inv_encoder *e, const ERL_NIF_TERM *elements,
		      uint32_t arity, struct inv_redact_tuple *t);

/*
 * Return true if an element of the list, or a value of the map, is a stack
 * trace with a function that has a rule. Then the other elements or values are
 * written as reasons. In a list the stack trace can also be in a pair {Key,
 * Stack}. inv_redact_has_stack checks one element or value.
 */
bool inv_redact_list(struct inv_encoder *e, ERL_NIF_TERM list);
bool inv_redact_map(struct inv_encoder *e, ERL_NIF_TERM map);
bool inv_redact_has_stack(struct inv_encoder *e, ERL_NIF_TERM term);

/*
 * Returns true if the term seems to be passed, by a function such as
 * proc_lib:init_p/5 or gen:init_it/7, to a function with a rule for its
 * arguments. This is so in two cases: the term is a list after a module and a
 * function; or the term follows a module, and the rule is for the argument of
 * the module's init/1. before[1] is the element before the term, and before[0]
 * the element before that; 0: there is none.
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

/* Returns true if the rules redact the values of the key. */
bool inv_redact_is_key(struct inv_encoder *e, ERL_NIF_TERM key);

/*
 * Sets *call to the parts of a function's calls that are redacted; returns
 * call->any. The function is given as the term {M, F, Args} or {M, F, Arity}.
 */
bool inv_redact_function(struct inv_encoder *e, ERL_NIF_TERM mfa,
			 struct inv_redact_call *call);
bool inv_redact_mfa(struct inv_encoder *e, ERL_NIF_TERM module,
		    ERL_NIF_TERM function, uint32_t arity,
		    struct inv_redact_call *call);

#endif
