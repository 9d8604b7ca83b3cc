/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_REQUESTS_H
#define INV_FLOW_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/seq.h"

/*
 * Requests: seq_trace events that follow from each other, on all nodes.
 *
 * A message that is received follows from the send event with the same label,
 * sender and serial {Prev,Cur}. Each other event has a serial, too: its Prev is
 * the Cur of the last message that its process received, and the event follows
 * from this message. An event that follows from nothing begins a request.
 *
 * Events of one process must be added in their order. Memory is bounded:
 * messages and processes that were not used for the longest time are forgotten.
 */

/* Why the event from which another event follows is not known. */
enum inv_orphan {
	INV_ORPHAN_NOT = 0,
	INV_ORPHAN_LOST,      /* the node of the missing event has lost
				 events */
	INV_ORPHAN_UNTRACED,  /* the missing event was not recorded */
	INV_ORPHAN_IN_FLIGHT, /* a log of the missing event's node has no end,
				 and the event may have come after the part
				 that was read */
};

/* Returns the word that users see for this reason, or NULL for
 * INV_ORPHAN_NOT. */
const char *inv_orphan_text(enum inv_orphan orphan);

struct inv_cause {
	uint64_t id;	  /* number of this event, from 1 */
	uint64_t request; /* number of the event's request, from 1 */
	/* The id of the event from which this event follows. If that event is
	 * not shown, the id of its nearest cause that is shown. 0: there is
	 * none. */
	uint64_t cause;
	/* False: events between this event and its cause are missing, or it is
	 * not certain that there is no cause. */
	bool certain;
	enum inv_orphan orphan;
	enum inv_seq_signal signal;
};

struct inv_request_counts {
	uint64_t events;
	uint64_t requests;
	uint64_t messages; /* messages that were received and whose send event
			    * was found */
	uint64_t orphans[INV_ORPHAN_IN_FLIGHT + 1];
	uint64_t repaired;  /* serials that a spawn had changed */
	uint64_t repeated;  /* serials that were used twice, or that are
			       larger than a serial can be */
	uint64_t forgotten; /* messages and processes that were removed because
			     * the memory is bounded */
};

struct inv_party;
struct inv_sent;

/* A node whose processes sent or received messages of requests. */
struct inv_request_node {
	uint64_t key;	 /* the node's name, as inv_seq_node hashes it */
	bool recorded;	 /* the files that are read include a log of the node */
	bool lost;	 /* some events of the node were lost */
	bool unfinished; /* a log of the node has no end */
};

struct inv_requests {
	struct inv_request_counts counts;
	/* private */
	size_t most_parties;
	size_t most_sent;
	struct inv_party *parties;
	struct inv_party *turn; /* where the search for a process to forget
				   begins; NULL: at the first */
	struct inv_sent *sent;	/* messages that were sent and not yet
				   received, the oldest first */
	struct inv_sent *sent_to;
	struct inv_request_node *nodes;
	uint32_t n_nodes;
	/* The id of the event that was added last, and the fields that
	 * inv_requests_show sets to this id. */
	uint64_t id;
	uint64_t *shows[3];
};

/* memory: the bound in bytes; 0: INV_REQUESTS_MEMORY */
#define INV_REQUESTS_MEMORY ((size_t)128 << 20)
void inv_requests_init(struct inv_requests *r, size_t memory);
void inv_requests_release(struct inv_requests *r);

/*
 * Returns the node, whose fields the caller may change, or NULL if there is no
 * memory. The pointer is valid until the next call.
 */
struct inv_request_node *inv_requests_node(struct inv_requests *r,
					   uint64_t key);

/*
 * Returns true if the event from which `receive' follows was added, or can no
 * longer come. Returns false if that event can still come from the sender's
 * node.
 */
bool inv_requests_ready(struct inv_requests *r, const struct inv_seq *receive);

/* If the send event of `receive' was added, sets *ts_ns to its time and returns
 * true. */
bool inv_requests_sent(const struct inv_requests *r,
		       const struct inv_seq *receive, int64_t *ts_ns);

/*
 * Call this if later events of the process do not follow from its earlier
 * events. Then the next event of the process begins a request, unless the
 * process receives a message first. Returns 0 or INV_ENOMEM.
 */
int inv_requests_begin(struct inv_requests *r, uint64_t process);

/* Adds an event, and sets *cause. Returns 0 or INV_ENOMEM. */
int inv_requests_add(struct inv_requests *r, const struct inv_seq *s,
		     struct inv_cause *cause);

/* Call this if the event that was added last is shown. It is then the cause of
 * the events that follow from it. If an event is not shown, its own cause
 * becomes the cause of the events that follow from it. */
void inv_requests_show(struct inv_requests *r);

/* Returns how many messages were sent and not received so far. */
uint64_t inv_requests_in_flight(const struct inv_requests *r);

#endif
