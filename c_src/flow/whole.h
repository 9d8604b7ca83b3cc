/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_WHOLE_H
#define INV_FLOW_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "log/event.h"
#include "term/cursor.h"

/*
 * A call as the record of its end contains it (INV_EV_WHOLE): how long the call
 * took and, if the call's beginning has no record of its own, the event of the
 * beginning.
 */
struct inv_whole_call {
	size_t begin; /* offset of the call in the terms of the end's event */
	int64_t duration_ns;
	int64_t self_ns;
	uint32_t depth;
	bool has_event;
	struct inv_event event; /* its terms are a part of the terms of the
				 * end's event */
};

/* Reads the call. Returns false if the event contains no valid call. */
bool inv_whole_read(struct inv_whole_call *w, struct inv_cursor *c,
		    const struct inv_event *ev);

#endif
