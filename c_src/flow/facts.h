/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_FACTS_H
#define INV_FLOW_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/gc.h"
#include "flow/mfa.h"
#include "flow/process.h"
#include "flow/requests.h"
#include "log/item.h"
#include "term/fields.h"

enum inv_call_end {
	INV_CALL_RETURN = 1,
	INV_CALL_EXCEPTION,
	INV_CALL_EXIT, /* the process exited in the call */
};

/* A call that an event ended. */
struct inv_call {
	enum inv_call_end end;
	int64_t begin_ts_ns; /* Erlang system time */
	int64_t duration_ns;
	int64_t self_ns; /* duration_ns without ended calls inside this call */
	uint32_t depth;	 /* traced calls of the process around this call */
	/* False: events of the node were lost during the call, or the process
	 * exited and no return of the function was ever seen. Then another call
	 * can be meant, and all numbers can be wrong. */
	bool certain;
	/* The call's own event. NULL: it was not kept (struct inv_flow, keep). */
	const struct inv_event *event;
	const struct inv_mfa *mfa; /* of `event'; NULL like `event' */
};

struct inv_flow;

/* What notes tell about the terms of a node. */
struct inv_manner {
	struct inv_fields *fields; /* names of fields of records; NULL: none */
	bool elixir;		   /* Elixir runs on the node */
};

/*
 * What inv_flow derives about an event. All pointers are valid until the next
 * item.
 */
struct inv_facts {
	const struct inv_mfa *mfa;   /* the function in the event; NULL: none */
	const struct inv_call *call; /* the call that the event ended; NULL */
	const struct inv_gc
		*gc;	/* the garbage collection that it ended; NULL */
	uint32_t depth; /* call, and its end: open calls of the process around
			   the call */
	/* The name of the tracee before the event; len 0: unknown. */
	struct inv_process_name name;
	/* Show the call, as one entry, instead of its end. Then `call' has its
	 * event. */
	bool whole;
	const struct inv_cause *cause; /* seq_trace: from what it follows; NULL
					  for another event */
	/* The event is not selected. Views of requests get it all the same,
	 * because selected events follow from it. */
	bool context;
	const char *label; /* of the request: the values of --label; NULL: only
			      the token has a label */
	struct inv_flow *flow;
	const struct inv_manner *manner;
};

#endif
