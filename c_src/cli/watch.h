/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_WATCH_H
#define INV_CLI_WATCH_H

#include <poll.h>
#include <stdbool.h>

#include "cli/members.h"

/*
 * Watches sessions until they have ended. Regularly sends a request to each
 * session; the session takes it as the command's sign of life. Checks for
 * signals and for a closed output.
 *
 * A node that does not answer does not delay other nodes. If a node does not
 * answer within the time limit, or the connection is lost, this is reported and
 * the node is no longer watched.
 */
#define INV_WATCH_MORE 4

struct inv_watch {
	struct inv_members *ms;
	void *arg; /* passed to the hooks */
	/* Returns true if m's log is to be requested (inv_watch_wants_all:
	 * always). If the pointer is NULL, only the status is requested. */
	bool (*wants)(void *arg, struct inv_member *m);
	/* Receives bytes of m's log, and the status. */
	void (*took)(void *arg, struct inv_member *m,
		     const struct inv_followed *f);
	/* Called when m's log has ended or is lost. */
	void (*ended)(void *arg, struct inv_member *m);
	/* Called after all received answers were handled. Returns a time in ms,
	 * or -1. The next call is at the latest after the next answer. If a
	 * time was returned, the next call is at the latest when this time has
	 * passed, even if no answer arrives. */
	int64_t (*turn)(void *arg);
	/*
	 * For commands that do more than watch sessions; all may be NULL or 0.
	 * mailed: gets each mail that is not an answer of a session, and each
	 * INV_MAIL_LOST; it must not release the mail. going: returns true if
	 * the watch is to go on although all sessions have ended. more: further
	 * descriptors to poll; `turn' finds their events in `revents'.
	 */
	void (*mailed)(void *arg, struct inv_mail *mail);
	bool (*going)(void *arg);
	struct pollfd *more;
	size_t n_more;	  /* at most INV_WATCH_MORE */
	int period_ms;	  /* time between two requests for the status */
	int clock_ms;	  /* time between two requests that make a session note
			     its clock in the log; 0: no such requests */
	bool quiet;	  /* do not report matches and notes */
	bool output;	  /* stop when the reader closes standard output */
	bool until_armed; /* return when all sessions trace */
	bool together;	  /* if one session stops, stop all */
	bool discard;	  /* no further bytes of the logs are needed */
	/* results */
	bool broken;	  /* the reader closed standard output */
	bool interrupted; /* the user sent a signal */
	/* private */
	bool stop_wanted;
	const char *why; /* why the first stop was requested */
};

/* Returns when all sessions have ended. If until_armed is true, returns when
 * each session traces or has ended. The user's second signal ends the
 * program. */
void inv_watch_run(struct inv_watch *w);

/* Makes inv_watch_run request all sessions to stop. Hooks may call it. why:
 * text for the user, valid as long as the members. */
void inv_watch_stop(struct inv_watch *w, const char *why);

/* For `wants': returns true. */
bool inv_watch_wants_all(void *arg, struct inv_member *m);

#endif
