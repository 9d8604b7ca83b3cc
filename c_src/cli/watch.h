/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_WATCH_H
#define INV_CLI_WATCH_H

#include <stdbool.h>

#include "cli/members.h"

/*
 * Stays with sessions until they have ended: asks each again and again, which
 * is the sign of life that they need, and looks at the user's signals and at
 * who reads the output.
 *
 * One node's silence holds up no other.  A node that does not answer within
 * the time limit, or is lost, is said and given up.
 */
struct inv_watch {
	struct inv_members *ms;
	void *arg; /* of the hooks */
	/* Whether m's log shall be asked for; NULL: only the status. */
	bool (*wants)(void *arg, struct inv_member *m);
	/* What came of it. */
	void (*took)(void *arg, struct inv_member *m,
		     const struct inv_followed *f);
	/* There is no more of m's log: it ended, or was lost. */
	void (*ended)(void *arg, struct inv_member *m);
	/* After all that has arrived; returns after how many ms it wants to be
	 * called again, -1: when something has arrived. */
	int64_t (*turn)(void *arg);
	int period_ms;	  /* between two questions for the status */
	bool quiet;	  /* what matched, and notes, are not said */
	bool output;	  /* stop when nobody reads standard output */
	bool until_armed; /* it has ended, for us, when it traces */
	bool together;	  /* one that stops stops all */
	bool discard; /* what is not taken yet is not wanted: set by a hook */
	/* results */
	bool broken;	  /* nobody reads */
	bool interrupted; /* by a signal */
	/* private */
	bool stop_wanted;
	const char *why; /* of the first wish to stop */
};

/* Until all have ended, and are stopped.  Ends the program at the user's
 * second signal. */
void inv_watch_run(struct inv_watch *w);

/* Asks all to stop, as soon as may be; may be called by hooks.  why: words for
 * the user, good as long as the members. */
void inv_watch_stop(struct inv_watch *w, const char *why);

#endif
