/* SPDX-License-Identifier: Apache-2.0 */
#include "log/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct inv_source_file {
	struct inv_source_file *next;
	int fd;
	const char *name; /* name of the source */
	uint64_t size;
	uint64_t good; /* bytes before this offset are read from the file; later
			* bytes are missing and are read as zeros */
	dev_t dev;
	ino_t ino;
};

/* The list of all open files. */
static struct inv_source_file *files;

/* --- opening -------------------------------------------------------------- */

/* Raises the limit of descriptors of this process to the maximum, because each
 * input needs a descriptor. Returns false if the limit is at the maximum
 * already. */
static bool more_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) ||
	    limit.rlim_cur >= limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_file(const char *path)
{
	/* O_NONBLOCK, because without it, open waits for the writer of a
	 * FIFO. */
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
	int fd = open(path, flags);

	if (fd < 0 && errno == EMFILE && more_descriptors())
		fd = open(path, flags);
	return fd;
}

/* Takes ownership of fd. After a failure, the caller closes *s, not fd. */
static int use_file(struct inv_source *s, int fd, const char *path,
		    struct inv_err *err)
{
	struct inv_source_file *f = calloc(1, sizeof(*f));
	struct stat st;

	s->file = f;
	if (!f) {
		close(fd);
		return inv_err_set(err, INV_ENOMEM, "%s: no memory", path);
	}
	f->fd = fd;
	f->name = s->name;
	f->next = files;
	files = f;
	if (fstat(fd, &st))
		return inv_err_sys(err, errno, "stat %s", path);
	if (!S_ISREG(st.st_mode))
		return inv_err_set(err, INV_EINVAL, "%s: %s", path,
				   S_ISDIR(st.st_mode) ?
					   "a directory; name the files in it" :
					   "not a regular file");
	s->size = f->size = f->good = (uint64_t)st.st_size;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return 0;
}

int inv_source_open(struct inv_source *s, const char *path, struct inv_err *err)
{
	int fd, rc;

	memset(s, 0, sizeof(*s));
	fd = open_file(path);
	if (fd < 0)
		return inv_err_sys(err, errno, "open %s", path);
	s->name = strdup(path);
	if (s->name) {
		rc = use_file(s, fd, path, err);
	} else {
		close(fd);
		rc = inv_err_set(err, INV_ENOMEM, "%s: no memory", path);
	}
	if (rc)
		inv_source_close(s);
	return rc;
}

int inv_source_memory(struct inv_source *s, const char *name, const void *p,
		      size_t size)
{
	memset(s, 0, sizeof(*s));
	s->name = strdup(name);
	if (!s->name)
		return INV_ENOMEM;
	s->data = p;
	s->size = size;
	return 0;
}

static void close_file(struct inv_source_file *f)
{
	struct inv_source_file **at = &files;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	close(f->fd);
	free(f);
}

void inv_source_close(struct inv_source *s)
{
	if (s->file)
		close_file(s->file);
	free(s->name);
	memset(s, 0, sizeof(*s));
}

bool inv_source_has(dev_t dev, ino_t ino)
{
	for (const struct inv_source_file *f = files; f; f = f->next)
		if (f->dev == dev && f->ino == ino)
			return true;
	return false;
}

/* --- reading -------------------------------------------------------------- */

static void set_good(struct inv_source_file *f, uint64_t off)
{
	if (off < f->good)
		f->good = off;
}

/* Reads n bytes at off. Returns the number of bytes that were read. It is less
 * than n if the file ends earlier or cannot be read. */
static size_t read_file(const struct inv_source_file *f, uint64_t off,
			uint8_t *out, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got =
			pread(f->fd, out + done, n - done, (off_t)(off + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

/* Copies n bytes at off to out, and zeros for missing bytes. After a byte was
 * missing once, that byte and all later bytes always count as missing, because
 * the file may have grown again with other bytes. */
static void copy_file(struct inv_source_file *f, uint64_t off, uint8_t *out,
		      size_t n)
{
	size_t wanted = n;
	size_t got;

	if (off >= f->good)
		wanted = 0;
	else if (n > f->good - off)
		wanted = (size_t)(f->good - off);
	got = read_file(f, off, out, wanted);
	if (got < wanted)
		set_good(f, off + got);
	memset(out + got, 0, n - got);
}

void inv_source_copy(const struct inv_source *s, uint64_t off, void *out,
		     size_t n)
{
	if (s->file)
		copy_file(s->file, off, out, n);
	else if (n)
		memcpy(out, s->data + (off - s->begin), n);
}

/* --- files that are truncated while they are read ------------------------- */

void inv_source_changed(const struct inv_source *s, uint64_t off)
{
	if (s->file)
		set_good(s->file, off);
}

void inv_source_tell_cuts(struct inv_notices *ns)
{
	for (struct inv_source_file *f = files; f; f = f->next) {
		struct stat st;

		/* The file may have been truncated after the last read. */
		if (!fstat(f->fd, &st))
			set_good(f, (uint64_t)st.st_size);
		if (f->good < f->size)
			inv_notice_damage(ns, f->name, f->good,
					  f->size - f->good,
					  "the file was cut, or its disk "
					  "failed, while it was read");
	}
}
