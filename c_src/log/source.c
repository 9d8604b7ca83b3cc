/* SPDX-License-Identifier: Apache-2.0 */
#include "log/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct inv_source_map {
	struct inv_source_map *next;
	const uint8_t *data;
	size_t size;
	const char *name; /* name of the source */
	dev_t dev;
	ino_t ino;
	volatile size_t good; /* length up to which the bytes are those of the
				 file */
};

/* All open maps, for the handler of SIGBUS. */
static struct inv_source_map *maps;

/* Casts away const for mmap and munmap, which do not write to the memory. */
static void *writable(const void *p)
{
	union {
		const void *from;
		void *to;
	} u = { p };

	return u.to;
}

static int map(struct inv_source *s, int fd, const char *path,
	       struct inv_err *err)
{
	struct inv_source_map *m;
	struct stat st;
	void *p;

	if (fstat(fd, &st))
		return inv_err_sys(err, errno, "stat %s", path);
	if (!S_ISREG(st.st_mode))
		return inv_err_set(err, INV_EINVAL, "%s: %s", path,
				   S_ISDIR(st.st_mode) ?
					   "a directory; name the files in it" :
					   "not a regular file");
	s->size = (size_t)st.st_size;
	if (!s->size)
		return 0; /* mmap refuses a length of 0 */
	m = calloc(1, sizeof(*m));
	if (!m)
		return inv_err_set(err, INV_ENOMEM, "%s: no memory", path);
	p = mmap(NULL, s->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED) {
		free(m);
		return inv_err_sys(err, errno, "map %s", path);
	}
	m->data = s->data = p;
	m->size = m->good = s->size;
	m->name = s->name;
	m->dev = st.st_dev;
	m->ino = st.st_ino;
	m->next = maps;
	s->map = maps = m;
	return 0;
}

static void unmap(struct inv_source_map *m)
{
	struct inv_source_map **at = &maps;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	munmap(writable(m->data), m->size);
	free(m);
}

int inv_source_open(struct inv_source *s, const char *path, struct inv_err *err)
{
	int fd, rc;

	memset(s, 0, sizeof(*s));
	/* Non-blocking, because opening a FIFO would wait for its writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return inv_err_sys(err, errno, "open %s", path);
	s->name = strdup(path);
	if (!s->name)
		rc = inv_err_set(err, INV_ENOMEM, "%s: no memory", path);
	else
		rc = map(s, fd, path, err);
	close(fd);
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

void inv_source_close(struct inv_source *s)
{
	if (s->map)
		unmap(s->map);
	free(s->name);
	memset(s, 0, sizeof(*s));
}

bool inv_source_has(dev_t dev, ino_t ino)
{
	for (const struct inv_source_map *m = maps; m; m = m->next)
		if (m->dev == dev && m->ino == ino)
			return true;
	return false;
}

/* --- files that are truncated while they are read ------------------------- */

static void set_good(struct inv_source_map *m, size_t off)
{
	if (off < m->good)
		m->good = off;
}

/* Runs in a signal handler. */
bool inv_source_patch(const void *p)
{
	uintptr_t at = (uintptr_t)p;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	for (struct inv_source_map *m = maps; m; m = m->next) {
		size_t off = at - (uintptr_t)m->data;

		if (at < (uintptr_t)m->data || off >= m->size)
			continue;
		off -= off % page;
		/* Replaces all bytes up to the end, even if the file grew
		 * again: its new bytes would not continue the old ones. */
		if (mmap(writable(m->data + off), m->size - off, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			 0) == MAP_FAILED)
			return false;
		set_good(m, off);
		return true;
	}
	return false;
}

void inv_source_changed(const struct inv_source *s, size_t off)
{
	if (s->map)
		set_good(s->map, off);
}

void inv_source_tell_cuts(struct inv_notices *ns)
{
	for (struct inv_source_map *m = maps; m; m = m->next) {
		struct stat st;

		/* Truncation within the last page raises no signal. */
		if (!stat(m->name, &st) && st.st_dev == m->dev &&
		    st.st_ino == m->ino && (uint64_t)st.st_size < m->good)
			m->good = (size_t)st.st_size;
		if (m->good < m->size)
			inv_notice_damage(ns, m->name, m->good,
					  m->size - m->good,
					  "the file was cut, or its disk "
					  "failed, while it was read");
	}
}
