/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_ATTACH_H
#define INV_SPOOL_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/ring.h"
#include "base/err.h"

/* Steps of attaching, in order. */
enum inv_attach_step {
	INV_ATTACH_OPEN, /* opens the file, /proc/PID/fd/N, or the socket */
	INV_ATTACH_LOCK,
	INV_ATTACH_TURN, /* waits for another spooler that has the lock */
	INV_ATTACH_MAP,
};

/*
 * The memory of a tracer, mapped and locked. While a program has the memory
 * attached, no other program drains it. The kernel releases the lock when the
 * program ends, even if it is killed.
 */
struct inv_attached {
	int fd;
	uint64_t len;
	struct inv_ring_ctl *ctl; /* the mapped memory */
	uint32_t n_rings;	  /* number of rings, as it was when the memory
				     was checked */
	uint32_t packet_bytes;
	enum inv_attach_step step; /* the step that failed */
};

/*
 * Three ways to attach: to descriptor n of process pid; to a file; or to a unix
 * socket, on which the VM sends the descriptor in a message (SCM_RIGHTS). The
 * socket is for a VM whose /proc entry this program cannot read.
 *
 * If another spooler has the lock, the functions wait up to wait_ms
 * milliseconds for it to end, and return INV_EBUSY if it does not end.
 * INV_EFORMAT, INV_EVERSION, INV_EDAMAGED: the memory is not a mapping that
 * this version can read.
 */
int inv_attach_proc(struct inv_attached *a, int pid, int n, int wait_ms,
		    struct inv_err *err);
int inv_attach_file(struct inv_attached *a, const char *path, int wait_ms,
		    struct inv_err *err);
int inv_attach_socket(struct inv_attached *a, const char *path, int wait_ms,
		      struct inv_err *err);

void inv_detach(struct inv_attached *a);

/*
 * Returns true if the memory is a file with a name, and not a memfd. Such a
 * file still exists after all programs have closed it.
 */
bool inv_attach_is_file(const struct inv_attached *a);

/*
 * Deletes the file of the memory. Call it when all events are in the log. Does
 * nothing for a memfd, or if another file now has this path.
 */
void inv_attach_remove(const struct inv_attached *a);

#endif
