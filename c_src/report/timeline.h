/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_REPORT_TIMELINE_H
#define INV_REPORT_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/top.h"
#include "table/cast.h"

/*
 * A timeline in bounded memory. The time is divided into bins of equal length,
 * for which events are counted: of all processes together, and of each process
 * (lane). The longest calls and garbage collections are kept as slices. The
 * length of the bins doubles when an event comes after the last bin.
 */
#define INV_TIMELINE_BINS 512u
/* At most this many processes have a lane. The events of other processes are
 * counted only in `all'. */
#define INV_TIMELINE_LANES 4096u
#define INV_TIMELINE_SLICES 30000u

struct inv_timeline_lane {
	uint32_t process; /* the process, with its latest name */
	uint64_t events;
	uint32_t bins[INV_TIMELINE_BINS];
};

struct inv_bin {
	uint64_t events, failed, lost;
};

enum inv_slice_kind {
	INV_SLICE_CALL,
	INV_SLICE_FAILED,
	INV_SLICE_GC,
};

struct inv_slice {
	struct inv_top_entry top; /* the value is the duration */
	int64_t begin_ns;
	uint32_t lane;	   /* from 1 */
	uint32_t function; /* function; 0: none */
	uint16_t depth;
	uint8_t kind; /* enum inv_slice_kind */
};

struct inv_timeline {
	bool begun;
	int64_t begin_ns;
	int64_t bin_ns;
	struct inv_bin all[INV_TIMELINE_BINS];
	struct inv_timeline_lane *lanes;
	uint32_t n_lanes;
	struct inv_top slices;
	uint64_t unlaned; /* how many slices had no lane */
	/* private */
	uint32_t *slots;   /* hash table: numbers of lanes, from 1; 0: free */
	uint32_t *lane_of; /* lane_of[i - 1]: the lane of process i of
			      inv_cast */
	uint32_t n_lane_of;
};

/* All functions that return an int return 0 or INV_ENOMEM. After
 * inv_timeline_init, call inv_timeline_release in both cases. */
int inv_timeline_init(struct inv_timeline *t);
void inv_timeline_release(struct inv_timeline *t);

/* Adds an event of a process, whose number is 0 if it is not known. */
int inv_timeline_event(struct inv_timeline *t, const struct inv_cast *cast,
		       uint32_t process, int64_t ts_ns);

/* Returns the bin of a time. */
struct inv_bin *inv_timeline_bin(struct inv_timeline *t, int64_t ts_ns);

/* Adds a slice. */
int inv_timeline_slice(struct inv_timeline *t, const struct inv_cast *cast,
		       uint32_t process, const struct inv_slice *slice);

#endif
