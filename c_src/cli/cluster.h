/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_CLUSTER_H
#define INV_CLI_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/node_opts.h"
#include "cli/screen.h"
#include "cli/stop.h"
#include "node/attach.h"
#include "node/cookie.h"
#include "node/gather.h"

/*
 * The nodes that a command works on: from -n to nodes with our code on them,
 * and away again.  What goes wrong is said, a line a node.
 *
 *	inv_cluster_open(&c, "inviso trace", &opts, status_line);
 *	status = inv_cluster_connect(&c);
 *	if (!status)
 *		status = inv_cluster_attach(&c, true, NULL);
 *	... c.v[i] ...
 *	inv_cluster_leave(&c);
 *	status = inv_cluster_close(&c, status);
 *
 * Results are of enum inv_exit.
 */
struct inv_told {
	bool failed; /* why it is not with us */
	bool slow;   /* that it lets wait */
};

struct inv_cluster {
	const struct inv_node_opts *opts; /* borrowed */
	struct inv_screen *screen;
	struct inv_stop stop;
	bool stopped; /* the user wanted it to: one signal was taken */
	struct inv_inbox *in;
	struct inv_cookie cookie;
	struct inv_attach *v;
	struct inv_told *told; /* of each of v */
	size_t n;
	/* Whether the caller does without a node that does not run: then
	 * nothing is said of it, and it is no failure.  NULL: without none. */
	bool (*dispensable)(void *arg, const struct inv_node_name *name);
	void *dispensable_arg;
	char owner[256]; /* "user@host (os pid 4711)" */
};

/* Screen and signals.  Says itself what is wrong. */
int inv_cluster_open(struct inv_cluster *c, const char *who,
		     const struct inv_node_opts *opts, bool status_line);

/* Connects to all, those of `all' included.  A node that cannot be reached is
 * left in v with its code; the result is that of the first. */
int inv_cluster_connect(struct inv_cluster *c);

/* Brings the code to all that are there, with the tracer, whose directory is to
 * be in dir (NULL: the node's choice), or without. */
int inv_cluster_attach(struct inv_cluster *c, bool tracer, const char *dir);

/* Connects, then brings the code to whom it can, without the tracer; the result
 * is that of the first that did not come.  There is nothing more to do when the
 * user stopped it, or n is 0. */
int inv_cluster_join(struct inv_cluster *c);

/*
 * One question to each node that came, all at once: ask sends it, got is given
 * the answer of v[i], or why there is none, and returns an enum inv_exit.  The
 * result is the first that is not INV_EXIT_DONE.
 */
int inv_cluster_ask(struct inv_cluster *c,
		    void (*ask)(void *arg, struct inv_ask *out,
				struct inv_conn *conn),
		    int (*got)(void *arg, size_t i, const struct inv_ask *ask),
		    void *arg);

/* Takes it away, which takes a bounded time; says where something stays. */
void inv_cluster_leave(struct inv_cluster *c);

/* Ends all connections, waits for the screen.  Returns status, the command's so
 * far, or that the output could not be written. */
int inv_cluster_close(struct inv_cluster *c, int status);

/*
 * The user does not want to wait: ends the program, with what can be done
 * without waiting.  The nodes clean up by themselves.
 */
_Noreturn void inv_cluster_abandon(struct inv_cluster *c);

/* "a@h", of v[i]. */
const char *inv_cluster_name(const struct inv_cluster *c, size_t i);
/* Whether the caller does without v[i], and it is known not to run; a node that
 * does not answer may run. */
bool inv_cluster_does_without(const struct inv_cluster *c, size_t i);
/* What time limit an answer has, ms. */
int inv_cluster_ms(const struct inv_cluster *c);

/* What a code of a node means for the command: enum inv_exit. */
int inv_exit_of(int code);

/* Milliseconds of a clock that never goes back. */
int64_t inv_now_ms(void);

#endif
