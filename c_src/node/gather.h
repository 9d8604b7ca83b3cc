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
 * Many questions at once: each is sent with a function that takes an ask, then
 * one wait for the answers of all, from however many nodes.
 *
 *	struct inv_ask asks[2] = { 0 };
 *
 *	inv_session_ask(&asks[0], s0, INV_VERB_STATUS, ms);
 *	inv_session_ask(&asks[1], s1, INV_VERB_STATUS, ms);
 *	if (inv_gather(in, asks, 2, -1) == 0)
 *		for (i = 0; i < 2; i++)
 *			r = inv_session_got_status(&asks[i], &status[i], &err);
 *	inv_asks_release(asks, 2);
 *
 * A question that could not even be sent is done at once and has its error in
 * it, which the function that takes the answer returns: there is one place to
 * look for what went wrong.
 *
 * Whoever takes the mails himself (a loop over several descriptors) gives each
 * to inv_ask_mail.
 */
struct inv_ask {
	struct inv_conn *conn;
	uint64_t tag;
	bool done;
	int code;	      /* 0: mail is an ANSWER */
	struct inv_mail mail; /* owned */
	struct inv_err err;   /* of code */
};

/* Takes mail over if it is about this question: true, and mail is empty
 * (LOST is copied: it is about every question to its connection). */
bool inv_ask_mail(struct inv_ask *ask, struct inv_mail *mail);

/* Whether it waits for an answer. */
bool inv_ask_open(const struct inv_ask *ask);

/*
 * Takes mails out of in until all asks are done: 0; mails about anything else
 * are dropped.  INV_ECANCELLED when stop_fd (-1: none) is readable: it is
 * looked at, not read.  Every ask has a time limit of its own, and so has this.
 */
int inv_gather(struct inv_inbox *in, struct inv_ask *asks, size_t n,
	       int stop_fd);

/* The same for ms milliseconds at most, and whatever the user wants. */
void inv_gather_for(struct inv_inbox *in, struct inv_ask *asks, size_t n,
		    int ms);

/* Frees what the asks hold; all zero again.  An answer that comes later is
 * nobody's. */
void inv_asks_release(struct inv_ask *asks, size_t n);

#endif
