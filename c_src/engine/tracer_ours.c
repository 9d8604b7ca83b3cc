/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tracer_ours.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static ERL_NIF_TERM am_monotonic;
static ERL_NIF_TERM am_strict_monotonic;
static ERL_NIF_TERM am_timestamp;

/* The most files from which this VM may have loaded the library of
 * inviso_tracer. Each file is a library of its own. */
#define LIBRARIES_MAX 16

struct library {
	void *handle;
	inv_tracer_call *call;
	inv_tracer_holds *holds;
};

/* Only the engine's server uses this table; callbacks use struct inv_ours. */
static struct library libraries[LIBRARIES_MAX];

/* Sets the functions of the library. Returns false if it does not have them,
 * because it is of another version. */
static bool find_functions(struct library *l)
{
	void *call = dlsym(l->handle, INV_TRACER_CALL_NAME);
	void *holds = dlsym(l->handle, INV_TRACER_HOLDS_NAME);

	memcpy(&l->call, &call, sizeof(l->call));
	memcpy(&l->holds, &holds, sizeof(l->holds));
	return l->call && l->holds;
}

static struct inv_ours ours(const struct library *l, uint64_t handle)
{
	return (struct inv_ours){ .call = l->call,
				  .holds = l->holds,
				  .handle = handle };
}

int inv_ours_open(struct inv_ours *o, const char *path, uint64_t handle)
{
	struct library l = { .handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD) };
	int i;

	if (!l.handle)
		return -1;
	for (i = 0; i < LIBRARIES_MAX && libraries[i].handle; i++) {
		if (libraries[i].handle != l.handle)
			continue;
		dlclose(l.handle); /* the table has the library already, so one
				      of its two handles is enough */
		*o = ours(&libraries[i], handle);
		return 0;
	}
	if (i == LIBRARIES_MAX || !find_functions(&l)) {
		dlclose(l.handle);
		return -1;
	}
	libraries[i] = l;
	*o = ours(&l, handle);
	return 0;
}

void inv_ours_end(void)
{
	int i;

	for (i = 0; i < LIBRARIES_MAX && libraries[i].handle; i++)
		dlclose(libraries[i].handle);
	memset(libraries, 0, sizeof(libraries));
}

void inv_ours_init(ErlNifEnv *env)
{
	am_monotonic = enif_make_atom(env, "monotonic");
	am_strict_monotonic = enif_make_atom(env, "strict_monotonic");
	am_timestamp = enif_make_atom(env, "timestamp");
}

/*
 * Returns the kind of timestamp that the slot's session wants, or 0 if it wants
 * none. The tracer reads the clock itself.
 */
static ERL_NIF_TERM timestamp(const struct inv_message *m, uint32_t slot)
{
	if (inv_message_has(m, INV_FLAG_TIMESTAMP, slot))
		return am_timestamp;
	if (inv_message_has(m, INV_FLAG_STRICT, slot))
		return am_strict_monotonic;
	return inv_message_has(m, INV_FLAG_MONOTONIC, slot) ? am_monotonic : 0;
}

enum inv_tracer_took inv_ours_take(const struct inv_ours *o,
				   struct inv_message *m, uint32_t slot,
				   ERL_NIF_TERM value)
{
	const struct inv_tracer_event event = {
		.env = m->env,
		.tag = m->tag->atom,
		.tracee = m->tracee,
		.content = inv_message_content(m, slot),
		.extra = m->extra,
		.value = value,
		.timestamp = timestamp(m, slot),
		.scheduler = inv_message_has(m, INV_FLAG_SCHEDULER_ID, slot) ?
				     m->scheduler :
				     0,
		.time = &m->time,
	};

	return o->call(o->handle, &event);
}
