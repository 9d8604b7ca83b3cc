/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_ACCOUNT_H
#define INV_LOG_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/log.h"
#include "log/item.h"

/*
 * Accounts for the losses of one stream, so that each is reported once.
 *
 * A loss is visible in two places: packets and totals have loss counters, and
 * the events' numbers have gaps. A counter gives the reason. Some losses are
 * counted and also leave a gap, because the events had numbers already: those
 * that the ring overwrote, that the spooler could not write, or that were
 * damaged. So the increase of these counters explains a gap, or a part of it.
 * The other events of the gap were recorded and cannot be read.
 */
struct inv_account {
	uint64_t next_event; /* number of the next event that is not accounted
				for */
	uint64_t known[INV_LOSS_COUNT]; /* losses reported so far */
	uint64_t credit;   /* losses that leave a gap and were reported before
			      their gap was seen */
	uint64_t recorded; /* events that were recorded: read, unreadable, or in
			      a file that rotation deleted */
	uint64_t unreadable;
	uint64_t rotated; /* events in files that rotation deleted: not a
			     loss */
	bool begun;
};

/* Losses to report next: for each, the number of events and the reason. The
 * last entry is reported first. */
struct inv_loss_list {
	unsigned n;
	struct {
		uint64_t n;
		unsigned reason;
	} at[INV_LOST_COUNT + 1];
};

/*
 * Call it before reading a packet. Adds the losses since the previous packet to
 * out. Sets *skip to the number of events at the packet's beginning that were
 * already read. If `rotated' is true, the log's first files are missing, so a
 * gap at the beginning is not a loss.
 */
void inv_account_packet(struct inv_account *a, const struct inv_log_packet *h,
			bool rotated, struct inv_loss_list *out,
			uint32_t *skip);

/* Accounts for the next n events of the packet, after they were read. */
static inline void inv_account_read(struct inv_account *a, uint64_t n)
{
	a->next_event += n;
	a->recorded += n;
}
void inv_account_unreadable(struct inv_account *a, uint64_t n,
			    struct inv_loss_list *out);

/* Accounts for the stream's totals. `rotated' and `out' have the same meaning
 * as above. */
void inv_account_totals(struct inv_account *a, const struct inv_log_totals *t,
			bool rotated, struct inv_loss_list *out);

#endif
