/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_STREAM_H
#define INV_LOG_STREAM_H

#include <stdint.h>

#include "log/account.h"
#include "log/event.h"
#include "log/notice.h"
#include "log/packet.h"

/*
 * A range of times on the events' clock: from_ns or later, and before until_ns.
 * The caller needs only events in this range.
 */
struct inv_range {
	bool limited; /* false: all events */
	uint64_t from_ns;
	uint64_t until_ns;
};

/*
 * One stream of a log. It returns the events of one thread of the node in their
 * order, and the losses.  The caller passes it the stream's packets one by one:
 *
 *	while (inv_stream_next(s) == INV_END && there is a packet)
 *		inv_stream_take(s, packet, ...);
 */
struct inv_stream {
	/* The current item. Valid after inv_stream_next. */
	uint64_t mono_ns; /* time of the item; never decreases */
	bool is_loss;
	bool is_pending;     /* the item is an event that was not read yet: only
			      * its time is known (inv_stream_load) */
	struct inv_event ev; /* pointers are valid until the next call */
	uint64_t lost_n;
	unsigned lost_reason;
	/* private */
	struct inv_unpacker *unpacker;
	struct inv_notices *notices;
	uint32_t number;
	bool rotated; /* the log's first files are missing */
	struct inv_log_place at;
	struct inv_packet packet;
	const uint8_t *p; /* next record; NULL: no packet open */
	const uint8_t *end;
	struct inv_event_times times;
	uint32_t left;	/* events of the packet that were not read yet */
	bool is_unread; /* the open packet is long, and its event was not
			   returned yet */
	bool is_long;	/* the item is the event of a long packet */
	struct inv_account account;
	struct inv_loss_list losses; /* to be returned before the next event */
	struct inv_range range;
	uint64_t since_ns; /* begin_ns of the last EVENTS packet */
	uint64_t skipped;  /* events of the packets that were skipped, because
			    * these packets are outside the range */
	bool undecided;	   /* it is not known yet whether the losses are within
			    * the range */
	bool no_names;	   /* skip early notes (inv_note_is_early), because the
			    * reader has returned them already */
};

/*
 * Borrows unpacker and notices. `rotated' is true if the log's first files are
 * missing.
 */
void inv_stream_init(struct inv_stream *s, uint32_t number, bool rotated,
		     struct inv_unpacker *unpacker,
		     struct inv_notices *notices);
void inv_stream_release(struct inv_stream *s);

/*
 * Limits the stream to a range. Call it before the first packet. The stream
 * then skips packets whose events are all outside the range, and losses that
 * are certainly outside the range. If a packet has events inside and outside
 * the range, the stream returns all events of the packet.
 */
void inv_stream_limit(struct inv_stream *s, const struct inv_range *range);

/* Moves to the next event, note or loss. Returns 0, or INV_END if the stream
 * needs the next packet. */
int inv_stream_next(struct inv_stream *s);

/*
 * Reads the current event if it is pending. The memory for the event is freed
 * by the next inv_stream_next. If the event is unreadable, the item becomes a
 * loss. Returns 0 or INV_ENOMEM.
 */
int inv_stream_load(struct inv_stream *s);

/*
 * Passes the stream its next EVENTS or TOTALS packet. The bytes to which `at'
 * points must stay valid until inv_stream_next returns INV_END. first_ns is the
 * time of the earliest event of the file, or UINT64_MAX if the file has no
 * events. Returns 0 or INV_ENOMEM.
 */
int inv_stream_take(struct inv_stream *s, const struct inv_log_place *at,
		    uint64_t first_ns);

/* Passes a packet of notes to the stream. The packet may be of another stream,
 * so the loss counters in its head are ignored. Returns 0 or INV_ENOMEM. */
int inv_stream_take_notes(struct inv_stream *s, const struct inv_log_place *at);

/* Call it when there is no further packet. If the stream still has an item,
 * moves to this item as inv_stream_next does, and returns true. */
bool inv_stream_end(struct inv_stream *s);

#endif
