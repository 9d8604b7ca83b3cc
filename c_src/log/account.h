/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_ACCOUNT_H
#define INV_LOG_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/log.h"
#include "log/item.h"

/*
 * Accounts for the losses of one stream, so that each lost event is reported
 * exactly once.
 *
 * A loss can be visible in two places: packets and totals have loss counters,
 * one for each reason, and the events' numbers can have gaps. Losses of three
 * reasons are visible in both places: events that were overwritten in the ring,
 * that could not be written to the log, or that were damaged. These events had
 * numbers before they were lost. So the increase of these three counters
 * explains a gap or a part of it. The events of a gap that the counters do not
 * explain were recorded, but their packets cannot be read.
 */
struct inv_account {
	uint64_t next_event; /* number of the first event that is not accounted
				for yet */
	uint64_t known[INV_LOSS_COUNT]; /* losses reported so far */
	uint64_t credit;   /* losses that were reported, and whose gap in the
			      numbers was not seen yet */
	uint64_t recorded; /* events that were recorded: events that were read,
			      that are unreadable, or that are in files that
			      rotation deleted */
	uint64_t unreadable;
	uint64_t rotated; /* events in files that rotation deleted: not a
			     loss */
	bool begun;
};

/* Losses that are to be reported. An entry has the number of lost events and
 * the reason. The last entry is reported first. */
struct inv_loss_list {
	unsigned n;
	struct {
		uint64_t n;
		unsigned reason;
	} at[INV_LOST_COUNT + 1];
};

/*
 * Call it before reading an EVENTS packet. Adds the losses since the previous
 * packet to *out. Sets *skip to the number of events at the packet's beginning
 * that were already read from earlier packets. If `rotated' is true, the log's
 * first files are missing, and a gap before the stream's first packet is not a
 * loss.
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
/* Accounts for the next n events of the packet, which cannot be read. */
void inv_account_unreadable(struct inv_account *a, uint64_t n,
			    struct inv_loss_list *out);

/* Adds to *out the losses that the stream's totals show and that were not
 * reported yet. `rotated' is as for inv_account_packet. */
void inv_account_totals(struct inv_account *a, const struct inv_log_totals *t,
			bool rotated, struct inv_loss_list *out);

#endif
