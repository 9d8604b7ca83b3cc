/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_IDENT_H
#define INV_NIF_IDENT_H

#include "nif/encode.h"

/*
 * Terms that name something: atoms, pids, ports, references, funs.  Those of
 * the node are words of their own, defined once a packet and then a number;
 * the name of another node likewise.  As inv_encode_term in all else.
 */
bool inv_ident_atom(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_ident_pid(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_ident_port(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_ident_ref(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_ident_fun(struct inv_encoder *e, ERL_NIF_TERM term);

#endif
