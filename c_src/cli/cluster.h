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
 * Connects to the nodes of options -n and --dns, attaches to them, and leaves
 * them. Reports failures, one line for each node.
 *
 *	inv_cluster_open(&c, "inviso trace", &opts, status_line);
 *	status = inv_cluster_connect(&c);
 *	if (!status)
 *		status = inv_cluster_attach(&c, true, NULL);
 *	... c.v[i] ...
 *	inv_cluster_leave(&c);
 *	status = inv_cluster_close(&c, status);
 *
 * The results of inv_cluster_open, connect, attach, join, ask and close are of
 * enum inv_exit.
 */
struct inv_notified {
	bool failed; /* the node's failure was reported */
	bool slow;   /* it was reported that the node answers slowly */
};

struct inv_cluster {
	const struct inv_node_opts *opts; /* borrowed */
	struct inv_screen *screen;
	struct inv_stop stop;
	bool stopped; /* the user requested a stop: a signal was taken */
	struct inv_inbox *in;
	struct inv_cookie cookie;
	struct inv_tls *tls; /* NULL: no node uses TLS */
	bool *plain_used;    /* plain_used[i]: at least one node had the i-th
				name of --plain */
	struct inv_attach *v;
	struct inv_notified *notified; /* notified[i] is for the node v[i] */
	bool notified_cookie; /* the source of a refused cookie was reported */
	size_t n;
	/*
	 * Returns true if the command does not need the node. If such a node
	 * does not run, the command does not fail, and reports nothing. NULL:
	 * every node is needed.
	 */
	bool (*dispensable)(void *arg, const struct inv_node_name *name);
	void *dispensable_arg;
	char owner[256]; /* "user@host (os pid 4711)" */
};

/* Opens the screen, and begins to take signals as stop requests. Reports
 * errors. */
int inv_cluster_open(struct inv_cluster *c, const char *program,
		     const struct inv_node_opts *opts, bool status_line);

/* Connects to the nodes of -n and --dns. With -n all, also connects to all
 * nodes to which these nodes are connected. Unreachable nodes, and addresses of
 * --dns without a node, stay in v with the error's code. Returns the exit code
 * of the first unreachable node. */
int inv_cluster_connect(struct inv_cluster *c);

/*
 * Attaches to all connected nodes. If tracer is true, also pushes NIF and
 * spooler, into a new directory inside dir (NULL: the node chooses).
 */
int inv_cluster_attach(struct inv_cluster *c, bool tracer, const char *dir);

/*
 * Connects, then attaches to as many nodes as possible, without sending NIF
 * and spooler. Returns the exit code of the first node that failed. If
 * `stopped' is true afterwards, or n is 0, the caller must end the command.
 */
int inv_cluster_join(struct inv_cluster *c);

/*
 * Sends a request to all attached nodes at the same time. `ask' sends it to one
 * node; `got' handles the answer of v[i], or the failure, and returns an enum
 * inv_exit. Returns the first result that is not INV_EXIT_DONE.
 */
int inv_cluster_ask(struct inv_cluster *c,
		    void (*ask)(void *arg, struct inv_ask *out,
				struct inv_conn *conn),
		    int (*got)(void *arg, size_t i, const struct inv_ask *ask),
		    void *arg);

/* Leaves all nodes within a bounded time. Reports nodes on which code stays. */
void inv_cluster_leave(struct inv_cluster *c);

/* Closes all connections, and waits until the screen has written all output.
 * Returns status, or an error if the output could not be written. */
int inv_cluster_close(struct inv_cluster *c, int status);

/*
 * Ends the program without waiting for nodes, because the user's second signal
 * requested that. The nodes clean up by themselves.
 */
_Noreturn void inv_cluster_abandon(struct inv_cluster *c);

/* Returns the name of v[i], "a@h". */
const char *inv_cluster_name(const struct inv_cluster *c, size_t i);
/* Returns true if the command can do without v[i], and the node certainly does
 * not run. If the node only does not answer, the result is false, because the
 * node may run. */
bool inv_cluster_does_without(const struct inv_cluster *c, size_t i);
/* Returns the time limit for answers, in ms. */
int inv_cluster_ms(const struct inv_cluster *c);

/* Returns the enum inv_exit for a node's error code. */
int inv_exit_of(int code);

#endif
