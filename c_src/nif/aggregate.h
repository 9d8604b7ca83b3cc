/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_AGGREGATE_H
#define INV_NIF_AGGREGATE_H

#include "nif/arrival.h"

/*
 * Takes an event of a tracer that records none: the event is counted
 * (nif/tally.h), timed (nif/times.h) or delivered (nif/delivery.h).
 */
struct inv_thread;
struct inv_tracer;

enum inv_outcome inv_aggregate(struct inv_tracer *t, struct inv_thread *thread,
			       struct inv_arrival *a);

#endif
