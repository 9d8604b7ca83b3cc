/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_HOPS_H
#define INV_FLOW_HOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "flow/facts.h"
#include "log/item.h"
#include "term/print.h"

/*
 * The hops of one or several requests, for views of requests. A hop is a
 * message, from its send event to its receive event; or a text that a process
 * printed (seq_trace:print); or the beginning of a request.
 *
 * A turn is what a process does after it has received a message, until it
 * receives the next message. Each hop that has a receiver begins a turn. Each
 * hop except the beginning of a request was sent or printed in the turn of
 * another hop, its parent. So the hops of a request form a tree, whose root is
 * the beginning of the request.
 *
 * 	inv_hops_init(&h, 0);
 * 	while (!inv_order_next(&o, &item)) {
 * 		item = inv_flow_item(&flow, item);
 * 		inv_flow_show(&flow, item);
 * 		if (item->facts && item->facts->cause &&
 * 		    item->facts->cause->request == wanted)
 * 			inv_hops_add(&h, item, &print);
 * 	}
 * 	inv_hops_finish(&h);
 * 	inv_tree_put(...)                        (sink/tree.h)
 * 	inv_hops_release(&h);
 *
 * Memory is bounded. Hops that come after the bound is reached are left out and
 * counted.
 */
enum inv_hop_kind {
	INV_HOP_BEGIN = 1,
	INV_HOP_MESSAGE,
	INV_HOP_PRINT,
};

#define INV_HOP_NONE UINT32_MAX

struct inv_hop {
	uint64_t request;
	uint8_t kind;	/* enum inv_hop_kind */
	uint8_t signal; /* enum inv_seq_signal */
	uint8_t orphan; /* enum inv_orphan: why the event from which the hop
			 * follows, or an event before it, is missing */
	bool certain;	/* it is certain that the hop follows from its parent;
			 * for a beginning: that nothing caused it */
	bool crosses;	/* a message from one node to another */
	bool selected;	/* a filter selects at least one of the hop's events;
			 * inv_hops_finish removes hops that are not selected,
			 * except roots */
	/* inv_hops_finish sets the fields from here to critical_ns. */
	bool critical;	     /* the hop is on the critical path of its
				request */
	uint32_t skipped;    /* how many hops between this hop and its parent
				were removed */
	uint32_t filtered;   /* only in a root: how many hops of its tree were
				removed, because no filter selects them */
	int64_t critical_ns; /* only in a root: duration of the critical path */
	uint32_t parent;     /* INV_HOP_NONE: the hop is a root */
	uint32_t first;	     /* the first child; INV_HOP_NONE: the hop has no
			 * children. Children are in the order in which they
			 * were sent or printed. If a send event is missing,
			 * the receive event counts instead */
	uint32_t last;
	uint32_t next;	  /* the next hop of the same parent */
	uint32_t root;	  /* the root of the hop's tree */
	uint32_t then;	  /* the hop of the same tree that was added
			    next */
	uint32_t newest;  /* only in a root: the hop that was added last */
	uint32_t from;	  /* process that sent or printed; INV_HOP_NONE: not
			     known */
	uint32_t to;	  /* the process that received the message, or that
			  * began the request; INV_HOP_NONE: there is no receive
			  * event */
	uint32_t aim;	  /* the process to which the message was sent;
			 * INV_HOP_NONE: it was sent to a name or alias, which
			 * is in to_text */
	uint64_t send_id; /* id (struct inv_cause) of the event that sent the
			   * message or printed the text; 0: it was not
			   * recorded */
	uint64_t receive_id;
	uint64_t last_id; /* id of the last event of the hop's turn */
	int64_t sent_ns;
	int64_t received_ns; /* for a beginning: the time of the request's
			      * first event */
	int64_t last_ns;     /* time of the last event of the hop's turn */
	size_t text;	     /* offset for inv_hops_text: the message, the
			      * printed text, or the function of a spawn */
	size_t to_text;
	size_t label; /* only in a root: the label of the request */
};

struct inv_hop_process {
	uint64_t key;
	uint32_t node; /* index in inv_hops.nodes */
	char *pid;     /* the pid as the process's own node prints it */
	char *name;    /* the name that the process registered, or, in
		        * parentheses, its label or the function that it runs;
		        * NULL: not known */
	bool registered;
};

struct inv_hop_node {
	char *name;	    /* UTF-8 without control characters */
	uint32_t number;    /* number of the struct inv_node; INV_HOP_NONE: the
			     * node has no log */
	uint32_t short_len; /* length of the start of the name that no other
			     * node has: the part before @, or all */
};

/* Which hop an event belongs to. The array is sorted by id. */
struct inv_hop_event {
	uint64_t id;
	uint32_t hop;
};

struct inv_hop_entry;

struct inv_hops {
	size_t memory; /* how much memory the hops may take, in bytes */
	struct inv_hop *v;
	uint32_t n;
	struct inv_hop_process **processes;
	uint32_t n_processes;
	struct inv_hop_node *nodes;
	uint32_t n_nodes;
	uint64_t left_out; /* events that were left out at the bound */
	/* private */
	struct inv_buf texts;
	struct inv_hop_event *events;
	size_t n_events;
	size_t cap_events;
	uint32_t cap;
	size_t more; /* bytes of memory that processes and nodes take */
	bool failed; /* memory is exhausted */
	struct inv_cursor *cursor;
	struct inv_hop_entry *table;
};

/*
 * How many bytes of a message's text are kept. A longer text is cut, and ends
 * with "…".
 */
#define INV_HOPS_TEXT 600u
#define INV_HOPS_MEMORY ((size_t)64 << 20)

/* memory: the bound in bytes; 0: INV_HOPS_MEMORY. Returns 0 or INV_ENOMEM. Call
 * inv_hops_release in both cases. */
int inv_hops_init(struct inv_hops *h, size_t memory);
void inv_hops_release(struct inv_hops *h);
/* Removes all hops. Afterwards other hops can be added. */
void inv_hops_reset(struct inv_hops *h);

/* Adds an event that went through the flow, and was shown (inv_flow_show).
 * Items that do not belong to a request are ignored. o: how terms are printed.
 * Returns 0 or INV_ENOMEM. */
int inv_hops_add(struct inv_hops *h, const struct inv_item *it,
		 const struct inv_print_opts *o);

/* Returns true if the hop begins a turn: a process received the message, or the
 * hop is the beginning of a request. */
static inline bool inv_hop_arrived(const struct inv_hop *p)
{
	return p->to != INV_HOP_NONE;
}

/* Returns when the hop was sent. If that is not known, returns when it was
 * received. */
static inline int64_t inv_hop_time(const struct inv_hop *p)
{
	return p->send_id ? p->sent_ns : p->received_ns;
}

static inline const char *inv_hops_text(const struct inv_hops *h, size_t at)
{
	return (const char *)h->texts.data + at;
}

/* Returns the hop to which the event with this id belongs, or INV_HOP_NONE. */
uint32_t inv_hops_find(const struct inv_hops *h, uint64_t id);

/*
 * Call this once, after the last event and before a view uses the hops. Returns
 * 0 or INV_ENOMEM. Afterwards events can be added only after inv_hops_reset.
 *
 * Finds the critical path of each request: the hops from the root to the last
 * event of the process that began the request. If this process received
 * nothing, the path ends with the last event of the request.
 *
 * Then removes the hops without a selected event (`context' in facts.h), and
 * the processes that no remaining hop refers to. The new parent of a remaining
 * hop is its nearest remaining ancestor. A root remains if at least one hop of
 * its tree remains. Removing hops changes no times and no critical paths.
 */
int inv_hops_finish(struct inv_hops *h);

#endif
