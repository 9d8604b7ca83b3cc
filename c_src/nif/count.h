/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_COUNT_H
#define INV_NIF_COUNT_H

#include <stdint.h>

#include "abi/ring.h"
#include "nif/tracer.h"

/*
 * The counters of a tracer, added up over its rings.
 *
 * produced and dropped are what the threads counted; recorded is counted apart
 * from them: events that lie committed in the rings or have gone to the log.
 * Of a tracer that no thread uses any more, produced = recorded + the sum of
 * dropped.  While it runs, the numbers of threads that are in an event may
 * differ by that event.
 */
struct inv_counts {
	uint64_t produced;
	uint64_t recorded;
	uint64_t dropped[INV_LOSS_COUNT];
	uint64_t filtered;  /* not produced: the filter left them out */
	uint64_t undecided; /* produced, for the filter could not tell */
};

/* The counters come from memory that others can write; where they lie does
 * not. */
void inv_counts_read(struct inv_tracer *t, struct inv_counts *counts);

#endif
