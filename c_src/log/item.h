/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_ITEM_H
#define INV_LOG_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"
#include "log/event.h"

/*
 * What readers give out and sinks take: events, and in their place the losses,
 * node by node or merged (log/merge.h).
 */
struct inv_names;

/* A node that inputs come from; one for all inputs of that name. */
struct inv_node {
	char *name;		 /* UTF-8 */
	uint32_t number;	 /* from 0, in the order of the command line */
	unsigned otp_release;	 /* 0: not known */
	uint32_t creation;	 /* of its incarnation; 0: not known, or there
				    are several */
	struct inv_names *names; /* from ti files; NULL: none */
};

enum inv_item_kind {
	INV_ITEM_EVENT,
	INV_ITEM_LOSS,
};

/* Why events are missing: enum inv_loss, and what only a reader finds out. */
enum inv_lost {
	INV_LOST_UNREADABLE = INV_LOSS_COUNT, /* recorded, but the log is
						 damaged there, or cut */
	INV_LOST_TRACER, /* a trace port's driver dropped them */
	INV_LOST_COUNT
};

struct inv_item {
	enum inv_item_kind kind;
	const struct inv_node *node;
	uint32_t stream; /* of its log; 0 where there is but one */
	/*
	 * Erlang system time of the node, ns since the Unix epoch.  For an
	 * event without a time: that of the event before.
	 */
	int64_t ts_ns;
	int64_t erl_ns; /* Erlang monotonic time */
	union {
		struct inv_event ev;
		struct {
			uint64_t n;
			unsigned reason; /* enum inv_loss or inv_lost */
		} lost;
	};
};

/* "full", …, "unreadable": what JSON and text have. */
const char *inv_lost_text(unsigned reason);

#endif
