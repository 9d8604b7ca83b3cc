/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_REPLAY_H
#define INV_CLI_REPLAY_H

#include "cli/members.h"
#include "flow/order.h"
#include "sink/sink.h"

/*
 * Shows requests of live sessions. The logs are kept in memory. Each time that
 * requests may have ended, the logs are read again from their beginning,
 * because the causal order and the differences of clocks follow from all
 * messages so far. The tree of a request is printed once, when the request had
 * no event for a while. Everything else is printed when the trace has ended.
 * The limits of the sessions bound the memory.
 */
struct inv_replay_request;

struct inv_replay {
	const struct inv_members *ms;
	struct inv_screen *screen;
	uint64_t most; /* show only the first `most' requests; 0: show all */
	bool flat;     /* print events one by one as text, not trees of
		        * requests */
	bool json;
	uint64_t idle_ms; /* a request has ended when it had no event for this
			   * long */
	struct inv_sink_opts opts;
	/* results */
	uint64_t requests; /* how many requests are shown */
	uint64_t left_out; /* requests that are not shown: they began beyond
			    * the limit, or were not sampled */
	uint64_t late;	   /* events that came after the tree of their request
			    * was printed */
	struct inv_summary sum;
	/* private */
	struct inv_buf *logs; /* one for each member */
	struct inv_replay_request *known;
	uint64_t printed; /* how many trees were printed */
	bool fresh;	  /* bytes came since the logs were read */
	int64_t next_ms;  /* when the logs are to be read again */
};

/* r must be all zero, except the fields before the results. Returns 0 or
 * INV_ENOMEM. The caller releases r in both cases. */
int inv_replay_init(struct inv_replay *r, const struct inv_members *ms);
void inv_replay_release(struct inv_replay *r);

/* Adds bytes of m's log. Returns 0 or INV_ENOMEM. */
int inv_replay_took(struct inv_replay *r, const struct inv_member *m,
		    const struct inv_followed *f);

/*
 * Prints the trees of requests that have ended. Returns a time in ms, or -1.
 * Call this function when bytes arrive. If it has returned a time, also call it
 * when this time has passed without new bytes.
 */
int64_t inv_replay_turn(struct inv_replay *r);

/* Returns true if the first `most' requests have begun and ended. Later
 * requests, which are not shown, need not have ended. */
bool inv_replay_enough(const struct inv_replay *r);

/* Call this when the trace has ended. Prints the requests that were not printed
 * yet, and reports missing events on the screen. Returns 0, or a code with the
 * text in err. */
int inv_replay_show(struct inv_replay *r, struct inv_err *err);

#endif
