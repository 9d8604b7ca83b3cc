/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_RECOVER_H
#define INV_SPOOL_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/ring.h"
#include "base/err.h"

/* What a recovery has done. */
struct inv_recovered {
	char node[1024];
	char path[INV_PATH_LEN + 12]; /* path of the file that was written */
	uint64_t n_events;	      /* events written by this recovery */
	uint64_t recorded;	      /* events in the whole log, after the
					 recovery */
	uint64_t produced;
	uint64_t dropped[INV_LOSS_COUNT];
};

/*
 * Writes the events that are in the ring file `ring' to the log, after the VM
 * and its spooler have died. If out is NULL, continues the log that the spooler
 * was writing, which must be at its old path; otherwise writes a new file at
 * out.
 *
 * Returns INV_EBUSY if the VM or a spooler is alive. It also returns INV_EBUSY
 * if the VM was in another pid namespace, where this program cannot see whether
 * the VM is alive. But if `force' is true, a VM in another pid namespace is
 * assumed to be dead.
 */
int inv_recover(const char *ring, const char *out, bool force,
		struct inv_recovered *done, struct inv_err *err);

#endif
