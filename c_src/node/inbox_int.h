/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_INBOX_INT_H
#define INV_NODE_INBOX_INT_H

#include <stdbool.h>

#include "node/inbox.h"

/* Functions of the inbox that only this directory uses: connections add and
 * drop items, and functions that wait for nodes use a timer. */

/* Adds an item, which must be from malloc. The inbox owns it from then on. */
void inv_inbox_put(struct inv_inbox *in, struct inv_mail *it);

/* Drops all items of `conn'. */
void inv_inbox_drop(struct inv_inbox *in, const struct inv_conn *conn);

/*
 * A timer for functions that wait for nodes. When the timer ends, such a
 * function calls the function that was set with inv_inbox_on_slow, once for
 * each node that has not answered.
 *
 *	struct inv_lag p = inv_lag(in);
 *
 *	while (waiting for nodes) {
 *		inv_inbox_wait(in, stop_fd, inv_lag_ms(&p));
 *		if (inv_lag_ended(&p))
 *			... inv_lag_tell(&p, conn) for each of these nodes
 */
struct inv_lag {
	struct inv_inbox *in;
	int64_t until; /* when the timer ends; -1: never, or it has ended */
};
struct inv_lag inv_lag(struct inv_inbox *in);
/*
 * Returns the milliseconds until the timer ends, for poll(2), or -1 if it does
 * not end any more.
 */
int inv_lag_ms(const struct inv_lag *p);
/* Returns true at the first call after the timer has ended, otherwise false. */
bool inv_lag_ended(struct inv_lag *p);
void inv_lag_tell(const struct inv_lag *p, const struct inv_conn *conn);

#endif
