/* SPDX-License-Identifier: Apache-2.0 */
#include "base/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A directory entry, as getdents64(2) returns it. This file does not use
 * readdir(3), because a signal handler must not call it. */
struct entry {
	uint64_t inode;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static void remove_at(int dir, const char *name, int depth);

static void empty(int fd, int depth)
{
	_Alignas(struct entry) char buf[4096];
	bool removed = true;

	/* If entries are removed while a directory is read, the read can skip
	 * other entries. So the directory is read again from its start, until a
	 * whole read has removed nothing. */
	while (removed) {
		long n;

		removed = false;
		if (lseek(fd, 0, SEEK_SET) < 0)
			return;
		while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
			for (long at = 0; at < n;) {
				const struct entry *e =
					(const void *)(buf + at);

				at += e->len;
				if (!strcmp(e->name, ".") ||
				    !strcmp(e->name, ".."))
					continue;
				remove_at(fd, e->name, depth);
				removed |= faccessat(fd, e->name, F_OK,
						     AT_SYMLINK_NOFOLLOW) != 0;
			}
	}
}

static void remove_at(int dir, const char *name, int depth)
{
	int fd;

	if (!unlinkat(dir, name, 0) || (errno != EISDIR && errno != EPERM) ||
	    !depth)
		return;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	empty(fd, depth - 1);
	close(fd);
	unlinkat(dir, name, AT_REMOVEDIR);
}

void inv_remove(const char *path)
{
	int before = errno;

	remove_at(AT_FDCWD, path, INV_REMOVE_DEPTH);
	errno = before;
}
