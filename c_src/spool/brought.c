/* SPDX-License-Identifier: Apache-2.0 */
#include "spool/brought.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "spool/place.h"
#include "spool/watch.h"

#define DYING_MS 2000
#define LOOK_MS 20

/* A node that stops kills its processes first: then the owner is dead before
 * the VM is. */
static bool has_ended(const struct inv_ring_ctl *ctl, int ms)
{
	static const struct timespec look = { .tv_nsec = LOOK_MS * 1000000 };
	struct inv_vm_watch vm;
	bool dead;

	inv_vm_watch_open(&vm, ctl->vm_pid, ctl->vm_start);
	dead = inv_vm_watch_is_dead(&vm);
	for (int i = 0; !dead && i < ms / LOOK_MS; i++) {
		nanosleep(&look, NULL);
		dead = inv_vm_watch_is_dead(&vm);
	}
	inv_vm_watch_close(&vm);
	return dead;
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
	int fd;

	/* A process that closed the tracer is there to tidy up, unless the VM
	 * has ended at the same moment. */
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
