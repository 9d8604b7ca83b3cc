/* SPDX-License-Identifier: Apache-2.0 */
#include "log/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map(struct inv_source *s, int fd, const char *path,
	       struct inv_err *err)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st))
		return inv_err_sys(err, errno, "stat %s", path);
	if (!S_ISREG(st.st_mode))
		return inv_err_set(err, INV_EINVAL, "%s: not a regular file",
				   path);
	s->size = (size_t)st.st_size;
	if (!s->size)
		return 0; /* mmap refuses a length of 0 */
	p = mmap(NULL, s->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return inv_err_sys(err, errno, "map %s", path);
	s->data = p;
	s->mapped = true;
	return 0;
}

int inv_source_open(struct inv_source *s, const char *path, struct inv_err *err)
{
	int fd, rc;

	memset(s, 0, sizeof(*s));
	/* Not blocking: a FIFO would wait for its writer. */
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
	union {
		const void *from;
		void *to;
	} p = { s->data };

	if (s->mapped)
		munmap(p.to, s->size);
	free(s->name);
	memset(s, 0, sizeof(*s));
}
