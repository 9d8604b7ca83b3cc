/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tracer_ours.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* One for each file that the tracer was loaded from in this VM's life. */
#define LIBRARIES_MAX 16

struct library {
	void *handle;
	inv_tracer_call *call;
};

/* Of the server: callbacks have the function. */
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
		dlclose(library); /* it is held already */
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
