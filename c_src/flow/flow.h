/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_FLOW_H
#define INV_FLOW_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/facts.h"
#include "flow/labels.h"
#include "flow/process.h"
#include "flow/requests.h"
#include "log/feed.h"
#include "log/item.h"
#include "term/copy.h"

/*
 * Derives what events mean from the events before them: which call a return
 * ends and how long it took, the names of processes, and which message caused
 * an event of a sequential trace. Merged items go in,
 * and the same items come out, with facts. Filters come after it, so they do not
 * change what is derived.
 *
 *	inv_flow_init(&f, &opts);
 *	while (!inv_merge_next(&m, &item)) {
 *		item = inv_flow_item(&f, item);
 *		... item->facts ...
 *	}
 *	inv_flow_release(&f);
 */
struct inv_flow_opts {
	bool keep;     /* keep the events of open calls, for struct inv_call */
	size_t memory; /* bound in bytes; 0: INV_FLOW_MEMORY */
	size_t request_memory; /* another bound, for requests; 0:
				  INV_REQUESTS_MEMORY */
	/* All feeds of the merge, which say which nodes are recorded. Without
	 * them, nodes are known from their first item on. */
	struct inv_feed **feeds;
	uint32_t n_feeds;
};

#define INV_FLOW_MEMORY ((size_t)256 << 20)
/* A call whose event has more bytes than this is not kept. */
#define INV_FLOW_KEPT_EVENT ((size_t)1 << 20)

struct inv_flow_feed {
	bool begun; /* it had an item */
	/* Its calls have marks: INV_NOTE_ENDS. Once a note says that they no
	 * longer have, an earlier note that is read later changes nothing. */
	bool marks;
	bool no_marks;
};

/* A function of a node. Functions whose calls never return are not counted as
 * open calls. */
#define INV_FLOW_FUNCTIONS 4096u

struct inv_flow_function {
	uint64_t key;
	bool returned;	 /* a return was seen */
	uint32_t missed; /* calls that ended without a return, since the last
			    return */
	uint32_t calls;	 /* since the last return */
	uint64_t since;	 /* open calls of earlier items than this one are
			    incomplete, because calls were not counted */
};

struct inv_flow_node {
	const struct inv_node *node; /* NULL: no item yet */
	uint64_t lost;		     /* number of the last item at which events
					were lost */
	struct inv_manner manner;
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
	struct inv_event event; /* of `call' */
	struct inv_dict dict;	/* of `event' */
	struct inv_copier copier;
	struct inv_process *exited; /* to forget at the next item */
	struct inv_flow_function *functions;
	struct inv_flow_node *nodes; /* by number */
	uint32_t n_nodes;
	struct inv_flow_feed *feeds; /* by number */
	uint32_t n_feeds;
	uint64_t items; /* so far; the number of the current item */
	struct inv_buf text;
	char name[INV_NAME_MAX]; /* the name that the event changes */
};

/* Returns 0 or INV_ENOMEM; release it also then. */
int inv_flow_init(struct inv_flow *f, const struct inv_flow_opts *opts);
void inv_flow_release(struct inv_flow *f);

/* Adds the item's facts, which are valid until the next call, and returns the
 * item. NULL: no memory. A loss or a note has no facts. */
struct inv_item *inv_flow_item(struct inv_flow *f, struct inv_item *it);

/*
 * Returns what a seq_trace item says, before inv_flow_item; NULL: nothing that
 * can be understood. Valid until the next call of a function.
 */
const struct inv_seq *inv_flow_seq(struct inv_flow *f,
				   const struct inv_item *it);

/* The item, with its facts, is shown, and not left out by a filter: so later
 * events can name it as their cause. */
static inline void inv_flow_show(struct inv_flow *f, const struct inv_item *it)
{
	if (it->facts && it->facts->cause)
		inv_requests_show(&f->requests);
}

/* Sinks then show the call that the current item has ended as one entry. */
void inv_flow_show_call(struct inv_flow *f);

/*
 * A process or port as its own node knows it. A pid that one node prints as
 * <8581.88.0> is <0.88.0> on its own node.
 */
struct inv_identity {
	uint8_t kind; /* INV_TOK_PID or INV_TOK_PORT */
	uint64_t number;
	uint64_t serial;
	const char *node;	   /* name of its node, UTF-8 */
	size_t node_len;	   /* 0: unknown */
	const struct inv_node *at; /* NULL: nothing was recorded on its node */
	struct inv_process_name name;
};

/* Identifies the process or port tok, in an event of `node' whose dictionary is
 * dict. Returns false for another term. The pointers are valid until the next
 * item. */
bool inv_flow_identify(struct inv_flow *f, const struct inv_node *node,
		       const struct inv_dict *dict, const struct inv_token *tok,
		       struct inv_identity *id);

#endif
