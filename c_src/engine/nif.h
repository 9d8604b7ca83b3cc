/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_NIF_H
#define INV_ENGINE_NIF_H

#include <erl_nif.h>

#include "engine/edit.h"
#include "engine/lost.h"
#include "engine/noted.h"
#include "engine/tracer.h"

/*
 * Load, unload and the table of NIFs of the module inviso_engine, without the
 * callbacks (engine/event.h). Only the engine's server calls these NIFs.
 *
 * If the VM loads the library a second time (an upgrade), both instances share
 * the same static data.
 */

/* load_info has the maximum numbers of processes and ports in the VM. */
int inv_engine_load(ErlNifEnv *env, void **priv, ERL_NIF_TERM load_info);
void inv_engine_unload(ErlNifEnv *env, void *priv);

ERL_NIF_TERM inv_engine_start(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);
ERL_NIF_TERM inv_engine_cleaned(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[]);
ERL_NIF_TERM inv_engine_handle(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[]);
ERL_NIF_TERM inv_engine_tracer(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[]);
ERL_NIF_TERM inv_engine_session(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[]);

/* Rows of type ErlNifFunc. The string `at' is put in front of each function's
 * name in Erlang. */
/* clang-format off */
#define INV_ENGINE_FUNCTIONS(at) \
	{ at "start", 0, inv_engine_start, 0 }, \
	{ at "cleaned", 0, inv_engine_cleaned, 0 }, \
	{ at "handle", 1, inv_engine_handle, 0 }, \
	{ at "tracer", 2, inv_engine_tracer, 0 }, \
	{ at "session", 2, inv_engine_session, 0 }, \
	{ at "edit", 5, inv_engine_edit, 0 }, \
	{ at "profile_of", 1, inv_engine_profile_of, 0 }, \
	{ at "timed", 1, inv_engine_timed, 0 }, \
	{ at "timed", 2, inv_engine_timed, 0 }, \
	{ at "masks", 1, inv_engine_masks, 0 }, \
	{ at "tracer_of", 2, inv_engine_tracer_of, 0 }, \
	{ at "calls", 2, inv_engine_calls, 0 }, \
	{ at "changed", 1, inv_engine_changed, 0 }, \
	{ at "expected", 1, inv_engine_expected, 0 }, \
	{ at "know", 1, inv_engine_know, 0 }, \
	{ at "vacate", 2, inv_engine_vacate, 0 }, \
	{ at "unknown", 1, inv_engine_unknown, 0 }, \
	{ at "unknown", 2, inv_engine_unknown, 0 }, \
	{ at "quiet", 2, inv_engine_quiet, 0 }, \
	{ at "missed", 1, inv_engine_tracer_missed, 0 }, \
	{ at "lost", 0, inv_engine_lost, 0 }, \
	{ at "room", 3, inv_noted_room, 0 }, \
	{ at "plain", 4, inv_noted_plain, 0 }, \
	{ at "is_plain", 3, inv_noted_is_plain, 0 }, \
	{ at "count", 4, inv_noted_count, 0 }, \
	{ at "counted", 3, inv_noted_counted, 0 }
/* clang-format on */

#endif
