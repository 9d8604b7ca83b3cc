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

/* A call that has ended. The flow fills this in at the event that ends the
 * call. */
struct inv_call {
	enum inv_call_end end;
	uint64_t item;	     /* the number of the item with the call's event,
			      * as in struct inv_facts */
	int64_t begin_ts_ns; /* Erlang system time */
	int64_t duration_ns;
	int64_t self_ns; /* duration_ns minus the time in ended calls inside
			  * this call */
	uint32_t depth;	 /* how many open calls are around this call */
	/* When the innermost and the outermost call around this call began. If
	 * no call is around it: when this call began. */
	int64_t around_ts_ns;
	int64_t outermost_ts_ns;
	/* False: the event may have ended another call, so that all numbers can
	 * be wrong. The reason: events of the node were lost during the call;
	 * or the process exited, and the call may have returned earlier without
	 * a return event. */
	bool certain;
	/* The node recorded the call only when the call ended. So all these
	 * facts are from the record of the end, and the beginning of the call
	 * has no event. */
	bool decided;
	/* The event of the call. NULL: the flow did not keep the event (`keep'
	 * in struct inv_flow_opts). */
	const struct inv_event *event;
	const struct inv_mfa *mfa;     /* the called function, if `event' is
					  not NULL */
	struct inv_paths_frame *frame; /* in the flow's profile; NULL: none */
};

struct inv_flow;

/* Facts from a node's notes that decide how the node's terms are printed. */
struct inv_manner {
	struct inv_fields *fields; /* names of fields of records; NULL: none */
	bool elixir;		   /* Elixir runs on the node */
};

/*
 * The facts that inv_flow derives about an event. All pointers are valid until
 * the next item.
 */
struct inv_facts {
	uint64_t item; /* the number of the item in the merge, from 1 */
	bool open;     /* for a call event: a later event can end the call */
	const struct inv_mfa *mfa;   /* the function in the event; NULL: none */
	const struct inv_call *call; /* the call that the event ended, or
					NULL */
	const struct inv_gc *gc;     /* the garbage collection that the event
			 * ended, or NULL */
	uint32_t depth; /* for a call and the end of a call: how many open
			 * calls of the process are around it */
	/* The name that the tracee had before the event; len 0: no name is
	 * known. */
	struct inv_process_name name;
	/* True: instead of the call's end, sinks show the whole call as one
	 * entry. Then call->event is not NULL. */
	bool whole;
	const struct inv_cause *cause; /* the cause of a seq_trace event; NULL:
				        * the event is no seq_trace event, or
				        * its terms are invalid or cut */
	/* No filter selects the event. Views of requests get it nevertheless,
	 * because selected events may follow from it. */
	bool context;
	const char *label; /* the values of `inviso seq --label' for the
			    * event's request; NULL: none */
	struct inv_flow *flow;
	const struct inv_manner *manner;
};

#endif
