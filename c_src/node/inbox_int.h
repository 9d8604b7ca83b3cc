/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_INBOX_INT_H
#define INV_NODE_INBOX_INT_H

#include <stdbool.h>

#include "node/inbox.h"

/* The part of the inbox that connections use. */

/* Adds an item, which must be from malloc. The inbox owns it from then on. */
void inv_inbox_put(struct inv_inbox *in, struct inv_mail *it);

/* Drops all items of `conn'. */
void inv_inbox_drop(struct inv_inbox *in, const struct inv_conn *conn);

/*
 * A timer for functions that wait for nodes: the time at which to report slow
 * nodes (inv_inbox_on_slow).
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
	int64_t until; /* time of the report; -1: no report is due */
};
struct inv_lag inv_lag(struct inv_inbox *in);
/*
 * Returns the milliseconds until the report, for poll(2), or -1 if no report is
 * due.
 */
int inv_lag_ms(const struct inv_lag *p);
/* Returns true once, when the report is due. */
bool inv_lag_ended(struct inv_lag *p);
void inv_lag_tell(const struct inv_lag *p, const struct inv_conn *conn);

#endif
