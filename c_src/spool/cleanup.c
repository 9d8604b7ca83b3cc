/* SPDX-License-Identifier: Apache-2.0 */
#include "spool/cleanup.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "spool/place.h"
#include "spool/watch.h"

#define DYING_MS 2000
#define LOOK_MS 20

/*
 * Returns true if the VM has ended, or ends within ms milliseconds. When a node
 * stops, its Erlang processes die first. So the VM may still run when the
 * tracer's owner is dead.
 */
static bool has_ended(const struct inv_ring_ctl *ctl, int ms)
{
	struct inv_vm_watch vm;
	bool dead;

	inv_vm_watch_open(&vm, ctl->vm_pid, ctl->vm_start);
	dead = inv_vm_watch_is_dead(&vm);
	for (int i = 0; !dead && i < ms / LOOK_MS; i++) {
		inv_sleep_ms(LOOK_MS);
		dead = inv_vm_watch_is_dead(&vm);
	}
	inv_vm_watch_close(&vm);
	return dead;
}

/* Removes the log's file. The files of a log with rotation have other names,
 * and are not removed. */
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
	rmdir(path); /* fails if the directory has other files */
}

void inv_place_cleanup(const struct inv_attached *mem, const char *dir,
		       bool log)
{
	uint32_t state =
		atomic_load_explicit(&mem->ctl->state, memory_order_acquire);
	int fd;

	/*
	 * If the tracer was closed, the VM was alive at that time. If the VM is
	 * still alive, an Erlang process in it (the guard) will remove the
	 * files. So do not wait until the VM ends.
	 */
	if (!has_ended(mem->ctl, state == INV_TRACER_CLOSED ? 0 : DYING_MS))
		return;
	if (log)
		remove_log(mem->ctl);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (inv_place_empty(fd))
		rmdir(dir);
	close(fd);
}
