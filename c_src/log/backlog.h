/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_BACKLOG_H
#define INV_LOG_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log/scan.h"

/*
 * What of a log that is being written has come and is not read yet: packets,
 * in a queue for each stream, and anchors.
 */

/* A packet with its body, for all streams that have it in their queues. */
struct inv_kept {
	struct inv_log_place at;
	unsigned refs;
	size_t size; /* in memory */
	uint8_t body[];
};

/* A copy, with one reference; NULL without memory. */
struct inv_kept *inv_kept_new(const struct inv_log_place *at);
/* Gives a reference back, and returns how many bytes became free. */
size_t inv_kept_drop(struct inv_kept *k);

struct inv_backlog_entry {
	struct inv_kept *kept;
	struct inv_backlog_entry *next;
};

/* The packets of one stream, the oldest first.  All zero is an empty one. */
struct inv_backlog {
	struct inv_backlog_entry *first;
	struct inv_backlog_entry *last;
};

/* Adds a reference of its own.  INV_ENOMEM. */
int inv_backlog_put(struct inv_backlog *b, struct inv_kept *k);
/* The oldest, whose reference is the caller's now; NULL: there is none. */
struct inv_kept *inv_backlog_take(struct inv_backlog *b);

/* Anchors that came.  All zero is none. */
struct inv_anchor_queue {
	struct inv_anchor *a;
	size_t first;
	size_t n; /* from first on */
	size_t cap;
};

/* No more are kept: a clock needs the latest ones. */
#define INV_ANCHORS_MAX 65536u

/* INV_ENOMEM. */
int inv_anchor_queue_put(struct inv_anchor_queue *q,
			 const struct inv_anchor *a);
bool inv_anchor_queue_take(struct inv_anchor_queue *q, struct inv_anchor *a);
void inv_anchor_queue_release(struct inv_anchor_queue *q);

#endif
