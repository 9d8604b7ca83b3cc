/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_FILTER_CHECK_H
#define INV_NIF_FILTER_CHECK_H

#include <stdbool.h>

#include "abi/event.h"
#include "abi/tracer_call.h"
#include "nif/thread.h"
#include "nif/tracer.h"

/*
 * Returns true if the tracer's filter wants the event. Counts events that the
 * filter does not want or cannot decide. Callbacks call it, after
 * inv_thread_enter, for a tracer that records and has a filter. `thread' is the
 * calling thread. The filter may be exchanged during the call.
 */
bool inv_event_wanted(struct inv_tracer *t, struct inv_thread *thread,
		      const struct inv_tracer_event *event, enum inv_tag tag);

#endif
