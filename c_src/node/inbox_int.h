/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_INBOX_INT_H
#define INV_NODE_INBOX_INT_H

#include <stdbool.h>

#include "node/inbox.h"

/*
 * The inbox from the connections' side.
 *
 * An item that answers a call which somebody waits for (inv_call) is `awaited':
 * it is for inv_inbox_await alone, and the descriptor does not tell of it.
 */

/* Puts an item from malloc, which the inbox then owns. */
void inv_inbox_put(struct inv_inbox *in, struct inv_mail *it);

/*
 * Waits up to ms for the awaited item of tag (tag 0: for CONNECTED), which out
 * then is.  When conn is lost before: its code and err; LOST stays where it
 * is.  INV_ETIME, err unset.
 */
int inv_inbox_await(struct inv_inbox *in, const struct inv_conn *conn,
		    uint64_t tag, int ms, struct inv_mail *out,
		    struct inv_err *err);

/* Drops all items of conn. */
void inv_inbox_drop(struct inv_inbox *in, const struct inv_conn *conn);

#endif
