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
 * Bringing our code to nodes that have nothing of ours, and taking it away:
 * abi/control.h, sections 1 to 3, for any number of nodes in the time of one.
 *
 *	v[i].conn = inv_conn_open(…);
 *	inv_attach_all(v, n, in, &opts, stop_fd);
 *	… v[i].code is 0: sessions may be started there …
 *	inv_leave_all(v, n, in, ms, stop_fd);
 *
 * A node that goes wrong has its code and words in v[i]; the others are not
 * held up by more than the time limits.  A command that dies at any moment
 * leaves the guards on the nodes to clean up.
 */
enum inv_attach_state {
	INV_ATTACH_NONE = 0, /* not begun, or nothing of ours was left there */
	INV_ATTACH_UP,	     /* connected, nothing of ours there */
	INV_ATTACH_CODE,     /* our modules and guard may be there */
	INV_ATTACH_READY,    /* and the files, if they were wanted */
};

struct inv_attach {
	struct inv_conn *conn; /* the user's; NULL: this one is left out */
	enum inv_attach_state state;
	int code; /* 0, or what went wrong */
	struct inv_err err;
	struct inv_survey survey;
	erlang_pid guard;
	char dir[1024];		 /* the private directory; "": none */
	struct inv_texts others; /* after leaving: owners who are still there,
				    for whom our code stayed */
};

struct inv_attach_opts {
	const char *owner;	 /* "user@host (os pid 4711)" */
	bool tracer;		 /* NIF and spooler, too */
	const char *const *dirs; /* where to make the directory */
	size_t n_dirs;		 /* 0: the node's own choice */
	int ms;			 /* for each step; 0: 10000 */
	bool survey_only;	 /* end after the survey: the state is UP */
};

/*
 * Waits for the connections, surveys, and attaches where the survey allows it.
 * 0 when all are READY, else the code of the first that is not; its words are
 * in v[].err.  Codes: those of node/conn.h; INV_EINVAL (the node is of a kind
 * that we do not run on), INV_EREFUSED, INV_EREMOTE, INV_ETIME, INV_ENOMEM;
 * INV_ECANCELLED (stop_fd is readable; then leave).
 *
 * opts NULL: all defaults, and survey_only.
 */
int inv_attach_all(struct inv_attach *v, size_t n, struct inv_inbox *in,
		   const struct inv_attach_opts *opts, int stop_fd);

/*
 * Leaves all nodes where something of ours may be, waits until it is gone
 * (or stays for others), ms in all.  0; the code of the first that went wrong:
 * INV_ETIME (it is still there), INV_ELOST (its guard will clean up), …
 */
int inv_leave_all(struct inv_attach *v, size_t n, struct inv_inbox *in, int ms,
		  int stop_fd);

/* Frees what v[] holds, but for conn. */
void inv_attach_release(struct inv_attach *v, size_t n);

#endif
