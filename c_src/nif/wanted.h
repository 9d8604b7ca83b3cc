/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_WANTED_H
#define INV_NIF_WANTED_H

#include <stdbool.h>

#include "abi/event.h"
#include "abi/tracer_call.h"
#include "nif/thread.h"
#include "nif/tracer.h"

/*
 * Whether the tracer's filter wants the event; counts it where it does not, or
 * cannot tell.  For the callbacks of a tracer that records and has a filter,
 * which may be exchanged meanwhile: in the calling thread, within
 * inv_thread_enter.
 */
bool inv_event_wanted(struct inv_tracer *t, struct inv_thread *thread,
		      const struct inv_tracer_event *event, enum inv_tag tag);

#endif
