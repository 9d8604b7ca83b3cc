/* SPDX-License-Identifier: Apache-2.0 */
#include "spool/brought.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "spool/watch.h"

#define DYING_MS 2000
#define LOOK_MS 20

/* A node that stops kills its processes first: then the owner is dead before
 * the VM is. */
static bool has_ended(const struct inv_ring_ctl *ctl)
{
	static const struct timespec look = { .tv_nsec = LOOK_MS * 1000000 };
	struct inv_watch vm;
	bool dead;

	inv_watch_open(&vm, ctl->vm_pid, ctl->vm_start);
	dead = inv_watch_is_dead(&vm);
	for (int i = 0; !dead && i < DYING_MS / LOOK_MS; i++) {
		nanosleep(&look, NULL);
		dead = inv_watch_is_dead(&vm);
	}
	inv_watch_close(&vm);
	return dead;
}

static void remove_in(const char *dir, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	if (n > 0 && (size_t)n < sizeof(path))
		unlink(path);
}

/* The log of a rotation has other names and stays. */
static void remove_log(const struct inv_ring_ctl *ctl)
{
	char path[sizeof(ctl->path)];
	char *slash;

	memcpy(path, ctl->path, sizeof(path));
	path[sizeof(path) - 1] = 0;
	unlink(path);
	slash = strrchr(path, '/');
	if (!slash || slash == path)
		return;
	*slash = 0;
	rmdir(path); /* which fails if there is more in it */
}

void inv_brought_remove(const struct inv_attached *mem, const char *dir,
			bool log)
{
	uint32_t state =
		atomic_load_explicit(&mem->ctl->state, memory_order_acquire);

	/* Whoever closed the tracer is there to tidy up. */
	if (state == INV_TRACER_CLOSED || !has_ended(mem->ctl))
		return;
	if (log)
		remove_log(mem->ctl);
	remove_in(dir, "inviso_tracer.so");
	remove_in(dir, "inviso_spool");
	remove_in(dir, "inviso_engine.so");
	rmdir(dir);
}
