/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_CONN_INT_H
#define INV_NODE_CONN_INT_H

#include <pthread.h>
#include <stdbool.h>

#include "base/buf.h"
#include "node/conn.h"
#include "node/frame.h"
#include "node/inbox_int.h"
#include "term/cursor.h"

/*
 * A connection, as its own files see it: conn.c (its life), requests.c (what
 * waits for an answer), loop.c (its thread), deliver.c (what that tells).
 */

/* A request without an answer. */
struct inv_request {
	struct inv_request *next;
	uint64_t tag;
	int64_t until; /* of inv_net_now */
	int ms;
	bool awaited;
	bool own; /* the loop's question for the node's tick time */
	struct inv_dest to;
	char name[];
};

enum inv_conn_state {
	INV_CONN_CONNECTING = 0,
	INV_CONN_UP,
	INV_CONN_LOST,
};

struct inv_conn {
	/* fixed from the start */
	struct inv_node_name asked;
	struct inv_conn_opts opts; /* without the cookie */
	char cookie[256];
	struct inv_inbox *in;
	pthread_t thread;
	int wake; /* eventfd: there is something to send, or to end */

	/* set before CONNECTED, fixed from then on */
	erlang_pid self;
	struct inv_node_name peer;

	pthread_mutex_t lock; /* of what follows, up to the next comment */
	enum inv_conn_state state;
	bool named;	    /* peer is known */
	struct inv_err why; /* of LOST */
	bool closing;
	struct inv_buf queue; /* whole frames */
	struct inv_request *requests;
	uint64_t last_tag;
	void *user;

	/* the thread's alone */
	struct inv_mail *last_words; /* LOST; made at the start: it needs no
					memory when it is time */
	int fd;
	struct inv_buf sending;
	size_t sent;
	uint8_t head[4];
	size_t head_got;
	struct inv_buf body;
	size_t body_len;
	int64_t heard;	 /* when something came last */
	int64_t spoke;	 /* when something was sent last */
	int64_t stuck;	 /* since when the node takes nothing; 0: it does */
	int64_t tick_ms; /* the node's net_ticktime */
	struct inv_cursor cursor;
};

/* The thread. */
void *inv_conn_run(void *conn);

/* What is asked; borrowed. */
struct inv_question {
	const struct inv_dest *to;
	const void *term;
	size_t len;
	int ms;
	bool awaited;
	bool own;
};

/* Requests; all take the lock themselves. */
int inv_request_add(struct inv_conn *c, const struct inv_question *ask,
		    uint64_t *tag, struct inv_err *err);
/*
 * Takes out the request of tag, and ends its monitor unless the process is
 * gone.  NULL: nobody waits for that.
 */
struct inv_request *inv_request_take(struct inv_conn *c, uint64_t tag,
				     bool gone);
/* Takes out one whose time is over; NULL: none; *next is then when to look
 * again. */
struct inv_request *inv_request_expired(struct inv_conn *c, int64_t now,
					int64_t *next);
void inv_request_drop_all(struct inv_conn *c);

/* What the thread puts into the inbox.  INV_ENOMEM, but for the last. */
int inv_deliver_connected(struct inv_conn *c, struct inv_err *err);
int inv_deliver_answer(struct inv_conn *c, const struct inv_dist_frame *f,
		       const struct inv_request *q, struct inv_err *err);
int inv_deliver_gone(struct inv_conn *c, const struct inv_dist_frame *f,
		     const struct inv_request *q, struct inv_err *err);
int inv_deliver_timeout(struct inv_conn *c, const struct inv_request *q,
			struct inv_err *err);
void inv_deliver_lost(struct inv_conn *c, int r, const struct inv_err *why);

/* Something for the thread to do. */
void inv_conn_wake(struct inv_conn *c);

#endif
