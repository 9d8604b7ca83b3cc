/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_FLAG_H
#define INV_ENGINE_FLAG_H

#include <erl_nif.h>
#include <stdint.h>

/*
 * The flags of a traced process or port, as a session may set them, in the
 * order in which inviso_engine_flags numbers them.
 */
enum inv_flag {
	INV_FLAG_CALL,
	INV_FLAG_SEND,
	INV_FLAG_RECEIVE,
	INV_FLAG_PROCS,
	INV_FLAG_RUNNING,
	INV_FLAG_EXITING,
	INV_FLAG_GC,
	INV_FLAG_RETURN_TO,
	INV_FLAG_RUNNING_PROCS,
	INV_FLAG_RUNNING_PORTS,
	INV_FLAG_PORTS,
	INV_FLAG_SCHEDULER_ID,
	INV_FLAG_SILENT,
	INV_FLAG_ARITY,
	INV_FLAG_TIMESTAMP,
	INV_FLAG_STRICT,
	INV_FLAG_MONOTONIC,
	INV_FLAG_ON_SPAWN,
	INV_FLAG_ON_FIRST_SPAWN,
	INV_FLAG_ON_LINK,
	INV_FLAG_ON_FIRST_LINK,
	INV_FLAGS,
	INV_FLAG_NONE = INV_FLAGS,
	/*
	 * Not a flag: the session had set_on_first_spawn or set_on_first_link
	 * on the process, the flag was cleared after the first spawn or link,
	 * and the session has no other flag on the process.
	 */
	INV_FLAG_USED_UP
};

/* The set of all flags, as bits. */
#define INV_FLAGS_ALL ((UINT32_C(1) << INV_FLAGS) - 1)

/* The kinds of events that the engine handles in ways of their own. Events with
 * other tags are INV_KIND_OTHER. */
enum inv_kind {
	INV_KIND_OTHER,
	INV_KIND_CALL,
	INV_KIND_RETURN,    /* return_from */
	INV_KIND_EXCEPTION, /* exception_from */
	INV_KIND_RETURN_TO,
	INV_KIND_SPAWN,
	INV_KIND_SPAWNED,
	INV_KIND_LINK,
	INV_KIND_LINKED, /* getting_linked */
	INV_KIND_OPEN,
	INV_KIND_STATUS /* trace_status, by which the VM asks the callback
			 * enabled/3 whether the process is still traced */
};

struct inv_engine_tag {
	ERL_NIF_TERM atom;
	enum inv_kind kind;
	enum inv_flag flag;    /* the VM makes the event for a process that has
				  this flag */
	enum inv_flag another; /* a second flag with the same effect */
	enum inv_flag of_port; /* the VM makes the event for a port that has
				  this flag */
};

void inv_engine_tags_init(ErlNifEnv *env);

/* Returns INV_FLAG_NONE if the atom is not the name of a flag. */
enum inv_flag inv_flag_find(ERL_NIF_TERM atom);

/* Returns NULL if the engine does not know the tag. */
const struct inv_engine_tag *inv_engine_tag_find(ERL_NIF_TERM atom);

#endif
