/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_ATTACH_H
#define INV_NODE_ATTACH_H

#include <ei.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "node/conn.h"
#include "node/decode.h"
#include "node/inbox.h"
#include "node/survey.h"

/*
 * Attaches to nodes: sends inviso's code to them, and later removes it
 * (abi/control.h, sections 1 to 3).  Works on all nodes at the same time.
 *
 *	v[i].conn = inv_conn_open(…);
 *	inv_attach_all(v, n, in, &opts, stop_fd);
 *	… if v[i].code is 0, sessions can be started on that node …
 *	inv_leave_all(v, n, in, ms, stop_fd);
 *
 * If attaching to a node fails, v[i] has the error's code and message. Such a
 * node delays the other nodes for at most the time limits. If the command dies,
 * the guards on the nodes remove the code.
 */
enum inv_attach_state {
	INV_ATTACH_NONE = 0, /* the command is not connected to the node yet, or
				has left it */
	/* The command is connected, and has not loaded any code on the node. */
	INV_ATTACH_UP,
	INV_ATTACH_CODE, /* inviso's modules and guard may be on the node */
	/*
	 * Modules and guard are on the node. If the option `tracer' is true,
	 * library and spooler are, too.
	 */
	INV_ATTACH_READY,
};

struct inv_attach {
	struct inv_conn *conn; /* belongs to the caller; NULL: the node is
				  skipped */
	enum inv_attach_state state;
	int code; /* 0, or the error's code */
	struct inv_err err;
	struct inv_survey survey;
	erlang_pid guard;
	/* True: inviso's code stays loaded for 3 seconds after the guard has
	 * ended (abi/control.h). Set when the command attaches to the node. */
	bool stays;
	char dir[1024]; /* the private directory on the node; "":
				    none */
	/* Set when the command leaves the node: the owners of the other clients
	 * that still need the code. */
	struct inv_texts others;
};

struct inv_attach_opts {
	const char *owner;	 /* "user@host (os pid 4711)" */
	bool tracer;		 /* also send library and spooler to the node */
	const char *const *dirs; /* candidates for the parent of the private
				    directory */
	size_t n_dirs;		 /* number of `dirs'; 0: the node chooses the
				    parent */
	int ms;			 /* time limit of each step in milliseconds; 0
				    means 10000 */
	bool survey_only;	 /* stop after the survey, with the state
				    INV_ATTACH_UP */
};

/*
 * Waits for the connections, surveys the nodes, and attaches to the nodes on
 * which inviso can run. Returns 0 if all nodes are READY. Otherwise returns the
 * code of the first node that is not READY; v[].err has the messages. Codes:
 * those of node/conn.h; INV_EINVAL (inviso does not run on this kind of node),
 * INV_EREFUSED, INV_EREMOTE, INV_ETIME, INV_ENOMEM; INV_ECANCELLED (`stop_fd'
 * is readable; the caller must still leave the nodes).
 *
 * If `opts' is NULL, survey_only is true, and all other options have their
 * defaults.
 */
int inv_attach_all(struct inv_attach *v, size_t n, struct inv_inbox *in,
		   const struct inv_attach_opts *opts, int stop_fd);

/*
 * Leaves all nodes that may have inviso's code. Waits at most `ms' milliseconds
 * in total until the nodes have removed the code. Does not wait for a node on
 * which other clients need the code, or which keeps the code a few seconds for
 * the next client. Returns 0, or the code of the first failure: INV_ETIME (the
 * code was not removed in time), INV_ELOST (the connection is lost; the guard
 * will remove the code), …
 */
int inv_leave_all(struct inv_attach *v, size_t n, struct inv_inbox *in, int ms,
		  int stop_fd);

/* Frees the contents of v[], except conn. */
void inv_attach_release(struct inv_attach *v, size_t n);

#endif
