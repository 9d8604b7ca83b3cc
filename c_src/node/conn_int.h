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
 * Declarations for the four files that implement connections: conn.c (opening
 * and closing), requests.c (requests that wait for their answers), loop.c (the
 * thread), deliver.c (items for the inbox).
 */

/* A request that waits for its answer. */
struct inv_request {
	struct inv_request *next;
	uint64_t tag;
	int64_t until; /* deadline, compared with inv_mono_ms */
	int ms;
	/* True: the connection's thread itself has sent the request, which asks
	 * for the node's tick time. */
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
	/* The following fields do not change after inv_conn_open. */
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

	/* The following fields are set before the item CONNECTED, and then do
	 * not change. */
	erlang_pid self;
	struct inv_node_name peer;
	char address[INET6_ADDRSTRLEN];

	pthread_mutex_t lock; /* protects the fields from here to `user' */
	enum inv_conn_state state;
	bool named;	    /* `peer' has the node's name */
	struct inv_err why; /* the error that the item LOST reports */
	bool closing;
	struct inv_buf queue; /* whole frames that the thread has not begun to
				 send */
	struct inv_request *requests;
	uint64_t last_tag;
	void *user;

	bool brought; /* set by inv_conn_set_brought; only the caller's thread
			 uses it */

	/* The connection's thread alone uses the following fields. */
	/*
	 * The item LOST, allocated at the start, so that the thread can report
	 * the lost connection even if there is no memory.
	 */
	struct inv_mail *last_words;
	struct inv_wire wire;
	struct inv_buf sending;
	size_t sent;
	uint8_t head[4];
	size_t head_got;
	struct inv_buf body;
	size_t body_len;
	int64_t heard; /* when data last came from the node */
	int64_t spoke; /* when data was last sent to the node */
	/* When the socket stopped accepting data; 0: it accepts data. */
	int64_t stuck;
	int64_t tick_ms; /* the node's net_ticktime */
	struct inv_cursor cursor;
};

/* Runs the connection's thread.  `conn' is a struct inv_conn. */
void *inv_conn_run(void *conn);

/* The destination and the term of a request. All pointers are borrowed. */
struct inv_question {
	const struct inv_dest *to;
	const void *term;
	size_t len;
	int ms;
	bool own;
};

/*
 * Functions for the open requests: those that wait for their answers. Each
 * function takes the connection's lock. inv_request_add queues a request and
 * stores its tag.
 */
int inv_request_add(struct inv_conn *c, const struct inv_question *ask,
		    uint64_t *tag, struct inv_err *err);
/*
 * Removes the request with this tag and returns it, or NULL if there is none.
 * `gone' says that the process to which the request was sent is dead. If `gone'
 * is false, ends the request's monitor.
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
 * For the connection's thread: these put items into the inbox. They return 0 or
 * INV_ENOMEM; inv_deliver_lost cannot fail.
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
