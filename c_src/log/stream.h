/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_STREAM_H
#define INV_LOG_STREAM_H

#include <stdint.h>

#include "log/account.h"
#include "log/notice.h"
#include "log/packet.h"

/*
 * One stream of a log: what one thread of the node recorded, in order, events
 * and losses.  It is handed its packets one by one:
 *
 *	while (inv_stream_next(s) == INV_END && there is a packet)
 *		inv_stream_take(s, packet, ...);
 */
struct inv_stream {
	/* where the item is: good after inv_stream_next */
	uint64_t mono_ns; /* never goes back */
	bool is_loss;
	struct inv_event ev; /* pointers good until the next call */
	uint64_t lost_n;
	unsigned lost_reason;
	/* private */
	struct inv_unpacker *unpacker;
	struct inv_notices *notices;
	uint32_t number;
	bool rotated; /* the log's first files are not here */
	struct inv_log_place at;
	struct inv_packet packet;
	const uint8_t *p; /* next record; NULL: no packet is open */
	const uint8_t *end;
	uint32_t left; /* records not yet read */
	struct inv_account account;
	struct inv_loss_list losses; /* to be given out first */
};

/* Borrows unpacker and notices.  rotated: the log's first files are not here. */
void inv_stream_init(struct inv_stream *s, uint32_t number, bool rotated,
		     struct inv_unpacker *unpacker,
		     struct inv_notices *notices);
void inv_stream_release(struct inv_stream *s);

/* The next event or loss: 0; INV_END: another packet has to be taken first. */
int inv_stream_next(struct inv_stream *s);

/*
 * The next of its EVENTS packets, or TOTALS.  What at points to is used until
 * inv_stream_next returns INV_END.  first_ns: when the earliest event of the
 * file was; UINT64_MAX: it has none.  INV_ENOMEM.
 */
int inv_stream_take(struct inv_stream *s, const struct inv_log_place *at,
		    uint64_t first_ns);

#endif
