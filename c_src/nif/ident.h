/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_IDENT_H
#define INV_NIF_IDENT_H

#include "nif/encode.h"

/*
 * Writes terms that name something: atoms, pids, ports, references, funs. An
 * atom, or a pid or port of this node, is defined once in each packet and then
 * written as a number. The name of another node is defined in the same way.
 * Parameters and results as for inv_encode_term.
 */
bool inv_ident_atom(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_ident_pid(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_ident_port(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_ident_ref(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_ident_fun(struct inv_encoder *e, ERL_NIF_TERM term);

/* Defines a node from kept terms (INV_KEPT_NODE), unless the packet has
 * already defined this node. */
bool inv_ident_node(struct inv_encoder *e, const uint8_t *def, uint32_t n);

/*
 * Sets *len to the length of an atom's name, which is written at `name' in UTF-8.
 * `name' has INV_IDENT_NAME bytes. Returns false if the term is not an atom.
 */
#define INV_IDENT_NAME (4 * 255)
bool inv_ident_name(ErlNifEnv *env, ERL_NIF_TERM atom, uint8_t *name,
		    uint32_t *len);

/*
 * Defines a function that the packet has not defined, and sets *number to its
 * dictionary number. module and function are atoms; arity is at
 * most 255. Returns false if the definition does not fit.
 */
bool inv_ident_function(struct inv_encoder *e, ERL_NIF_TERM module,
			ERL_NIF_TERM function, uint32_t arity,
			uint32_t *number);

#endif
