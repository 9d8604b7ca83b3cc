/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_TALLYING_H
#define INV_CLI_TALLYING_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/collect.h"
#include "cli/members.h"
#include "cli/tee.h"
#include "cli/trace_opts.h"
#include "cli/watch.h"
#include "sink/tally_table.h"

/*
 * The common part of `inviso count' and `inviso hist'. Sessions on the nodes
 * count or time events, and their logs contain the results.
 *
 * 	inv_tallying_exec(&c, &argp, ...)
 * 	  parses		fills in the fields that are not private
 * 	  runs			connects, counts, prints, and leaves the nodes
 */
struct inv_tallying {
	const char *command; /* name of the command: "count" or "hist" */
	const char *program; /* the name in messages: "inviso count" or
				"inviso hist" */
	struct inv_node_opts nodes;
	struct inv_trace_opts what;
	struct inv_session_count by;
	struct inv_tally_table table;
	uint64_t every_ms; /* how often a table is printed; 0: only at the
			      end */
	uint64_t top;
	bool top_given;
	bool json;
	bool quiet;
	/* private */
	struct inv_cluster cluster;
	struct inv_members members;
	struct inv_watch watch;
	struct inv_tee tee;
	struct inv_collect collect;
	bool failed;
	uint64_t next_ms; /* --every: a table is printed when the nodes have
			   * counted this long */
	int64_t shown_ms; /* when the last table was printed */
};

#define INV_TALLYING_MS 10000 /* how long events are counted without --for */

/* Options of the output; its input is a struct inv_tallying. */
extern const struct argp inv_tallying_argp;

/* Runs the command `inviso count' or `inviso hist': parses its options, counts,
 * and returns the exit status. */
int inv_tallying_exec(struct inv_tallying *c, const struct argp *argp, int argc,
		      char **argv);

/*
 * Parses the value of --by, a list of words such as "function,node". Sets the
 * key, and whether the counts of all nodes are added up. Reports an unknown
 * word.
 */
void inv_tallying_by(struct inv_tallying *c, const char *list,
		     struct argp_state *state);

/* Reports options that no session accepts. */
void inv_tallying_check(const struct inv_tallying *c, struct argp_state *state);

/* --- only for the files of this part -------------------------------------- */

int inv__tallying_run(struct inv_tallying *c);
/*
 * Returns how long the counting has lasted so far, in ms: the time of the node
 * that has counted for the longest time. Returns 0 if this is unknown.
 */
uint64_t inv__tallying_ms(const struct inv_tallying *c);
/* Appends the table of the counts so far. `final' is true at the end. */
void inv__tallying_table(struct inv_tallying *c, bool final, struct inv_buf *b);
/* Appends "-- 12 events counted in 2 s on 3 nodes". */
void inv__tallying_counted(const struct inv_tallying *c,
			   const struct inv_tallies_sum *sum,
			   struct inv_buf *b);
/* Prints the result. Returns the exit status. */
int inv__tallying_show(struct inv_tallying *c);

#endif
