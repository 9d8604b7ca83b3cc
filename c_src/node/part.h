/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_PART_H
#define INV_NODE_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * A file that is on its way: NAME.part until it is whole.
 *
 * It is locked while it is open, and can be continued by another process when
 * this one is gone.  Only one's own plain files are opened, no link is
 * followed, and nothing is written over.
 */
struct inv_part {
	int dir;
	int fd;
	char name[256]; /* of the whole one */
	char part[256];
	uint64_t size; /* bytes that are there */
};

/*
 * In the directory `dir', a descriptor that is borrowed.  0: p is open, and
 * has size bytes from an earlier time; INV_END: the whole file is there with
 * `whole' bytes.  INV_EBUSY (it is there with another size; somebody else is
 * at it), INV_EIO, INV_ETOOBIG (the name).
 */
int inv_part_open(struct inv_part *p, int dir, const char *prefix,
		  const char *name, uint64_t whole, struct inv_err *err);

/* The last len bytes, which are there: INV_EIO. */
int inv_part_tail(const struct inv_part *p, void *buf, size_t len,
		  struct inv_err *err);

/* Begins anew. */
int inv_part_reset(struct inv_part *p, struct inv_err *err);
int inv_part_append(struct inv_part *p, const void *bytes, size_t len,
		    struct inv_err *err);

/* It is whole: on the disk, and under its name. */
int inv_part_finish(struct inv_part *p, struct inv_err *err);

/* What is there stays.  A released one (fd -1) is let be. */
void inv_part_close(struct inv_part *p);

#endif
