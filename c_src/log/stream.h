/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_STREAM_H
#define INV_LOG_STREAM_H

#include <stdint.h>

#include "log/account.h"
#include "log/packet.h"
#include "log/set.h"

/*
 * One stream of a log: what one thread of the node recorded, in order, events
 * and losses.  It steps over the heads of other streams' packets on its own,
 * so that what many streams take in memory does not depend on the events.
 */
struct inv_stream {
	/* where the item is: good after inv_stream_next */
	uint64_t mono_ns; /* never goes back */
	bool is_loss;
	struct inv_event ev; /* pointers good until the next call */
	uint64_t lost_n;
	unsigned lost_reason;
	/* private */
	const struct inv_log_set *set;
	struct inv_unpacker *unpacker;
	struct inv_notices *notices;
	uint32_t number;
	struct inv_set_cursor cursor;
	const struct inv_log_file *file;
	struct inv_log_place at;
	struct inv_packet packet;
	const uint8_t *p; /* next record; NULL: no packet is open */
	const uint8_t *end;
	uint32_t left; /* records not yet read */
	struct inv_account account;
	struct inv_loss_list losses; /* to be given out first */
};

/* Borrows set, unpacker and notices. */
void inv_stream_init(struct inv_stream *s, const struct inv_log_set *set,
		     uint32_t number, struct inv_unpacker *unpacker,
		     struct inv_notices *notices);
void inv_stream_release(struct inv_stream *s);

/* The next event or loss: 0, INV_END, or INV_ENOMEM. */
int inv_stream_next(struct inv_stream *s);

#endif
