/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_HANDSHAKE_SAYS_H
#define INV_NODE_HANDSHAKE_SAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/endpoint.h"
#include "node/name.h"

/*
 * Records the messages of the node during a handshake, and explains failures.
 * The messages are:
 *
 *	command: its name	node: status
 *				node: challenge, with the node's name
 *	command: response	node: acknowledges; or closes the connection if
 *				the cookie is wrong
 */
struct inv_handshake_says {
	size_t head; /* bytes of a message's length: 2, or 4 with TLS */
	bool connected;
	bool ended; /* the node closed the connection */
	int sys;    /* errno of a failed system call */
	size_t n;
	uint8_t bytes[1024];
};

/*
 * Records `n' bytes from the node; n = 0 means that the node closed the
 * connection.
 */
void inv_handshake_heard(struct inv_handshake_says *s, const void *bytes,
			 size_t n);

/*
 * Returns true if the node closed the connection without giving a reason:
 * before its first message, after a status that accepts the command's name, or
 * after the challenge.
 */
bool inv_handshake_closed(const struct inv_handshake_says *s);

/* Returns true if the node has sent its challenge: if it then closes the
 * connection, the cookie is wrong. */
bool inv_handshake_challenged(const struct inv_handshake_says *s);

/*
 * Returns the code of a failed handshake and sets the message.  Codes:
 * INV_EUNREACHABLE, INV_EREFUSED, INV_ELOST (cancelled), INV_EBUSY (the
 * command's node name is in use).
 */
int inv_handshake_why(const struct inv_handshake_says *s,
		      const struct inv_endpoint *to, struct inv_err *err);

/*
 * Sets `*out' to the node's own name. Returns INV_EUNREACHABLE if this name
 * differs from `asked': it has another host name, or is a short name instead of
 * a long name. A node that was found by --dns can have another host name.
 */
int inv_handshake_name(const struct inv_handshake_says *s,
		       const struct inv_node_name *asked,
		       const struct inv_endpoint *to, struct inv_node_name *out,
		       struct inv_err *err);

#endif
