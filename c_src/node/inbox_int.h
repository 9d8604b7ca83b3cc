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

/*
 * For whoever waits for nodes: when to say so (inv_inbox_on_slow).
 *
 *	struct inv_lag p = inv_lag(in);
 *
 *	while (some are awaited) {
 *		inv_inbox_wait(in, stop_fd, inv_lag_ms(&p));
 *		if (inv_lag_ended(&p))
 *			... inv_lag_tell(&p, conn) for each of them
 */
struct inv_lag {
	struct inv_inbox *in;
	int64_t until; /* -1: no word is due */
};
struct inv_lag inv_lag(struct inv_inbox *in);
/* For poll: until a word is due; -1. */
int inv_lag_ms(const struct inv_lag *p);
/* True once. */
bool inv_lag_ended(struct inv_lag *p);
void inv_lag_tell(const struct inv_lag *p, const struct inv_conn *conn);

#endif
