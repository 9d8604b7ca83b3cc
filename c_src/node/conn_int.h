/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_CONN_INT_H
#define INV_NODE_CONN_INT_H

#include <pthread.h>
#include <stdbool.h>

#include "base/buf.h"
#include "node/conn.h"
#include "node/frame.h"
#include "node/inbox_int.h"
#include "node/net.h"
#include "term/cursor.h"

/*
 * Private to the files of a connection: conn.c (opening and closing),
 * requests.c (open requests), loop.c (the thread), deliver.c (items for the
 * inbox).
 */

/* A request that waits for its answer. */
struct inv_request {
	struct inv_request *next;
	uint64_t tag;
	int64_t until; /* deadline, compared with inv_mono_ms */
	int ms;
	/* true: the connection's own thread has sent the request, to get the
	 * node's tick time */
	bool own;
	struct inv_dest to;
	char name[];
};

enum inv_conn_state {
	INV_CONN_CONNECTING = 0,
	INV_CONN_UP,
	INV_CONN_LOST,
};

struct inv_conn {
	/* constant after inv_conn_open */
	struct inv_node_name asked;
	struct inv_conn_opts opts;  /* a copy of the caller's options,
				       without the cookie, which is in
				       `cookie' */
	struct inv_node_at at;	    /* opts.at points to it */
	struct inv_err unreachable; /* opts.unreachable points to it */
	char cookie[256];
	struct inv_inbox *in;
	pthread_t thread;
	int wake; /* eventfd: there is data to send, or the thread must end */

	/* set before CONNECTED, and constant after that */
	erlang_pid self;
	struct inv_node_name peer;
	char address[INET6_ADDRSTRLEN];

	pthread_mutex_t lock; /* protects the fields from here to `user' */
	enum inv_conn_state state;
	bool named;	    /* `peer' has the node's name */
	struct inv_err why; /* the error that the item LOST reports */
	bool closing;
	struct inv_buf queue; /* complete frames that the thread has not
				 taken for sending yet */
	struct inv_request *requests;
	uint64_t last_tag;
	void *user;

	bool brought; /* set and read only by the caller's thread; see
			 inv_conn_set_brought */

	/* used only by the connection's thread */
	/*
	 * the LOST item, allocated at the start, so that losing the connection
	 * needs no memory
	 */
	struct inv_mail *last_words;
	struct inv_wire wire;
	struct inv_buf sending;
	size_t sent;
	uint8_t head[4];
	size_t head_got;
	struct inv_buf body;
	size_t body_len;
	int64_t heard; /* when data from the node came last */
	int64_t spoke; /* when data was sent to the node last */
	/* when the node stopped reading what is sent; 0: it reads */
	int64_t stuck;
	int64_t tick_ms; /* the node's net_ticktime */
	struct inv_cursor cursor;
};

/* Runs the connection's thread.  `conn' is a struct inv_conn. */
void *inv_conn_run(void *conn);

/* A request's destination and contents; borrowed. */
struct inv_question {
	const struct inv_dest *to;
	const void *term;
	size_t len;
	int ms;
	bool own;
};

/*
 * Functions for the open requests. They all take the connection's lock.
 * inv_request_add queues a request and stores its tag.
 */
int inv_request_add(struct inv_conn *c, const struct inv_question *ask,
		    uint64_t *tag, struct inv_err *err);
/*
 * Removes the request with this tag and returns it, or NULL if there is none.
 * Ends its monitor, unless the monitored process is dead (`gone').
 */
struct inv_request *inv_request_take(struct inv_conn *c, uint64_t tag,
				     bool gone);
/*
 * Removes a request whose deadline has passed and returns it. If there is none,
 * returns NULL and sets `*next' to the time of the next check.
 */
struct inv_request *inv_request_expired(struct inv_conn *c, int64_t now,
					int64_t *next);
void inv_request_drop_all(struct inv_conn *c);

/*
 * Put items of the connection's thread into the inbox. Return 0 or INV_ENOMEM;
 * inv_deliver_lost cannot fail.
 */
int inv_deliver_connected(struct inv_conn *c, struct inv_err *err);
int inv_deliver_answer(struct inv_conn *c, const struct inv_dist_frame *f,
		       const struct inv_request *q, struct inv_err *err);
int inv_deliver_gone(struct inv_conn *c, const struct inv_dist_frame *f,
		     const struct inv_request *q, struct inv_err *err);
int inv_deliver_timeout(struct inv_conn *c, const struct inv_request *q,
			struct inv_err *err);
void inv_deliver_lost(struct inv_conn *c, int r, const struct inv_err *why);

/* Wakes the thread up. */
void inv_conn_wake(struct inv_conn *c);

#endif
