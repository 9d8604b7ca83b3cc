/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_REPLAY_H
#define INV_CLI_REPLAY_H

#include "cli/members.h"
#include "flow/order.h"
#include "sink/sink.h"

/*
 * Shows requests of live sessions. The logs are kept in memory, and read like files
 * from their beginning each time that requests may have ended: the causal order and
 * the differences of clocks follow from all messages so far. A tree is printed when
 * its request had no event for a while, and never again; everything else when the
 * trace has ended. The limits of the sessions bound the memory.
 */
struct inv_replay_request;

struct inv_replay {
	const struct inv_members *ms;
	struct inv_screen *screen;
	uint64_t most; /* show the first requests only; 0: all */
	bool flat;     /* text: events one by one, not trees of requests */
	bool json;
	uint64_t idle_ms; /* a request without an event for so long is over */
	struct inv_sink_opts opts;
	/* results */
	uint64_t requests; /* that are shown */
	uint64_t left_out; /* that are not: they began beyond the limit, or were
			      not sampled */
	uint64_t late;	   /* events of requests that were printed before */
	struct inv_summary sum;
	/* private */
	struct inv_buf *logs; /* one for each member */
	struct inv_replay_request *known;
	uint64_t printed; /* trees */
	bool fresh;	  /* bytes came since the logs were read */
	int64_t next_ms;  /* when to read them again */
};

/* r must be all zero, except the fields before the results. Returns 0 or INV_ENOMEM; the caller
 * releases it, also then. */
int inv_replay_init(struct inv_replay *r, const struct inv_members *ms);
void inv_replay_release(struct inv_replay *r);

/* Adds bytes of m's log. Returns 0 or INV_ENOMEM. */
int inv_replay_took(struct inv_replay *r, const struct inv_member *m,
		    const struct inv_followed *f);

/* Prints the trees of requests that are over. Returns the ms after which to call
 * it again even if no bytes come; -1: only when bytes come. */
int64_t inv_replay_turn(struct inv_replay *r);

/* Prints the other requests when the trace has ended, and reports on the screen
 * what is not known about them. Returns 0, or a code with the text in err. */
int inv_replay_show(struct inv_replay *r, struct inv_err *err);

#endif
