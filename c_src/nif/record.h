/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_RECORD_H
#define INV_NIF_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/event.h"
#include "abi/tracer_call.h"

/*
 * Records an event in the ring of the calling thread, within the limits of the
 * tracer (nif/limits.h), or drops and counts it.
 */
struct inv_lane;
struct inv_tracer;
struct inv_whole;

/* An event to be recorded. */
struct inv_recording {
	const struct inv_tracer_event *of;
	enum inv_tag tag;
	enum inv_ts_kind ts_kind;
	unsigned scheduler;
	uint8_t flags;
	bool ends; /* the event is a call, and the VM will report its end */
	const struct inv_whole
		*whole; /* the call that the event ends; NULL: unknown */
	uint64_t now;
};

/* Sets ts_kind, scheduler and flags of the event, and records it. */
void inv_record(struct inv_tracer *t, struct inv_lane *lane,
		struct inv_recording *ev);

#endif
