/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_COUNT_H
#define INV_NIF_COUNT_H

#include <stdint.h>

#include "abi/ring.h"
#include "nif/tracer.h"

/*
 * The counters of a tracer, summed over its rings.
 *
 * The threads count `produced' and `dropped'.  `recorded' is the number of
 * events that are committed in the rings or are in the log.  When no thread
 * uses the tracer any more, produced = recorded + the sum of dropped.  While
 * the tracer runs, the two sides of this equation differ by at most one event
 * for each thread that is recording an event.
 */
struct inv_counts {
	uint64_t produced;
	uint64_t recorded;
	uint64_t dropped[INV_LOSS_COUNT];
	uint64_t filtered;  /* events that the filter left out; not part of
			       `produced' */
	uint64_t undecided; /* part of `produced': recorded because the filter
			       lacked facts to decide */
	uint64_t redacted;  /* how many values of recorded events were
			       replaced by a mark */
};

/* Sums up the counters of t. The counters are in shared memory, where another
 * program can falsify them. It cannot falsify the pointers to the counters,
 * which are in the VM's own memory. */
void inv_counts_read(struct inv_tracer *t, struct inv_counts *counts);

#endif
