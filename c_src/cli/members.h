/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_MEMBERS_H
#define INV_CLI_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cluster.h"
#include "node/session.h"

/*
 * One session of ours on each node of a cluster: all of them, or none.
 */
struct inv_member {
	struct inv_attach *at;
	const char *name; /* of the node */
	struct inv_session session;
	bool there; /* the session is on the node, as far as is known */
	/* 0, or why it is not there any more: lost, refused, no match */
	int code;
	struct inv_err err;
	struct inv_status status; /* the latest; all zero: none yet */
	/* of cli/watch.h */
	struct inv_ask ask, stop_ask;
	bool following;	       /* what ask is */
	bool stopping;	       /* stop was asked for */
	const char *why_asked; /* why, in words; NULL: it was not by us */
	bool final;	       /* status is the last one */
	bool eof;	       /* all of the log was taken */
	bool silent;	/* has not answered for a while, and it was said */
	bool told;	/* what it matched */
	bool unfetched; /* its log is not all here */
	uint64_t offset;
	int64_t asked_ms, next_ms;
	size_t n_notes; /* told */
};

struct inv_members {
	struct inv_cluster *cluster;
	struct inv_member *v;
	size_t n;
};

/* Of the nodes that the code is on.  enum inv_exit; says what is wrong. */
int inv_members_init(struct inv_members *ms, struct inv_cluster *c);
void inv_members_release(struct inv_members *ms);

/*
 * Starts a session on each, o->guard being filled in here.  A node where
 * nothing matches is told of, and left out as long as there is another.  When
 * one refuses, no session stays.  enum inv_exit.
 */
int inv_members_start(struct inv_members *ms, const struct inv_session_opts *o);

/* Finds those called name; a node without it is left out (code INV_ENOTHING),
 * and is told of when others have it.  enum inv_exit. */
int inv_members_find(struct inv_members *ms, const char *name);

/* Asks all that are there how they are. */
void inv_members_status(struct inv_members *ms);
/* Stops all that are there, and takes their last status. */
void inv_members_stop(struct inv_members *ms);
/* Has those whose logs are not all here keep them for a time. */
void inv_members_hold(struct inv_members *ms);
/* Ends those that are still there, with what they left on the nodes. */
void inv_members_remove(struct inv_members *ms);

/* Takes status over into m. */
void inv_member_status(struct inv_member *m, struct inv_status *status);
/* It is gone, and why; says so. */
void inv_member_lose(struct inv_members *ms, struct inv_member *m,
		     const struct inv_err *err);
/* Whether code means that the node is gone, or silent. */
bool inv_code_gone(int code);
/* Its session failed: takes over why, if it has no other trouble. */
void inv_member_fail(struct inv_member *m);
/* Events that were lost, without those after a limit that was asked for. */
uint64_t inv_member_lost(const struct inv_member *m);
/* The same of one reason. */
bool inv_lost_is_limit(const char *reason);

/*
 * What became of all: enum inv_exit.  The first of: a node that was lost, one
 * that failed, a protection, losses.
 */
int inv_members_exit(const struct inv_members *ms);

#endif
