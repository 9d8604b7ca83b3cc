/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_REQUEST_SINK_H
#define INV_SINK_REQUEST_SINK_H

#include "flow/hops.h"
#include "sink/sink.h"

/* The common part of the sinks that show requests. Such a sink collects the
 * hops of all events, and writes them at the end. */
struct inv_request_sink {
	struct inv_sink sink;
	struct inv_hops hops;
	uint64_t lost;	 /* events that were lost while the requests ran */
	uint64_t missed; /* events that were lost since the last event of the
			    requests */
};

int inv_request_sink_init(struct inv_sink *s);
int inv_request_sink_event(struct inv_sink *s, const struct inv_item *it);
void inv_request_sink_loss(struct inv_sink *s, const struct inv_item *it);
void inv_request_sink_release(struct inv_sink *s);

#endif
