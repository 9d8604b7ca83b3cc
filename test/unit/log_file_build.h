/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TEST_LOG_FILE_BUILD_H
#define INV_TEST_LOG_FILE_BUILD_H

/* Reads the same bytes from a file and from memory, and compares the
 * results. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit/log_collect.h"

/* Creates a file without a name, in memory, that contains these bytes. Returns
 * its descriptor, and sets `path' to a path by which it can be opened. */
static inline int file_of(const void *p, size_t n, char path[64])
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), n);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* Adds the file to the inputs. The file's name in notices is x, like the name
 * of an input of collect_one. */
static inline int collect_file(struct collected *c, const char *path)
{
	struct inv_source src;
	size_t n = strlen(path);

	assert_int_equal(inv_source_open(&src, path, &c->err), 0);
	snprintf(src.name, n, "x");
	return inv_inputs_add_source(&c->inputs, &src, NULL, &c->err);
}

static inline void assert_same(const struct collected *a,
			       const struct collected *b)
{
	assert_string_equal(a->said, b->said);
	assert_int_equal(a->notices.n_damages, b->notices.n_damages);
	assert_int_equal(a->last_damage, b->last_damage);
	assert_int_equal(a->rotated, b->rotated);
	assert_int_equal(a->n, b->n);
	if (a->n)
		assert_memory_equal(a->got, b->got, a->n * sizeof(*a->got));
}

/* Returns the number of items. */
static inline size_t assert_read_alike(const void *p, size_t n)
{
	struct collected memory, file;
	char path[64];
	int fd = file_of(p, n, path);
	size_t n_items;
	int rc;

	collect_init(&memory);
	collect_init(&file);
	rc = collect_add(&memory, "x", p, n);
	assert_int_equal(collect_file(&file, path), rc);
	if (!rc) {
		collect_run(&memory);
		collect_run(&file);
	}
	assert_same(&memory, &file);
	n_items = memory.n;
	collect_release(&memory);
	collect_release(&file);
	close(fd);
	return n_items;
}

#endif
