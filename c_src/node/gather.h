/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_GATHER_H
#define INV_NODE_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/conn.h"
#include "node/inbox.h"

/*
 * Sends many requests at once.  The caller sends each request by a function
 * inv_…_ask; then one call waits for all answers, from any number of nodes.
 *
 *	struct inv_ask asks[2] = { 0 };
 *
 *	inv_session_ask(&asks[0], s0, INV_VERB_STATUS, ms);
 *	inv_session_ask(&asks[1], s1, INV_VERB_STATUS, ms);
 *	if (inv_gather(in, asks, 2, -1) == 0)
 *		for (i = 0; i < 2; i++)
 *			r = inv_session_status_got(&asks[i], &status[i], &err);
 *	inv_asks_release(asks, 2);
 *
 * If a request cannot be sent, its ask is done at once, and inv_…_got returns
 * the error. So inv_…_ask returns nothing, and callers check only the result of
 * inv_…_got.
 *
 * Instead of calling inv_gather, a caller may take the mails from the inbox
 * itself, for example in a loop that also polls other descriptors. Then the
 * caller must pass each mail to inv_ask_mail.
 */
struct inv_ask {
	struct inv_conn *conn;
	uint64_t tag;
	bool done;
	int code;	      /* 0: `mail' has the answer; otherwise the error's
				 code */
	struct inv_mail mail; /* owned */
	struct inv_err err;   /* the error's message */
	struct inv_ask_time {
		uint64_t real_ns; /* CLOCK_REALTIME */
		uint64_t mono_ns; /* CLOCK_MONOTONIC */
	} sent, answered;	  /* only INV_VERB_CLOCK sets `sent' */
};

/*
 * If `mail' answers this ask, moves the contents of `mail' to the ask and
 * returns true. A mail INV_MAIL_LOST concerns all asks of its connection, so
 * its contents are copied and not moved.
 */
bool inv_ask_mail(struct inv_ask *ask, struct inv_mail *mail);

/* Returns true if the ask waits for an answer. */
bool inv_ask_open(const struct inv_ask *ask);

/*
 * Takes mails from the inbox until all asks are done, and drops mails that
 * belong to none of them. Returns 0, or INV_ECANCELLED if the descriptor
 * `stop_fd' is readable (-1: no descriptor); does not read from it. Returns in
 * bounded time, because every ask has a time limit.
 */
int inv_gather(struct inv_inbox *in, struct inv_ask *asks, size_t n,
	       int stop_fd);

/* Like inv_gather, but returns after at most ms milliseconds, and has no
 * `stop_fd'. */
void inv_gather_for(struct inv_inbox *in, struct inv_ask *asks, size_t n,
		    int ms);

/*
 * Frees the contents of the asks and sets them to zero. Answers that come later
 * are dropped.
 */
void inv_asks_release(struct inv_ask *asks, size_t n);

#endif
