/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tracer_ours.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static ERL_NIF_TERM am_monotonic;
static ERL_NIF_TERM am_strict_monotonic;
static ERL_NIF_TERM am_timestamp;

/* One for each file from which inviso_tracer was loaded in this VM. */
#define LIBRARIES_MAX 16

struct library {
	void *handle;
	inv_tracer_call *call;
};

/* Only the server uses these; callbacks use inv_ours.call. */
static struct library libraries[LIBRARIES_MAX];

static inv_tracer_call *find_call(void *handle)
{
	void *symbol = dlsym(handle, INV_TRACER_CALL_NAME);
	inv_tracer_call *call;

	memcpy(&call, &symbol, sizeof(call));
	return call;
}

int inv_ours_open(struct inv_ours *o, const char *path, uint64_t handle)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	int i;

	if (!library)
		return -1;
	for (i = 0; i < LIBRARIES_MAX && libraries[i].handle; i++) {
		if (libraries[i].handle != library)
			continue;
		dlclose(library); /* it was already open; undoes this dlopen */
		*o = (struct inv_ours){ libraries[i].call, handle };
		return 0;
	}
	*o = (struct inv_ours){ find_call(library), handle };
	if (i == LIBRARIES_MAX || !o->call) {
		dlclose(library);
		return -1;
	}
	libraries[i] = (struct library){ library, o->call };
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
 * Returns the kind of timestamp that the session wants, or 0 if it wants none.
 * The tracer reads the clock itself.
 */
static ERL_NIF_TERM timestamp(const struct inv_message *m, uint32_t slot)
{
	if (inv_message_has(m, INV_FLAG_TIMESTAMP, slot))
		return am_timestamp;
	if (inv_message_has(m, INV_FLAG_STRICT, slot))
		return am_strict_monotonic;
	return inv_message_has(m, INV_FLAG_MONOTONIC, slot) ? am_monotonic : 0;
}

bool inv_ours_take(const struct inv_ours *o, const struct inv_message *m,
		   uint32_t slot, ERL_NIF_TERM value)
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
	};

	return o->call(o->handle, &event);
}
