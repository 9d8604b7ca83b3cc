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
 * Records the node's messages during a handshake, and explains from them why a
 * handshake failed. The messages of both sides are:
 *
 *	command: its name	node: status
 *				node: challenge, with the node's name
 *	command: response	node: acknowledges; or closes the connection if
 *				the cookie is wrong
 */
struct inv_handshake_says {
	size_t head; /* how many bytes the length of a message has: 2, or 4 with
			TLS */
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
 * after its challenge.
 */
bool inv_handshake_closed(const struct inv_handshake_says *s);

/* Returns true if the node has sent its challenge. If the node closes the
 * connection afterwards, the cookie is wrong. */
bool inv_handshake_challenged(const struct inv_handshake_says *s);

/*
 * Returns the code of a failed handshake and sets the message.  Codes:
 * INV_EUNREACHABLE, INV_EREFUSED, INV_ELOST (cancelled), INV_EBUSY (the
 * command's node name is in use).
 */
int inv_handshake_why(const struct inv_handshake_says *s,
		      const struct inv_endpoint *to, struct inv_err *err);

/*
 * Sets `*out' to the node's own name. Returns INV_EREFUSED if the node gave no
 * name that can be read. Returns INV_EUNREACHABLE if the node's name differs
 * from `asked': for example, the hosts differ, or only one of the names is
 * long. But the hosts may differ if the user gave no host, or if --dns found
 * the node. A node that --dns found may have any name if `asked' has no part
 * before the @.
 */
int inv_handshake_name(const struct inv_handshake_says *s,
		       const struct inv_node_name *asked,
		       const struct inv_endpoint *to, struct inv_node_name *out,
		       struct inv_err *err);

#endif
