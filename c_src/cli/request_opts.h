/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_REQUEST_OPTS_H
#define INV_CLI_REQUEST_OPTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "log/item.h"
#include "sink/sink.h"

/*
 * The options of inviso merge that show requests instead of events: --requests,
 * --request N, --compare A B. inv_request_argp is a child of the command's
 * argp; its input is a struct inv_request_opts of zeros.
 */
struct inv_request_opts {
	bool list;
	bool compare;
	unsigned n; /* how many requests are wanted; 0: all */
	uint64_t ids[2];
	bool found[2]; /* found[i]: an event of request ids[i] was read */
};

extern const struct argp inv_request_argp;

/* Returns true if requests are shown instead of events. */
bool inv_request_opts_active(const struct inv_request_opts *o,
			     const struct inv_sink_ops *format);

/*
 * Returns the format for the view of requests that the options choose, and sets
 * in *sink the fields that this format needs. Returns NULL if the format has no
 * such view.
 */
const struct inv_sink_ops *inv_request_opts_view(
	const struct inv_request_opts *o, const struct inv_sink_ops *format,
	struct inv_sink_opts *sink);

/* Returns true if the item is a loss, or an event of a wanted request. */
bool inv_request_opts_wants(struct inv_request_opts *o,
			    const struct inv_item *item);

/*
 * Returns the number of a request that the user wants to see and of which no
 * event was read. Returns 0 if there is no such request.
 */
uint64_t inv_request_opts_missing(const struct inv_request_opts *o);

#endif
