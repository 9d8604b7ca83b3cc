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
 * The answer to a request must come within `ms' milliseconds; 0 or less means
 * 5000.
 */
struct inv_dest {
	/* a registered name on the node; NULL: `pid' is the destination */
	const char *name;
	erlang_pid pid;
};

/*
 * Queues a request and sets `*tag'. Later the inbox gets one item with this
 * tag: INV_MAIL_ANSWER, _TIMEOUT or _GONE. If the connection is lost before
 * that, the inbox gets only the connection's INV_MAIL_LOST. Returns 0,
 * INV_EBUSY (not connected yet), INV_EFULL (too many bytes wait to be sent),
 * INV_ENOMEM, or the error by which the connection was lost.
 */
int inv_conn_request(struct inv_conn *c, const struct inv_dest *to,
		     const struct inv_buf *request, int ms, uint64_t *tag,
		     struct inv_err *err);

/*
 * Like inv_conn_request, but calls module:function(args...) on the node; `args'
 * is a list.  The answer is the function's result or {badrpc, Reason}.
 */
int inv_conn_rex(struct inv_conn *c, const char *module, const char *function,
		 const struct inv_buf *args, int ms, uint64_t *tag,
		 struct inv_err *err);

#endif
