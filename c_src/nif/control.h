/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_CONTROL_H
#define INV_NIF_CONTROL_H

#include <erl_nif.h>

/*
 * NIFs for Erlang processes, such as keepers. Tracer callbacks never call them.
 * The stubs in inviso_tracer.erl document their arguments and results.
 */
ERL_NIF_TERM inv_control_open(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_offer(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_give(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_keeper(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_keepers(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_info(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_begin(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_spool(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_anchor(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_flush(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_filter(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_retire(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_quiet(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_end(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_free(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_deliver(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_credit(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_control_counts(ErlNifEnv *, int, const ERL_NIF_TERM[]);

#endif
