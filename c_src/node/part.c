/* SPDX-License-Identifier: Apache-2.0 */
#include "node/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const struct inv_part *p, const char *what, struct inv_err *err)
{
	return inv_err_sys(err, errno, "%s %s", what, p->part);
}

static int make_names(struct inv_part *p, const char *prefix, const char *name,
		      struct inv_err *err)
{
	int n = snprintf(p->name, sizeof(p->name), "%s%s", prefix, name);
	int m = snprintf(p->part, sizeof(p->part), "%s%s.part", prefix, name);

	if (n < 0 || m < 0 || (size_t)m >= sizeof(p->part))
		return inv_err_set(err, INV_ETOOBIG, "%s%s: too long a name",
				   prefix, name);
	return 0;
}

static int look_for_whole(const struct inv_part *p, uint64_t whole,
			  struct inv_err *err)
{
	struct stat st;

	if (fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 :
					 inv_err_sys(err, errno, "%s", p->name);
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size == whole)
		return INV_END;
	return inv_err_set(err, INV_EBUSY,
			   "%s exists already, and is another file", p->name);
}

/* Creates the part, or opens an existing one. */
static int open_part(const struct inv_part *p)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(p->dir, p->part, flags | O_CREAT | O_EXCL, 0600);

	if (fd < 0 && errno == EEXIST)
		fd = openat(p->dir, p->part, flags);
	return fd;
}

/*
 * Locks the part. Then checks that the name NAME.part still means this file:
 * another program may have completed and renamed the file before this
 * program locked it.
 */
static int lock(const struct inv_part *p, struct stat *st, struct inv_err *err)
{
	struct stat now;

	if (flock(p->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return inv_err_set(err, INV_EBUSY,
				   "%s: another command is fetching it",
				   p->part);
	if (fstat(p->fd, st) < 0)
		return fail(p, "stat", err);
	if (!S_ISREG(st->st_mode) || st->st_uid != geteuid() ||
	    st->st_nlink > 1)
		return inv_err_set(err, INV_EBUSY,
				   "%s exists, and is not a file of this "
				   "user's fetch",
				   p->part);
	if (fstatat(p->dir, p->part, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
	    now.st_ino != st->st_ino || now.st_dev != st->st_dev)
		return inv_err_set(err, INV_EBUSY,
				   "%s: another command has just fetched it",
				   p->part);
	return 0;
}

int inv_part_open(struct inv_part *p, int dir, const char *prefix,
		  const char *name, uint64_t whole, struct inv_err *err)
{
	struct stat st = { 0 };
	int r;

	memset(p, 0, sizeof(*p));
	p->dir = dir;
	p->fd = -1;
	r = make_names(p, prefix, name, err);
	if (r == 0)
		r = look_for_whole(p, whole, err);
	if (r != 0)
		return r;
	p->fd = open_part(p);
	if (p->fd < 0)
		return fail(p, "create", err);
	r = lock(p, &st, err);
	if (r < 0) {
		inv_part_close(p);
		return r;
	}
	p->size = (uint64_t)st.st_size;
	return p->size > whole ? inv_part_reset(p, err) : 0;
}

int inv_part_tail(const struct inv_part *p, void *buf, size_t len,
		  struct inv_err *err)
{
	uint8_t *to = buf;
	off_t at = (off_t)(p->size - len);

	while (len > 0) {
		ssize_t n = pread(p->fd, to, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n < 0 ? errno : EIO;
			return fail(p, "read", err);
		}
		to += n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int inv_part_reset(struct inv_part *p, struct inv_err *err)
{
	p->size = 0;
	return ftruncate(p->fd, 0) < 0 ? fail(p, "cut", err) : 0;
}

int inv_part_append(struct inv_part *p, const void *bytes, size_t len,
		    struct inv_err *err)
{
	const uint8_t *from = bytes;

	while (len > 0) {
		ssize_t n = pwrite(p->fd, from, len, (off_t)p->size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(p, "write", err);
		from += n;
		len -= (size_t)n;
		p->size += (uint64_t)n;
	}
	return 0;
}

/*
 * Renames the part to NAME. Fails if NAME was created meanwhile. But if the
 * file system does not support this check, NAME is overwritten.
 */
static int give_name(const struct inv_part *p)
{
	if (renameat2(p->dir, p->part, p->dir, p->name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	return renameat(p->dir, p->part, p->dir, p->name);
}

int inv_part_finish(struct inv_part *p, struct inv_err *err)
{
	if (fsync(p->fd) < 0)
		return fail(p, "write", err);
	if (give_name(p) < 0)
		return fail(p, "rename", err);
	/* Sync the name, too. On some file systems this fails, which does no
	 * harm. */
	(void)fsync(p->dir);
	inv_part_close(p);
	return 0;
}

void inv_part_close(struct inv_part *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}
