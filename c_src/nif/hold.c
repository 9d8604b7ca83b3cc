/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/hold.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/ring.h"

static _Atomic(int) held = -1;

static void hold(int fd)
{
	int before = atomic_exchange(&held, fd);

	if (before >= 0)
		close(before);
}

/*
 * Returns true if the VM has locked this file already, with another descriptor.
 * In this case the VM cannot lock the file again with `fd'.
 */
static bool is_held(int fd)
{
	int before = atomic_load(&held);
	struct stat a, b;

	return before >= 0 && fstat(before, &a) == 0 && fstat(fd, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/*
 * Appends a line to the file. A spooler that sweeps and finds the line
 * "locked", but the file unlocked, knows that the VM is dead (spool/place.h).
 * If the line is missing, the spooler only removes fewer files. So errors are
 * ignored.
 */
static void note(int fd, const char *line)
{
	if (write(fd, line, strlen(line)) < 0)
		return;
}

/*
 * Locks a file. The line "locked" is written after the lock is taken. So if a
 * spooler reads the line and the lock is free, the VM has ended. The lock of an
 * earlier file is released only if this file can be locked.
 */
static bool lock(const char *path)
{
	int fd = open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	bool held_before;

	if (fd < 0)
		return false;
	held_before = is_held(fd);
	if (!held_before && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		note(fd, "locked\n");
		hold(fd);
		return true;
	}
	if (!held_before)
		note(fd, "nolock\n");
	close(fd);
	return held_before;
}

ERL_NIF_TERM inv_hold(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	char path[INV_PATH_LEN];
	ErlNifBinary bin;

	(void)argc;
	if (!enif_inspect_binary(env, argv[0], &bin) ||
	    bin.size >= sizeof(path))
		return enif_make_badarg(env);
	memcpy(path, bin.data, bin.size);
	path[bin.size] = 0;
	if (bin.size == 0)
		hold(-1);
	return enif_make_atom(env,
			      bin.size == 0 || lock(path) ? "true" : "false");
}

void inv_hold_end(void)
{
	hold(-1);
}
