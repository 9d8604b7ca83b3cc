/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_CALL_H
#define INV_NODE_CALL_H

#include <ei.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "node/conn.h"

/*
 * Sends requests over a connection, in the form of a gen_server's call.
 *
 * The caller encodes the request (node/encode.h). The functions copy the bytes;
 * the caller releases the buffer.
 *
 * Every request has a time limit `ms' for the answer; 0 or less means 5000.
 */
struct inv_dest {
	/* a registered name on the node; NULL: `pid' is the destination */
	const char *name;
	erlang_pid pid;
};

/*
 * Queues a request and sets `*tag'. Later the inbox gets one item with this
 * tag: ANSWER, TIMEOUT or GONE. If the connection is lost before that, there is
 * no such item. Returns 0, INV_EBUSY (not connected yet), INV_EFULL (too many
 * bytes wait to be sent), INV_ENOMEM, or the error by which the connection was
 * lost.
 */
int inv_conn_request(struct inv_conn *c, const struct inv_dest *to,
		     const struct inv_buf *request, int ms, uint64_t *tag,
		     struct inv_err *err);

/*
 * Like inv_conn_request, for a call of module:function(args...); `args' is a
 * list.  The answer is the function's result or {badrpc, Reason}.
 */
int inv_conn_rex(struct inv_conn *c, const char *module, const char *function,
		 const struct inv_buf *args, int ms, uint64_t *tag,
		 struct inv_err *err);

#endif
