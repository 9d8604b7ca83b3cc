/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_IDENT_H
#define INV_NIF_IDENT_H

#include "nif/encode.h"

/*
 * Writes atoms, pids, ports, references and funs. An atom, and a pid or port of
 * this node, is defined once in each packet and then written as a number. The
 * name of another node is defined in the same way. The parameters and results
 * are those of inv_encode_term.
 */
bool inv_ident_atom(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_ident_pid(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_ident_port(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_ident_ref(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_ident_fun(struct inv_encoder *e, ERL_NIF_TERM term);

/* Defines a node in the packet, unless the packet has defined it already. `def'
 * is the node's definition in kept terms (INV_KEPT_NODE), of n bytes. */
bool inv_ident_node(struct inv_encoder *e, const uint8_t *def, uint32_t n);

/*
 * Writes an atom's name in UTF-8 to `name', which has INV_IDENT_NAME bytes, and
 * its length to *len. Returns false if the term is not an atom.
 */
#define INV_IDENT_NAME (4 * 255)
bool inv_ident_name(ErlNifEnv *env, ERL_NIF_TERM atom, uint8_t *name,
		    uint32_t *len);

/*
 * Defines a function that the packet has not defined yet, and sets *number to
 * its dictionary number. `module' and `function' are atoms; `arity' is at most
 * 255. Returns false if the definition does not fit into the packet.
 */
bool inv_ident_function(struct inv_encoder *e, ERL_NIF_TERM module,
			ERL_NIF_TERM function, uint32_t arity,
			uint32_t *number);

#endif
