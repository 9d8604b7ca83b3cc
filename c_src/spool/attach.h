/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_ATTACH_H
#define INV_SPOOL_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/ring.h"
#include "base/err.h"

/* Steps of attaching, in their order. */
enum inv_attach_step {
	INV_ATTACH_OPEN, /* the file, /proc/PID/fd/N, or the socket */
	INV_ATTACH_LOCK,
	INV_ATTACH_TURN, /* a predecessor has the lock */
	INV_ATTACH_MAP,
};

/*
 * The memory of a tracer, mapped and locked: nobody else drains it as long as
 * this is attached, and the kernel gives the lock back however we end.
 */
struct inv_attached {
	int fd;
	uint64_t len;
	struct inv_ring_ctl *ctl; /* the mapping */
	uint32_t n_rings;	  /* as it was when checked */
	uint32_t packet_bytes;
	enum inv_attach_step step; /* the one that failed */
};

/*
 * Three ways to it: descriptor number n of process pid; a file; a unix socket
 * from which one message brings the descriptor (SCM_RIGHTS), for a VM whose
 * /proc entry is closed to us.
 *
 * Waits wait_ms for a predecessor to leave: INV_EBUSY if it does not.
 * INV_EFORMAT, INV_EVERSION, INV_EDAMAGED: not a ring we can read.
 */
int inv_attach_proc(struct inv_attached *a, int pid, int n, int wait_ms,
		    struct inv_err *err);
int inv_attach_file(struct inv_attached *a, const char *path, int wait_ms,
		    struct inv_err *err);
int inv_attach_socket(struct inv_attached *a, const char *path, int wait_ms,
		      struct inv_err *err);

void inv_detach(struct inv_attached *a);

/* Whether the memory is a file, and has a name: it will still be there when
 * nobody has it open. */
bool inv_attach_is_file(const struct inv_attached *a);

/*
 * Removes the file that the memory is, if it is one: all that it held is in
 * the log.  Only if its name still means that very file.
 */
void inv_attach_remove(const struct inv_attached *a);

#endif
