/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_ITEM_H
#define INV_LOG_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"
#include "log/event.h"

/*
 * An item is what a reader returns and a sink takes: an event, a loss, or a
 * note. A loss says how many events are missing at its place in the order of
 * items.
 */
struct inv_names;
struct inv_facts;

/* An Erlang node. All inputs with the same node name share one struct. */
struct inv_node {
	char *name;	      /* UTF-8 */
	uint32_t number;      /* from 0, in the order of the inputs */
	uint64_t key;	      /* inv_node_key of the name; 0: not set */
	unsigned otp_release; /* 0: unknown */
	char *erts_version;   /* NULL: unknown */
	char *os_pid; /* the operating system's process id; NULL: unknown, or
			 the node was restarted between the inputs */
	uint32_t creation;	 /* creation of the node; 0: unknown, or the
				    node was restarted between the inputs */
	bool restarted;		 /* the node was restarted between the inputs */
	struct inv_names *names; /* from ti files; NULL: none */
};

/* Returns a hash of a node's name, which is the same in all logs. */
uint64_t inv_node_key(const char *name, size_t len);

enum inv_item_kind {
	INV_ITEM_EVENT,
	INV_ITEM_LOSS,
	INV_ITEM_NOTE, /* a note, in `ev'; only the flow (flow/flow.h) uses
			* notes */
};

/*
 * Reasons of losses that only a reader detects. They continue the numbers of
 * enum inv_loss.
 */
enum inv_lost {
	INV_LOST_UNREADABLE = INV_LOSS_COUNT, /* the events were in the log, but
						 it is damaged or its end is
						 missing */
	INV_LOST_TRACER, /* a trace port's driver dropped them */
	INV_LOST_COUNT
};

struct inv_item {
	enum inv_item_kind kind;
	const struct inv_node *node;
	uint32_t stream; /* number of the stream in its log; 0 if there is only
			    one */
	uint32_t feed;	 /* number of the item's feed in the merge */
	bool early;	 /* the reader returns this note too early: before
			  * events that the node wrote before the note */
	/*
	 * Erlang system time of the node, in ns since the Unix epoch. An event
	 * without a time has the time of the previous event.
	 */
	int64_t ts_ns;
	int64_t moved_ns; /* the correction of the node's clock that ts_ns
			     includes */
	int64_t erl_ns;	  /* Erlang monotonic time */
	/*
	 * Time on the clock of the events, in ns. Durations are measured with
	 * this clock. ts_ns and erl_ns are computed from mono_ns with the log's
	 * anchors and are rounded, so in two logs of the same calls they differ
	 * slightly.
	 */
	int64_t mono_ns;
	/* Facts about the event, which the flow has derived from earlier items
	 * (flow/flow.h). NULL: the item did not go through the flow. */
	const struct inv_facts *facts;
	union {
		struct inv_event ev;
		struct {
			uint64_t n;
			unsigned reason; /* enum inv_loss or enum inv_lost */
		} lost;
	};
};

/* Returns the item's system time without the correction of the node's clock. */
static inline int64_t inv_item_recorded_ns(const struct inv_item *it)
{
	return (int64_t)((uint64_t)it->ts_ns - (uint64_t)it->moved_ns);
}

/* Returns the word for the reason of a loss: "full", …, "unreadable". */
const char *inv_lost_text(unsigned reason);

#endif
