/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_RECOVER_H
#define INV_SPOOL_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/ring.h"
#include "base/err.h"

/* What a recovery did. */
struct inv_recovered {
	char node[1024];
	char path[INV_PATH_LEN + 12]; /* of the file that was written */
	uint64_t n_events;	      /* put there now */
	uint64_t recorded;	      /* in all of the log */
	uint64_t produced;
	uint64_t dropped[INV_LOSS_COUNT];
};

/*
 * Empties the rings in the file at ring after the death of their VM and of
 * their spooler.  out NULL: goes on with the log that they were writing, which
 * must be where it was; else into a new file at out.
 *
 * INV_EBUSY: the VM lives, or a spooler does, or the VM was in another pid
 * namespace, so that this cannot be seen; force: it does not live there.
 */
int inv_recover(const char *ring, const char *out, bool force,
		struct inv_recovered *done, struct inv_err *err);

#endif
