/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_INBOX_H
#define INV_NODE_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * A queue of items from all connections of a program, with a descriptor for
 * poll(2). The threads of the connections add items; any thread can take items.
 */
struct inv_conn;
struct inv_inbox;

enum inv_mail_kind {
	INV_MAIL_CONNECTED = 1, /* `conn' is up, so requests can be sent */
	INV_MAIL_ANSWER,	/* the fields term and len have the answer to
				   request `tag' */
	/*
	 * There was no answer to request `tag' in time; err has the message. A
	 * later answer is dropped.
	 */
	INV_MAIL_TIMEOUT,
	/*
	 * The process to which request `tag' was sent does not exist, or has
	 * died; err has the message.
	 */
	INV_MAIL_GONE,
	/*
	 * `conn' failed to connect, or broke; err has the reason. This is the
	 * last item of `conn': its open requests get no items of their own.
	 */
	INV_MAIL_LOST,
};

/*
 * An item of the inbox. The thread that takes an item owns and releases it.
 *
 * `term' is the answer in the external format, without the version byte, so
 * ei_decode functions start at index 0.  These functions can be used safely,
 * because `term' is known to be one complete term of `len' bytes.
 */
struct inv_mail {
	enum inv_mail_kind kind;
	struct inv_conn *conn;
	uint64_t tag;
	const char *term;
	size_t len;
	struct inv_err err; /* code and text; code 0: no error */
	/* private */
	void *mem;
	struct inv_mail *next;
};

/* Returns NULL if there is no memory or descriptor; `err' has the reason. */
struct inv_inbox *inv_inbox_new(struct inv_err *err);

/* Frees the inbox. First close all connections that use it. NULL is allowed. */
void inv_inbox_free(struct inv_inbox *in);

/*
 * Returns a descriptor for poll(2), which is readable while the inbox has
 * items.  Do not read from it.
 */
int inv_inbox_fd(const struct inv_inbox *in);

/*
 * Takes the oldest item and returns 0. If the inbox is empty, waits up to `ms'
 * milliseconds for an item. Returns INV_END if there is still none.
 */
int inv_inbox_take(struct inv_inbox *in, int ms, struct inv_mail *out);

/*
 * Sets a function that tells the user about slow nodes. Each function in this
 * directory that waits for nodes calls `tell' once for each node that has not
 * answered after `ms' milliseconds.
 */
typedef void inv_slow(void *arg, const struct inv_conn *conn);
void inv_inbox_on_slow(struct inv_inbox *in, int ms, inv_slow *tell, void *arg);

/* Frees the contents of an item; the struct itself belongs to the caller. */
void inv_mail_release(struct inv_mail *it);

#endif
