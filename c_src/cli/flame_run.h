/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_FLAME_RUN_H
#define INV_CLI_FLAME_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/feeds.h"
#include "cli/tee.h"
#include "cli/trace_opts.h"
#include "cli/watch.h"
#include "flow/flow.h"
#include "sink/sink.h"

/* `inviso flame': sessions sample stacks or trace calls, and their logs become
 * a profile. */
struct inv_flame {
	struct inv_node_opts nodes;
	struct inv_trace_opts what;
	struct inv_session_sample sample; /* how samples are taken; used only
					     if there is no SPEC */
	enum inv_paths_by by;
	const struct inv_sink_ops *format; /* NULL: text for people */
	const char *output;		   /* NULL: standard output */
	uint64_t top;			   /* how many functions the text
					      lists */
	bool json;
	bool quiet;
	/* private */
	struct inv_cluster cluster;
	struct inv_members members;
	struct inv_watch watch;
	struct inv_tee tee;
	struct inv_feeds feeds;
	struct inv_flow flow;
	struct inv_paths profile;
	bool failed;
};

/* Runs the command after its options were read. Returns the exit status. */
int inv_flame_run(struct inv_flame *c);

#endif
