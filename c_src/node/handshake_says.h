/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_HANDSHAKE_SAYS_H
#define INV_NODE_HANDSHAKE_SAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/name.h"

/*
 * What was heard from a node during a handshake, and what it means:
 *
 *	we: our name       it: status
 *			   it: challenge, with its name
 *	we: answer	   it: acknowledges, or closes: the cookie is wrong
 */
struct inv_handshake_says {
	bool connected;
	bool ended; /* the node closed the connection */
	int sys;    /* errno of what failed */
	size_t n;
	uint8_t bytes[1024];
};

/* The node sent n bytes; 0: it closed the connection. */
void inv_handshake_heard(struct inv_handshake_says *s, const void *bytes,
			 size_t n);

/* Whether the node closed the connection without saying why, after nothing or
 * after messages that make sense. */
bool inv_handshake_closed(const struct inv_handshake_says *s);

/*
 * Why it failed.  INV_EUNREACHABLE, INV_EREFUSED, INV_ELOST (cancelled);
 * INV_EBUSY: our name is taken.
 */
int inv_handshake_why(const struct inv_handshake_says *s,
		      const struct inv_node_name *node, unsigned port,
		      struct inv_err *err);

/*
 * The name that the node gave itself.  INV_EUNREACHABLE: it is not the one
 * that was asked for (under another host's name, or short instead of long).
 */
int inv_handshake_name(const struct inv_handshake_says *s,
		       const struct inv_node_name *asked,
		       struct inv_node_name *out, struct inv_err *err);

#endif
