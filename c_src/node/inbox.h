/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_INBOX_H
#define INV_NODE_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Where everything arrives that connections have to say: one queue for all
 * connections of a program, with a descriptor that can be polled beside the
 * terminal and signals.
 *
 * Connections put items in, from their threads; any thread takes them out.
 */
struct inv_conn;
struct inv_inbox;

enum inv_mail_kind {
	INV_MAIL_CONNECTED = 1, /* conn is up: requests may be sent */
	INV_MAIL_ANSWER,	/* to request tag: term, len */
	INV_MAIL_TIMEOUT,	/* request tag had no answer in its time; one
				   that comes later is dropped; err */
	INV_MAIL_GONE,		/* the process asked by tag is not there, or
				   died: no answer will come; err */
	INV_MAIL_LOST,		/* conn failed to connect, or is gone; err says
				   why.  The last item of conn: requests that
				   are open have no items of their own */
};

/*
 * Owned by who took it; to be released.
 *
 * term is the answer in the external format, without the leading version
 * byte: ei_decode functions begin at index 0.  It is one whole term, checked
 * to lie within its len bytes, so that they are safe on it.
 */
struct inv_mail {
	enum inv_mail_kind kind;
	struct inv_conn *conn;
	uint64_t tag;
	const char *term;
	size_t len;
	struct inv_err err; /* code and text; 0 where there is none */
	/* private */
	void *mem;
	bool awaited;
	struct inv_mail *next;
};

/* NULL: no memory or descriptors. */
struct inv_inbox *inv_inbox_new(struct inv_err *err);

/* All connections that use it are closed before.  NULL is let be. */
void inv_inbox_free(struct inv_inbox *in);

/* Readable while there are items; only for poll. */
int inv_inbox_fd(const struct inv_inbox *in);

/*
 * The oldest item; waits for one up to ms milliseconds (0: not at all).
 * 0; INV_END when there is none.
 */
int inv_inbox_take(struct inv_inbox *in, int ms, struct inv_mail *out);

/*
 * A word for people when a node lets wait: tell is called, by whoever waits for
 * nodes in this room, with each that has not answered for so long.  Once each
 * time that there is something to wait for.
 */
typedef void inv_slow(void *arg, const struct inv_conn *conn);
void inv_inbox_on_slow(struct inv_inbox *in, int ms, inv_slow *tell, void *arg);

/* Frees what out refers to; out itself is the caller's. */
void inv_mail_release(struct inv_mail *it);

#endif
