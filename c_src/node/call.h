/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_CALL_H
#define INV_NODE_CALL_H

#include <ei.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "node/conn.h"

/*
 * Requests over a connection, in the form of a gen_server's call.
 *
 * Terms are encoded by the caller into an ei_x_buff, without a version byte
 * (ei_x_new, not ei_x_new_with_version; with one is understood, too).  They
 * are copied; the buffer stays the caller's.
 *
 * ms is a limit for the answer, which every request has; 0 and less mean 5000.
 */
struct inv_dest {
	const char *name; /* registered on the node; NULL: */
	erlang_pid pid;
};

/*
 * Queues a request.  Its answer comes as an item of the inbox, under *tag:
 * ANSWER, TIMEOUT or GONE; none when the connection is lost meanwhile.
 * INV_EBUSY (not up yet), INV_EFULL (too much waits to be sent), INV_ENOMEM,
 * or why the connection was lost.
 */
int inv_conn_request(struct inv_conn *c, const struct inv_dest *to,
		     const ei_x_buff *request, int ms, uint64_t *tag,
		     struct inv_err *err);

/* The same for a function of the node: module:function(args...), args being a
 * list.  The answer is its result, or {badrpc, Reason}: inv_rex_check. */
int inv_conn_rex(struct inv_conn *c, const char *module, const char *function,
		 const ei_x_buff *args, int ms, uint64_t *tag,
		 struct inv_err *err);

/* INV_EREMOTE with the reason in words when answer is {badrpc, Reason}; else
 * 0. */
int inv_rex_check(const struct inv_mail *answer, struct inv_err *err);

/*
 * The same, waiting for the answer; items of others stay in the inbox.
 * 0: answer is an ANSWER, to be released.  Else nothing is to be released:
 * INV_ETIME, INV_EREMOTE (the process is not there; {badrpc, _}), and what
 * inv_conn_request and a LOST give.
 */
int inv_call(struct inv_conn *c, const struct inv_dest *to,
	     const ei_x_buff *request, int ms, struct inv_mail *answer,
	     struct inv_err *err);
int inv_call_rex(struct inv_conn *c, const char *module, const char *function,
		 const ei_x_buff *args, int ms, struct inv_mail *answer,
		 struct inv_err *err);

#endif
