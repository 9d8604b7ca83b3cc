/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_INPUTS_H
#define INV_LOG_INPUTS_H

#include "base/err.h"
#include "log/feed.h"
#include "log/notice.h"
#include "log/source.h"

/*
 * Opens the inputs of a merge, which are file names on a command line. The
 * content of a file shows whether it is a log, a trace port's file or a ti
 * file. Files that belong together form a group: a log's rotated files, a wrap
 * set, a node's ti files. Each group becomes one feed, except groups of ti
 * files. The feeds have the order of the groups' first files.
 *
 *	inv_inputs_init(&in, &notices);
 *	inv_inputs_add(&in, "a.log", &err);
 *	inv_inputs_add(&in, "node2@host=b.log", &err);
 *	inv_inputs_open(&in, &err);
 *	... in.feeds, in.n_feeds ...
 *	inv_inputs_release(&in);
 */
struct inv_input;

struct inv_inputs {
	struct inv_feed **feeds; /* owned */
	uint32_t n_feeds;
	/* private */
	struct inv_notices *notices;
	struct inv_input *inputs;
	uint32_t n_inputs;
	struct inv_node **nodes;
	uint32_t n_nodes;
};

void inv_inputs_init(struct inv_inputs *in, struct inv_notices *notices);
void inv_inputs_release(struct inv_inputs *in);

/* Adds a file. arg is [NODE=]FILE, where NODE has an '@' and no '/'. */
int inv_inputs_add(struct inv_inputs *in, const char *arg, struct inv_err *err);
/*
 * Adds a source of bytes. *in owns src from now on, also on failure. `node' is
 * the node's name. If it is NULL, the name is taken from the source's content.
 */
int inv_inputs_add_source(struct inv_inputs *in, struct inv_source *src,
			  const char *node, struct inv_err *err);

/* Makes the feeds. After that nothing can be added. */
int inv_inputs_open(struct inv_inputs *in, struct inv_err *err);

#endif
