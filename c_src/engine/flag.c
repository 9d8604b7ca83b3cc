/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/flag.h"

#include <stddef.h>
#include <stdint.h>

static const struct {
	const char *name;
	enum inv_flag flag;
	enum inv_kind kind;
} known[] = {
	{ "trace_status", INV_FLAG_NONE, INV_KIND_STATUS },
	{ "call", INV_FLAG_CALL, INV_KIND_CALL },
	{ "return_from", INV_FLAG_CALL, INV_KIND_RETURN },
	{ "exception_from", INV_FLAG_CALL, INV_KIND_EXCEPTION },
	{ "send", INV_FLAG_SEND, INV_KIND_OTHER },
	{ "send_to_non_existing_process", INV_FLAG_SEND, INV_KIND_OTHER },
	{ "receive", INV_FLAG_RECEIVE, INV_KIND_OTHER },
	{ "spawn", INV_FLAG_PROCS, INV_KIND_OTHER },
	{ "spawned", INV_FLAG_PROCS, INV_KIND_SPAWNED },
	{ "exit", INV_FLAG_PROCS, INV_KIND_OTHER },
	{ "link", INV_FLAG_PROCS, INV_KIND_OTHER },
	{ "unlink", INV_FLAG_PROCS, INV_KIND_OTHER },
	{ "getting_linked", INV_FLAG_PROCS, INV_KIND_OTHER },
	{ "getting_unlinked", INV_FLAG_PROCS, INV_KIND_OTHER },
	{ "register", INV_FLAG_PROCS, INV_KIND_OTHER },
	{ "unregister", INV_FLAG_PROCS, INV_KIND_OTHER },
	{ "in", INV_FLAG_RUNNING, INV_KIND_OTHER },
	{ "out", INV_FLAG_RUNNING, INV_KIND_OTHER },
	{ "in_exiting", INV_FLAG_EXITING, INV_KIND_OTHER },
	{ "out_exiting", INV_FLAG_EXITING, INV_KIND_OTHER },
	{ "out_exited", INV_FLAG_EXITING, INV_KIND_OTHER },
	{ "gc_minor_start", INV_FLAG_GC, INV_KIND_OTHER },
	{ "gc_minor_end", INV_FLAG_GC, INV_KIND_OTHER },
	{ "gc_major_start", INV_FLAG_GC, INV_KIND_OTHER },
	{ "gc_major_end", INV_FLAG_GC, INV_KIND_OTHER },
	{ "gc_max_heap_size", INV_FLAG_GC, INV_KIND_OTHER },
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

/* Open addressing; an atom's number is in the word above its six low bits. */
#define PLACES 128
static struct inv_tag tags[PLACES];

static size_t place(ERL_NIF_TERM atom)
{
	return (size_t)(atom >> 6) % PLACES;
}

void inv_tags_init(ErlNifEnv *env)
{
	size_t at;
	size_t i;

	for (i = 0; i < PLACES; i++)
		tags[i].atom = 0;
	for (i = 0; i < KNOWN; i++) {
		ERL_NIF_TERM atom = enif_make_atom(env, known[i].name);

		for (at = place(atom); tags[at].atom != 0;)
			at = (at + 1) % PLACES;
		tags[at].flag = known[i].flag;
		tags[at].kind = known[i].kind;
		tags[at].atom = atom;
	}
}

const struct inv_tag *inv_tag_find(ERL_NIF_TERM atom)
{
	size_t at;

	for (at = place(atom); tags[at].atom != 0; at = (at + 1) % PLACES)
		if (tags[at].atom == atom)
			return &tags[at];
	return NULL;
}
