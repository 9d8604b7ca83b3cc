/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/flag.h"

#include <stddef.h>
#include <stdint.h>

struct known {
	const char *name;
	enum inv_kind kind;
	enum inv_flag flag, another, of_port;
};

#define ROW(name, kind, flag, another, of_port)                             \
	{                                                                   \
		name, INV_KIND_##kind, INV_FLAG_##flag, INV_FLAG_##another, \
			INV_FLAG_##of_port                                  \
	}
#define PROCESS(name, kind, flag) ROW(name, kind, flag, flag, NONE)

static const struct known known[] = {
	ROW("trace_status", STATUS, NONE, NONE, NONE),
	PROCESS("call", CALL, CALL),
	PROCESS("return_from", RETURN, CALL),
	PROCESS("exception_from", EXCEPTION, CALL),
	PROCESS("return_to", RETURN_TO, RETURN_TO),
	ROW("send", OTHER, SEND, SEND, SEND),
	ROW("send_to_non_existing_process", OTHER, SEND, SEND, SEND),
	ROW("receive", OTHER, RECEIVE, RECEIVE, RECEIVE),
	PROCESS("spawn", SPAWN, PROCS),
	PROCESS("spawned", SPAWNED, PROCS),
	PROCESS("exit", OTHER, PROCS),
	PROCESS("link", LINK, PROCS),
	PROCESS("unlink", OTHER, PROCS),
	ROW("getting_linked", LINKED, PROCS, PROCS, PORTS),
	ROW("getting_unlinked", OTHER, PROCS, PROCS, PORTS),
	ROW("register", OTHER, PROCS, PROCS, PORTS),
	ROW("unregister", OTHER, PROCS, PROCS, PORTS),
	ROW("open", OPEN, NONE, NONE, PORTS),
	ROW("closed", OTHER, NONE, NONE, PORTS),
	ROW("in", OTHER, RUNNING, RUNNING_PROCS, RUNNING_PORTS),
	ROW("out", OTHER, RUNNING, RUNNING_PROCS, RUNNING_PORTS),
	PROCESS("in_exiting", OTHER, EXITING),
	PROCESS("out_exiting", OTHER, EXITING),
	PROCESS("out_exited", OTHER, EXITING),
	PROCESS("gc_minor_start", OTHER, GC),
	PROCESS("gc_minor_end", OTHER, GC),
	PROCESS("gc_major_start", OTHER, GC),
	PROCESS("gc_major_end", OTHER, GC),
	PROCESS("gc_max_heap_size", OTHER, GC),
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

/*
 * A hash table of the tags, with open addressing. The lowest six bits of an
 * atom's term are the type tag; the number of the atom is above them.
 */
#define PLACES 128
static struct inv_engine_tag tags[PLACES];

static size_t place(ERL_NIF_TERM atom)
{
	return (size_t)(atom >> 6) % PLACES;
}

static const char *const flag_names[INV_FLAGS] = {
	[INV_FLAG_CALL] = "call",
	[INV_FLAG_SEND] = "send",
	[INV_FLAG_RECEIVE] = "receive",
	[INV_FLAG_PROCS] = "procs",
	[INV_FLAG_RUNNING] = "running",
	[INV_FLAG_EXITING] = "exiting",
	[INV_FLAG_GC] = "garbage_collection",
	[INV_FLAG_RETURN_TO] = "return_to",
	[INV_FLAG_RUNNING_PROCS] = "running_procs",
	[INV_FLAG_RUNNING_PORTS] = "running_ports",
	[INV_FLAG_PORTS] = "ports",
	[INV_FLAG_SCHEDULER_ID] = "scheduler_id",
	[INV_FLAG_SILENT] = "silent",
	[INV_FLAG_ARITY] = "arity",
	[INV_FLAG_TIMESTAMP] = "timestamp",
	[INV_FLAG_STRICT] = "strict_monotonic_timestamp",
	[INV_FLAG_MONOTONIC] = "monotonic_timestamp",
	[INV_FLAG_ON_SPAWN] = "set_on_spawn",
	[INV_FLAG_ON_FIRST_SPAWN] = "set_on_first_spawn",
	[INV_FLAG_ON_LINK] = "set_on_link",
	[INV_FLAG_ON_FIRST_LINK] = "set_on_first_link",
};
static ERL_NIF_TERM flags[INV_FLAGS];

static void make_flags(ErlNifEnv *env)
{
	size_t i;

	for (i = 0; i < INV_FLAGS; i++)
		flags[i] = enif_make_atom(env, flag_names[i]);
}

enum inv_flag inv_flag_find(ERL_NIF_TERM atom)
{
	size_t i;

	for (i = 0; i < INV_FLAGS && flags[i] != atom;)
		i++;
	return (enum inv_flag)i;
}

void inv_engine_tags_init(ErlNifEnv *env)
{
	size_t at;
	size_t i;

	make_flags(env);
	for (i = 0; i < PLACES; i++)
		tags[i].atom = 0;
	for (i = 0; i < KNOWN; i++) {
		ERL_NIF_TERM atom = enif_make_atom(env, known[i].name);

		for (at = place(atom); tags[at].atom != 0;)
			at = (at + 1) % PLACES;
		tags[at].kind = known[i].kind;
		tags[at].flag = known[i].flag;
		tags[at].another = known[i].another;
		tags[at].of_port = known[i].of_port;
		tags[at].atom = atom;
	}
}

const struct inv_engine_tag *inv_engine_tag_find(ERL_NIF_TERM atom)
{
	size_t at;

	for (at = place(atom); tags[at].atom != 0; at = (at + 1) % PLACES)
		if (tags[at].atom == atom)
			return &tags[at];
	return NULL;
}
