/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_AGGREGATE_H
#define INV_NIF_AGGREGATE_H

#include "nif/arrival.h"

/*
 * Handles an event of a tracer that does not record events: counts it
 * (nif/tally.h), times it (nif/times.h) or delivers it (nif/delivery.h).
 */
struct inv_thread;
struct inv_tracer;

enum inv_outcome inv_aggregate(struct inv_tracer *t, struct inv_thread *thread,
			       struct inv_arrival *a);

#endif
