/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_WHOLE_H
#define INV_FLOW_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "log/event.h"
#include "term/cursor.h"

/*
 * What the record of a call's end says about the call (INV_EV_WHOLE): how long
 * the call took and, if the call's beginning has no record of its own, the
 * event of the beginning.
 */
struct inv_whole_call {
	size_t begin; /* where the terms about the call begin: offset in the
			 terms of the event that ends the call */
	int64_t duration_ns;
	int64_t self_ns;
	uint32_t depth;
	bool has_event;
	struct inv_event event; /* the event of the call's beginning; its terms
				 * are a part of the terms of the event that
				 * ends the call */
};

/* Reads what `ev' says about the call that it ends. Returns false if `ev' says
 * nothing about a call, or if what it says is invalid. */
bool inv_whole_read(struct inv_whole_call *w, struct inv_cursor *c,
		    const struct inv_event *ev);

#endif
