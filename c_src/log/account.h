/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_ACCOUNT_H
#define INV_LOG_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/log.h"
#include "log/item.h"

/*
 * What of one stream has been lost, so that every loss is told once.
 *
 * Two things tell of losses: the counters that packets and totals carry, and
 * gaps in the numbers of the events.  A counter names the reason.  Events that
 * gave way in the ring, or that the spooler gave up, had their numbers: so a
 * gap is explained by what those counters grew, and only what is not
 * explained was in the log once and cannot be read.
 */
struct inv_account {
	uint64_t next_event; /* number of the first event not accounted for */
	uint64_t known[INV_LOSS_COUNT]; /* told so far */
	uint64_t credit;   /* told, had numbers, but no gap was seen yet */
	uint64_t recorded; /* in the log: read, unreadable or rotated away */
	uint64_t unreadable;
	uint64_t rotated; /* in files deleted by rotation: no loss */
	bool begun;
};

/* What is to be told now: pairs, taken from the end. */
struct inv_loss_list {
	unsigned n;
	struct {
		uint64_t n;
		unsigned reason;
	} at[INV_LOST_COUNT + 1];
};

/*
 * A packet is about to be read.  Adds what was lost before it to out, and sets
 * *skip to the number of its first events that were read already.  rotated:
 * the log's first files are gone, so that a gap at the beginning is no loss.
 */
void inv_account_packet(struct inv_account *a, const struct inv_log_packet *h,
			bool rotated, struct inv_loss_list *out,
			uint32_t *skip);

/* n events of the packet were read, or are unreadable. */
static inline void inv_account_read(struct inv_account *a, uint64_t n)
{
	a->next_event += n;
	a->recorded += n;
}
void inv_account_unreadable(struct inv_account *a, uint64_t n,
			    struct inv_loss_list *out);

/* The stream's totals were met. */
void inv_account_totals(struct inv_account *a, const struct inv_log_totals *t,
			bool rotated, struct inv_loss_list *out);

#endif
