/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_NET_H
#define INV_NODE_NET_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

/*
 * Sockets with a deadline.  None of these waits beyond it, and each stops when
 * cancel becomes readable.
 */
struct inv_patience {
	int64_t until; /* of inv_net_now */
	int cancel;    /* a descriptor, or -1 */
};

/* Monotonic, milliseconds. */
int64_t inv_net_now(void);
struct timespec inv_net_timespec(int64_t ms);

/*
 * Waits for events of poll(2) on fd.  0, INV_ETIME, INV_ELOST (cancelled).
 */
int inv_net_wait(int fd, short events, const struct inv_patience *p);

/*
 * A connected, non-blocking socket in *fd.  0, INV_ETIME, INV_ELOST; INV_EIO
 * and *sys.
 */
int inv_net_connect(const struct in_addr *to, uint16_t port,
		    const struct inv_patience *p, int *fd, int *sys);

/* All n bytes.  As above; a read INV_ETRUNCATED at the end of the stream. */
int inv_net_write(int fd, const void *bytes, size_t n,
		  const struct inv_patience *p, int *sys);
int inv_net_read(int fd, void *bytes, size_t n, const struct inv_patience *p,
		 int *sys);

/* What there is, up to n bytes: *got, 0 at the end of the stream. */
int inv_net_read_some(int fd, void *bytes, size_t n, size_t *got,
		      const struct inv_patience *p, int *sys);

/*
 * The IPv4 addresses of host, up to max.  INV_EUNREACHABLE: there is no such
 * host, or it has none, or that is not known in time; INV_ELOST.
 */
int inv_net_resolve(const char *host, struct in_addr *addrs, size_t max,
		    size_t *n, const struct inv_patience *p,
		    struct inv_err *err);

#endif
