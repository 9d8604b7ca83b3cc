/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/hold.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "abi/ring.h"

static _Atomic(int) held = -1;

static void hold(int fd)
{
	int before = atomic_exchange(&held, fd);

	if (before >= 0)
		close(before);
}

/* The line follows the lock: where it is and the lock is not, the VM that had
 * it has ended. */
static int locked(const char *path)
{
	static const char line[] = "locked\n";
	const ssize_t len = sizeof(line) - 1;
	int fd = open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    write(fd, line, (size_t)len) == len)
		return fd;
	close(fd);
	return -1;
}

ERL_NIF_TERM inv_hold(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	char path[INV_PATH_LEN];
	ErlNifBinary bin;
	int fd = -1;

	(void)argc;
	if (!enif_inspect_binary(env, argv[0], &bin) ||
	    bin.size >= sizeof(path))
		return enif_make_badarg(env);
	memcpy(path, bin.data, bin.size);
	path[bin.size] = 0;
	if (bin.size > 0)
		fd = locked(path);
	hold(fd);
	return enif_make_atom(env, fd >= 0 || bin.size == 0 ? "true" : "false");
}

void inv_hold_end(void)
{
	hold(-1);
}
