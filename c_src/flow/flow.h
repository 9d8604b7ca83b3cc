/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_FLOW_H
#define INV_FLOW_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/facts.h"
#include "flow/labels.h"
#include "flow/paths.h"
#include "flow/process.h"
#include "flow/requests.h"
#include "flow/whole.h"
#include "log/feed.h"
#include "log/item.h"
#include "term/copy.h"

/*
 * Derives what events mean from the events before them: which call a return
 * ends and how long it took, the names of processes, and which message caused
 * an event of a sequential trace. Merged items go in, and the same items come
 * out, with facts. Filters come after the flow, so they do not change these
 * facts.
 *
 * 	inv_flow_init(&f, &opts);
 * 	while (!inv_merge_next(&m, &item)) {
 * 		item = inv_flow_item(&f, item);
 * 		... item->facts ...
 * 	}
 * 	inv_flow_release(&f);
 */
struct inv_flow_opts {
	bool keep;     /* keep the events of open calls, for struct inv_call */
	size_t memory; /* bound in bytes; 0: INV_FLOW_MEMORY */
	size_t request_memory; /* another bound, for requests; 0:
				  INV_REQUESTS_MEMORY */
	/* All feeds of the merge. They show from the start which nodes are
	 * recorded. NULL: a node is known only from its first item on. */
	struct inv_feed **feeds;
	uint32_t n_feeds;
	/* The tree to which paths of calls and samples of stacks are added.
	 * NULL: no such tree is made. */
	struct inv_paths *profile;
};

#define INV_FLOW_MEMORY ((size_t)256 << 20)
/* The event of a call is not kept if it has more bytes than this. */
#define INV_FLOW_KEPT_EVENT ((size_t)1 << 20)

struct inv_flow_feed {
	bool begun; /* the feed has returned an item */
	/* `marks': in the log, INV_HEAD_ENDS of a call event says whether the
	 * VM will report the call's end. `no_marks': a note INV_NOTE_ENDS has
	 * said that INV_HEAD_ENDS has no meaning any more. Notes can be read
	 * out of order, so once `no_marks' is set, `marks' stays false. */
	bool marks;
	bool no_marks;
	bool named; /* the feed's log has notes with names of processes */
};

/* What is known about the returns of a node's function. At most this many
 * functions are kept. If a function's returns are not traced, its calls are not
 * added to the open calls. */
#define INV_FLOW_FUNCTIONS 4096u

struct inv_flow_function {
	uint64_t key;
	bool returned;	 /* a return of the function was seen */
	uint32_t missed; /* calls that ended without a return, since the last
			    return */
	uint32_t calls;	 /* calls since the last return */
	uint64_t since;	 /* number of the item with the latest return that came
			  * while the function's calls were not added to the
			  * open calls; 0: none. A later return does not belong
			  * to a call from before this item. */
};

/* Counts of how the samples of a node were taken, indexed by enum
 * inv_sampling. */
struct inv_sampling_sums {
	uint64_t v[INV_SAMPLING_N];
};

struct inv_flow_node {
	const struct inv_node *node; /* NULL: no item of the node yet */
	uint64_t lost;		     /* number of the last item at which events
					were lost */
	struct inv_manner manner;
	struct inv_sampling_sums sampling;
};

struct inv_flow {
	struct inv_processes processes;
	struct inv_requests requests;
	struct inv_labels labels;
	uint64_t unmatched; /* returns whose call is unknown */
	/* private */
	struct inv_flow_opts opts;
	struct inv_cursor *cursor;
	struct inv_facts facts;
	struct inv_call call;
	struct inv_gc gc;
	struct inv_cause cause;
	struct inv_seq seq;
	const struct inv_item *seq_of; /* the item that was read into `seq' */
	struct inv_mfa mfa;
	struct inv_mfa call_mfa;
	struct inv_event event; /* a copy of the event of `call' */
	struct inv_whole_call whole;
	struct inv_dict dict; /* the dictionary entries that `event' uses */
	struct inv_copier copier;
	struct inv_process *exited; /* a process that has exited; it is
				       forgotten at the next item */
	struct inv_flow_function *functions;
	struct inv_flow_node *nodes; /* nodes[i] is the node with the number
					i */
	uint32_t n_nodes;
	struct inv_flow_feed *feeds; /* feeds[i] is the feed with the number
					i */
	uint32_t n_feeds;
	uint64_t items; /* how many items there were so far, which is the
			 * number of the current item */
	struct inv_buf text;
	char name[INV_NAME_MAX]; /* the process's name before the event, if
				    the event changes the name */
};

/* Returns 0 or INV_ENOMEM. Call inv_flow_release in both cases. */
int inv_flow_init(struct inv_flow *f, const struct inv_flow_opts *opts);
void inv_flow_release(struct inv_flow *f);

/*
 * Adds the item's facts, which are valid until the next call, and returns the
 * item. Returns NULL if there is no memory. A loss or a note has no facts.
 */
struct inv_item *inv_flow_item(struct inv_flow *f, struct inv_item *it);

/*
 * Returns the contents of a seq_trace item; call it before inv_flow_item.
 * Returns NULL if the item cannot be understood. The result is valid until the
 * next call of a function of this header.
 */
const struct inv_seq *inv_flow_seq(struct inv_flow *f,
				   const struct inv_item *it);

/*
 * Returns true if the event's process has no name yet, and a note with its name
 * may come later. Call this before inv_flow_item. The caller may wait for the
 * note, and meanwhile pass early notes (struct inv_item) to inv_flow_item.
 * After the wait, call inv_flow_set_awaited: then this function returns false
 * for later events of the process.
 */
bool inv_flow_awaits_name(struct inv_flow *f, const struct inv_item *it);
void inv_flow_set_awaited(struct inv_flow *f, const struct inv_item *it);

/* Call this if no filter leaves the item out. Then later events can name the
 * item as their cause. */
static inline void inv_flow_show(struct inv_flow *f, const struct inv_item *it)
{
	if (it->facts && it->facts->cause)
		inv_requests_show(&f->requests);
}

/* If the item has ended a call, adds the call to the profile. If the process
 * exited, also adds the calls around this call. Call this function after
 * inv_flow_item. */
void inv_flow_profile(struct inv_flow *f, const struct inv_item *it);

/* Returns how samples of a node were taken, or NULL if the node has no
 * samples. */
const struct inv_sampling_sums *inv_flow_sampling(const struct inv_flow *f,
						  const struct inv_node *node);

/* If the current item has ended a call whose event was kept, makes sinks show
 * the whole call as one entry, instead of its end. */
void inv_flow_show_call(struct inv_flow *f);

/*
 * A process or port as its own node knows it. For example, the pid <0.88.0> of
 * a node is printed as <8581.88.0> on another node.
 */
struct inv_identity {
	uint8_t kind; /* INV_TOK_PID or INV_TOK_PORT */
	uint64_t number;
	uint64_t serial;
	const char *node;	   /* name of the process's own node, UTF-8 */
	size_t node_len;	   /* length of `node'; 0: the node is
				      unknown */
	const struct inv_node *at; /* the process's own node; NULL: nothing was
				      recorded on that node */
	struct inv_process_name name;
};

/* Identifies the process or port tok of an event. The event is from `node', and
 * dict is the dictionary of its packet. Returns false if tok is another term.
 * The pointers in *id are valid until the next item. */
bool inv_flow_identify(struct inv_flow *f, const struct inv_node *node,
		       const struct inv_dict *dict, const struct inv_token *tok,
		       struct inv_identity *id);

#endif
