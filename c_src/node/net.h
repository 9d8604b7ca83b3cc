/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_NET_H
#define INV_NODE_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"

/*
 * How long a function may wait: until the deadline or, if that is earlier,
 * until the descriptor `cancel' is readable.
 */
struct inv_patience {
	int64_t until; /* deadline, compared with inv_mono_ms() */
	int cancel;    /* a descriptor; -1: the wait cannot be cancelled */
};

/*
 * Waits for poll(2) events on fd. Returns 0, INV_ETIME, or INV_ELOST
 * (cancelled).
 */
int inv_net_wait(int fd, short events, const struct inv_patience *p);

/* An IPv4 or IPv6 address, without a port. */
struct inv_addr {
	socklen_t len;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} sock;
};

/* Returns the loopback address of the family AF_INET or AF_INET6. */
struct inv_addr inv_addr_loopback(int family);

/* Sets `text' to the address in digits. */
void inv_addr_text(const struct inv_addr *a, char *text, size_t size);

/*
 * Sets `text' to the address from which this machine would send packets to
 * `to'. Sends nothing. Returns 0, or INV_EIO with errno set.
 */
int inv_addr_ours(const struct inv_addr *to, char *text, size_t size);

struct inv_tls;
struct inv_tls_link;

/*
 * A byte stream to a node or its epmd, with or without TLS. Only the functions
 * below use the socket.
 */
struct inv_wire {
	int fd;			  /* for poll(2); -1: closed */
	struct inv_tls_link *tls; /* NULL: without TLS */
};

/*
 * Connects.  Returns 0, INV_ETIME, INV_ELOST (cancelled), or INV_EIO with errno
 * in `*sys'.
 */
int inv_wire_open(struct inv_wire *w, const struct inv_addr *to, uint16_t port,
		  const struct inv_patience *p, int *sys);

/*
 * Connects to the first of `n' addresses that accepts the connection, and sets
 * `*at' to its index. Divides the time among the addresses, because an address
 * that does not answer would use up all of it. If no address accepts the
 * connection, returns what inv_wire_open returned for the last address.
 */
int inv_wire_open_any(struct inv_wire *w, const struct inv_addr *to, size_t n,
		      size_t *at, uint16_t port, const struct inv_patience *p,
		      int *sys);

/*
 * Begins TLS on a connected wire. The node's certificate must be for `host'.
 * Returns the codes of inv_tls_shake, INV_ETIME, INV_ELOST (cancelled),
 * INV_ENOMEM.
 */
int inv_wire_secure(struct inv_wire *w, struct inv_tls *tls, const char *host,
		    const struct inv_patience *p, struct inv_err *err);

/* Sets `text' to the peer's address in digits, or to "?" if it is unknown. */
void inv_wire_peer(const struct inv_wire *w, char *text, size_t size);

/* Returns true if TLS has failed, and sets err to the reason. */
bool inv_wire_why(const struct inv_wire *w, struct inv_err *err);

/* Returns true if received bytes wait in memory, where poll(2) does not see
 * them. */
bool inv_wire_has_bytes(const struct inv_wire *w);

/*
 * These functions send or receive without waiting. Before the call, `*n' is the
 * number of bytes at `bytes'; after the call, it is the number of bytes that
 * were sent or received. If inv_wire_recv sets `*n' to 0, the peer has ended
 * the stream. The functions return 0, INV_END if nothing can be sent or
 * received now, or INV_EIO with errno in `*sys'.
 */
int inv_wire_send(struct inv_wire *w, const void *bytes, size_t *n, int *sys);
int inv_wire_recv(struct inv_wire *w, void *bytes, size_t *n, int *sys);

/*
 * inv_wire_write and inv_wire_read wait until all `n' bytes are sent or
 * received. inv_wire_read_some waits until at least one byte is received, and
 * sets `*got' to the number of bytes, or to 0 at the end of the stream.  Return
 * codes are those of inv_wire_open, and INV_ETRUNCATED if the stream ended
 * before `n' bytes.
 */
int inv_wire_write(struct inv_wire *w, const void *bytes, size_t n,
		   const struct inv_patience *p, int *sys);
int inv_wire_read(struct inv_wire *w, void *bytes, size_t n,
		  const struct inv_patience *p, int *sys);
int inv_wire_read_some(struct inv_wire *w, void *bytes, size_t n, size_t *got,
		       const struct inv_patience *p, int *sys);

/*
 * inv_wire_finish ends the sending half of the stream; the peer still gets all
 * bytes that were sent. inv_wire_close closes the socket; it may be called
 * twice.
 */
void inv_wire_finish(struct inv_wire *w);
void inv_wire_close(struct inv_wire *w);

/*
 * Finds the addresses of `host', at most `max' of them: the IPv4 addresses
 * first, because almost all nodes listen on IPv4. Returns 0, INV_EUNREACHABLE
 * (there is no such host, or no answer in time), or INV_ELOST (cancelled).
 */
int inv_net_resolve(const char *host, struct inv_addr *addrs, size_t max,
		    size_t *n, const struct inv_patience *p,
		    struct inv_err *err);

#endif
