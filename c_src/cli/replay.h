/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_REPLAY_H
#define INV_CLI_REPLAY_H

#include "cli/members.h"
#include "flow/order.h"
#include "sink/sink.h"

/*
 * Shows requests of live sessions. The logs are kept in memory, and read like files
 * when the requests have ended: the causal order and the differences of clocks
 * follow from all messages, also from those that come later. The limits of the
 * sessions bound the memory.
 */
struct inv_replay {
	const struct inv_members *ms;
	struct inv_screen *screen;
	uint64_t most; /* show the first requests only; 0: all */
	bool flat;     /* text: events one by one, not trees of requests */
	/* results */
	uint64_t requests; /* that are shown */
	uint64_t left_out; /* that are not: they began beyond the limit, or were
			      not sampled */
	struct inv_summary sum;
	/* private */
	struct inv_buf *logs; /* one for each member */
};

/* r must be all zero, except screen, most and flat. Returns 0 or INV_ENOMEM; the caller
 * releases it, also then. */
int inv_replay_init(struct inv_replay *r, const struct inv_members *ms);
void inv_replay_release(struct inv_replay *r);

/* Adds bytes of m's log. Returns 0 or INV_ENOMEM. */
int inv_replay_took(struct inv_replay *r, const struct inv_member *m,
		    const struct inv_followed *f);

/* Prints the requests in the format, and reports on the screen what is not known
 * about them. Returns 0, or a code with the text in err. */
int inv_replay_show(struct inv_replay *r, const struct inv_sink_ops *format,
		    const struct inv_sink_opts *opts, struct inv_err *err);

#endif
