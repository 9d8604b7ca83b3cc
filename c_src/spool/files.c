/* SPDX-License-Identifier: Apache-2.0 */
#include "spool/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define PREDECESSOR_MS 200

/* How long to wait until the spooler of an earlier log has ended. If the tracer
 * of that log was closed just now, the spooler is still writing the last
 * events. */
#define ENDING_MS 2000

void inv_files_name(const struct inv_files *fs, uint32_t number,
		    char name[INV_FILE_NAME_LEN])
{
	if (fs->rotates)
		snprintf(name, INV_FILE_NAME_LEN, "%s.%u", fs->path, number);
	else
		snprintf(name, INV_FILE_NAME_LEN, "%s", fs->path);
}

/*
 * Locks a log file. A spooler that writes the file has it locked until it
 * closes the file or dies. The kernel releases the locks of a killed spooler
 * one after another, and the lock on the ring may be released before the lock
 * on the log. So this function waits up to wait_ms milliseconds for the lock.
 * If the file system has no locks, the function succeeds.
 */
static int lock(int fd, const char *name, int wait_ms, struct inv_err *err)
{
	uint64_t end = inv_mono_ns() + (uint64_t)wait_ms * 1000000;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return 0;
		if (inv_mono_ns() >= end) {
			inv_err_set(err, INV_EBUSY,
				    "%s: another spooler writes it", name);
			if (err)
				err->sys = EBUSY;
			return INV_EBUSY;
		}
		inv_sleep_ms(5);
	}
	return 0;
}

static int remove_open(int fd, const char *name, struct inv_err *err)
{
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return inv_err_sys(err, errno, "fstat %s", name);
	if (!S_ISREG(st.st_mode))
		return inv_err_set(err, INV_EINVAL, "%s: not a regular file",
				   name);
	if (st.st_uid != geteuid())
		return inv_err_set(err, INV_EINVAL,
				   "%s: not a file of this user", name);
	r = lock(fd, name, 0, err);
	if (r < 0)
		return r;
	if (unlink(name) < 0 && errno != ENOENT)
		return inv_err_sys(err, errno, "unlink %s", name);
	return 0;
}

static int remove_name(const char *name, struct inv_err *err)
{
	int r, fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return errno == ENOENT ? 0 :
					 inv_err_sys(err, errno, "%s", name);
	r = remove_open(fd, name, err);
	close(fd);
	return r;
}

/* Returns true if the file begins with the head of a log file, and this head
 * has the uuid of this log. */
static bool is_ours(const struct inv_files *fs, int fd)
{
	struct inv_log_head head;

	return pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	       memcmp(head.magic, INV_LOG_MAGIC, sizeof(head.magic)) == 0 &&
	       memcmp(head.uuid, fs->uuid, sizeof(head.uuid)) == 0;
}

static bool is_empty(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size == 0;
}

static bool is_leftover(const struct inv_files *fs, const char *name,
			enum inv_leftover leftover)
{
	bool is;
	int fd;

	if (leftover == INV_LEFTOVER_NONE)
		return false;
	fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	is = is_empty(fd) || (leftover == INV_LEFTOVER_OURS && is_ours(fs, fd));
	close(fd);
	return is;
}

int inv_files_create(const struct inv_files *fs, uint32_t number,
		     enum inv_leftover leftover, struct inv_err *err)
{
	char name[INV_FILE_NAME_LEN];
	int fd, sys, tries;
	int r;

	inv_files_name(fs, number, name);
	for (tries = 0;; tries++) {
		fd = open(name,
			  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  0600);
		if (fd >= 0)
			break;
		sys = errno;
		if (sys != EEXIST || tries > 0 ||
		    !is_leftover(fs, name, leftover))
			return inv_err_sys(err, sys, "create %s", name);
		r = remove_name(name, err);
		if (r < 0)
			return r;
	}
	if (lock(fd, name, 0, err) < 0) { /* another program has locked the
					     file */
		close(fd);
		return INV_EBUSY;
	}
	return fd;
}

int inv_files_reopen(const struct inv_files *fs, uint32_t number, uint64_t *len,
		     struct inv_err *err)
{
	char name[INV_FILE_NAME_LEN];
	struct stat st;
	int fd, r;

	inv_files_name(fs, number, name);
	fd = open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return inv_err_sys(err, errno, "open %s", name);
	if (fstat(fd, &st) < 0)
		r = inv_err_sys(err, errno, "fstat %s", name);
	else if (S_ISREG(st.st_mode) && st.st_size == 0)
		r = inv_err_set(err, INV_ETRUNCATED, "%s: empty", name);
	else if (!S_ISREG(st.st_mode) || !is_ours(fs, fd))
		r = inv_err_set(err, INV_EFORMAT, "%s: not a file of this log",
				name);
	else
		r = lock(fd, name, PREDECESSOR_MS, err);
	if (r < 0) {
		close(fd);
		return r;
	}
	*len = (uint64_t)st.st_size;
	return fd;
}

int inv_files_remove(const struct inv_files *fs, uint32_t number,
		     struct inv_err *err)
{
	char name[INV_FILE_NAME_LEN];

	inv_files_name(fs, number, name);
	return is_leftover(fs, name, INV_LEFTOVER_OURS) ?
		       remove_name(name, err) :
		       0;
}

/* Returns true if the name `entry' is `base', a dot and digits. */
static bool is_numbered(const char *entry, const char *base)
{
	size_t n = strlen(base);

	if (strncmp(entry, base, n) != 0 || entry[n] != '.')
		return false;
	entry += n + 1;
	return *entry && strspn(entry, "0123456789") == strlen(entry);
}

/* Returns true if the file `name' is empty, or is a file of this log or of
 * another log. */
static bool is_of_a_log(const char *name)
{
	int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char magic[sizeof(((struct inv_log_head *)NULL)->magic)];
	struct stat st;
	bool is;

	if (fd < 0)
		return false;
	is = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	     st.st_uid == geteuid() &&
	     (st.st_size == 0 ||
	      (pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, INV_LOG_MAGIC, sizeof(magic)) == 0));
	close(fd);
	return is;
}

/* Waits up to ENDING_MS until no spooler is writing the file. */
static int await_writer(const char *name, struct inv_err *err)
{
	int r, fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return 0;
	r = lock(fd, name, ENDING_MS, err);
	close(fd);
	return r;
}

/*
 * Calls `each' for every file path.<digits> that belongs to a log or is empty.
 * Other files with such names are left out: they can belong to other programs,
 * such as run_erl.
 */
static int each_numbered(const struct inv_files *fs,
			 int (*each)(const char *name, struct inv_err *err),
			 struct inv_err *err)
{
	char dir[INV_PATH_LEN], name[INV_PATH_LEN + 257];
	const char *base = strrchr(fs->path, '/');
	struct dirent *e;
	int r = 0;
	DIR *d;

	if (!base)
		return inv_err_set(err, INV_EINVAL, "%s: not absolute",
				   fs->path);
	base++;
	snprintf(dir, sizeof(dir), "%.*s", (int)(base - fs->path), fs->path);
	d = opendir(dir);
	if (!d)
		return inv_err_sys(err, errno, "%s", dir);
	while (r == 0 && (e = readdir(d)) != NULL) {
		if (!is_numbered(e->d_name, base))
			continue;
		snprintf(name, sizeof(name), "%s%s", dir, e->d_name);
		if (is_of_a_log(name))
			r = each(name, err);
	}
	closedir(d);
	return r;
}

/* Removes all files path.<digits>. If a spooler is writing one of them, removes
 * no file: a spooler locks only its newest file, and the other files may belong
 * to the same log. */
static int clear_numbered(const struct inv_files *fs, struct inv_err *err)
{
	int r = each_numbered(fs, await_writer, err);

	return r < 0 ? r : each_numbered(fs, remove_name, err);
}

static int clear_one(const char *name, struct inv_err *err)
{
	int r = await_writer(name, err);

	return r < 0 ? r : remove_name(name, err);
}

int inv_files_clear(const struct inv_files *fs, struct inv_err *err)
{
	return fs->rotates ? clear_numbered(fs, err) : clear_one(fs->path, err);
}
