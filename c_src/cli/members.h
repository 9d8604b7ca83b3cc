/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_MEMBERS_H
#define INV_CLI_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cluster.h"
#include "node/session.h"

/* The sessions of a command, one on each node of a cluster. */
struct inv_member {
	struct inv_attach *at;
	const char *name; /* name of the node */
	struct inv_session session;
	bool there; /* the session exists, as far as this command knows */
	/* 0, or the error because of which there is no session: the session was
	 * lost or refused, or nothing matched */
	int code;
	struct inv_err err;
	struct inv_status status; /* the latest status; all zero: none yet */
	/* used by cli/watch.h */
	struct inv_ask ask, stop_ask;
	bool following;	       /* `ask' is a request for the log */
	bool timing;	       /* `ask' is a request for the clock */
	bool stopping;	       /* the session was asked to stop */
	const char *why_asked; /* text for the user: why this command stopped
				  the session; NULL: the command did not stop
				  the session */
	bool final;	       /* `status' is the last status of the session */
	bool eof;	       /* the whole log was received */
	bool silent;	       /* the session has not answered for a while, and
				  this was reported */
	bool notified;	       /* after the session was armed, its numbers of
				  functions and processes were reported (unless
				  the command is quiet) */
	bool unfetched;	       /* the log was not completely fetched */
	uint64_t offset;
	int64_t asked_ms, next_ms, clock_ms;
	size_t n_notes; /* how many notes of the session have been reported */
};

struct inv_members {
	struct inv_cluster *cluster;
	struct inv_member *v;
	size_t n;
};

/* Makes a member for each attached node. Reports errors. Returns an enum
 * inv_exit. */
int inv_members_init(struct inv_members *ms, struct inv_cluster *c);

/* Connects and attaches to the nodes (inv_cluster_connect, inv_cluster_attach),
 * and then makes the members. */
int inv_members_reach(struct inv_members *ms, struct inv_cluster *c,
		      bool tracer, const char *dir);
void inv_members_release(struct inv_members *ms);

/*
 * Starts a session on each node. o->guard is ignored: each session gets the
 * guard of its node. A node on which nothing matches is reported, and left out
 * if something matches on another node. If one node refuses, ends all sessions.
 * Returns an enum inv_exit.
 */
int inv_members_start(struct inv_members *ms, const struct inv_session_opts *o);

/*
 * For sessions that begin requests of sequential traces. Such a session may
 * also run on a node on which its specs match nothing. So this function checks
 * that at least one of the n specs matches on at least one node. If not,
 * reports why, and ends all sessions. Returns an enum inv_exit.
 */
int inv_members_matched(struct inv_members *ms, unsigned n);
/* Call this when all sessions of requests have started: lets them set their
 * patterns and flags. Returns an enum inv_exit; after a failure all sessions
 * have ended. */
int inv_members_begin(struct inv_members *ms);

/*
 * Finds the sessions called `name'. A node without such a session is left out
 * (code INV_ENOTHING), and is reported if other nodes have the session. Returns
 * an enum inv_exit.
 */
int inv_members_find(struct inv_members *ms, const char *name);

/*
 * Makes all sessions write notes into their logs, from which a merge computes
 * how the nodes' clocks differ. This takes a dozen round trips, and at most 300
 * ms. Does not handle the user's signals: the caller's next wait does. Does
 * nothing if there is one node.
 */
void inv_members_clocks(struct inv_members *ms);
/* Requests the status of all existing sessions. */
void inv_members_status(struct inv_members *ms);
/* Stops all existing sessions, and stores their last status. */
void inv_members_stop(struct inv_members *ms);
/* Makes the sessions whose logs were not completely fetched keep their logs for
 * a day. */
void inv_members_hold(struct inv_members *ms);
/* Ends all existing sessions and removes their files on the nodes. */
void inv_members_remove(struct inv_members *ms);

/* Appends the option with which another command names the node of v[i], as in
 * " -n a@h:9000". Appends nothing for a node of --dns (inv_node_opts_put). */
void inv_members_put_target(const struct inv_members *ms, size_t i,
			    struct inv_buf *out);
/* Moves status to the member. */
void inv_member_status(struct inv_member *m, struct inv_status *status);
/* Marks the member as lost. Reports the reason, unless another session on this
 * node was lost before. */
void inv_member_lose(struct inv_members *ms, struct inv_member *m,
		     const struct inv_err *err);
/* Returns true if code means that the connection is lost or the node does not
 * answer. */
bool inv_code_gone(int code);
/* Returns true if another member on the same node meets the condition. */
bool inv_members_other(const struct inv_members *ms, const struct inv_member *m,
		       bool (*meets)(const struct inv_member *m));
/* Call this if the member's session has failed. Copies the error from the
 * status to the member. Does nothing if the member already has an error. */
void inv_member_fail(struct inv_member *m);
/* Returns how many events were lost. Events after a limit do not count as
 * lost. */
uint64_t inv_member_lost(const struct inv_member *m);
/* Returns true if the reason for a loss is a limit. */
bool inv_lost_is_limit(const char *reason);

/*
 * Returns the enum inv_exit for all members. If the members have several
 * problems, returns the code of the first of: a node was lost, a session
 * failed, a session stopped to protect the node, events were lost.
 */
int inv_members_exit(const struct inv_members *ms);

#endif
