/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_RESULTS_H
#define INV_NIF_RESULTS_H

#include <stdint.h>

#include "nif/arrival.h"

/*
 * Counting calls by how they end: a tracer whose tally (nif/tally.h) has
 * INV_BY_RESULT.
 *
 * 	return_from      the key is the result
 * 	exception_from   the key is {Class, Reason}
 * 	exit             the key is the reason of the exit
 *
 * Other events are not counted. The keys are values (nif/value_key.h). The
 * bound on open calls (nif/bound.h) applies.
 */
struct inv_tracer;

enum inv_outcome inv_results_event(struct inv_tracer *t, uint32_t thread,
				   struct inv_arrival *a);

#endif
