/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_SEQ_H
#define INV_FLOW_SEQ_H

#include <stdbool.h>
#include <stdint.h>

#include "log/item.h"
#include "term/cursor.h"

/*
 * A seq_trace event: {seq_trace, Label, {send | 'receive' | print, {Prev,Cur},
 * From, To, Message}}.
 *
 * Labels, processes and nodes are hashes, because they are only compared. The
 * hash of a pid is the same for all nodes, although each node prints the pid
 * differently.
 */
enum inv_seq_kind {
	INV_SEQ_SEND = 1,
	INV_SEQ_RECEIVE,
	INV_SEQ_PRINT,
};

/* The kind of the message. seq_trace reports a spawn as two messages, and an
 * exit signal as one. */
enum inv_seq_signal {
	INV_SIGNAL_MESSAGE = 0,
	INV_SIGNAL_UNKNOWN,	/* the message was not recorded */
	INV_SIGNAL_SPAWN,	/* {spawn_request, ...}, parent to child */
	INV_SIGNAL_SPAWN_ARGS,	/* the arguments of a spawn on another node,
				 * which are a separate message */
	INV_SIGNAL_SPAWN_REPLY, /* {spawn_reply, ...}, child to parent */
	INV_SIGNAL_EXIT,	/* {'EXIT', From, Reason}, by a link */
	INV_SIGNAL_PORT, /* a message to a port, which receives nothing */
};

struct inv_seq {
	enum inv_seq_kind kind;
	int64_t ts_ns; /* set by the flow, when the event is added */
	enum inv_seq_signal signal;
	uint64_t label;
	uint64_t prev;
	uint64_t cur;
	uint64_t from;	    /* the process that sent or printed */
	uint64_t from_node; /* inv_seq_node of the node of `from' */
	bool within; /* sender and receiver are known to be on one node */
	uint64_t to; /* the process that received; 0 in a send to a name, an
			alias, a node or a port */
};

/* Returns the process in which the event happened. */
static inline uint64_t inv_seq_process(const struct inv_seq *s)
{
	return s->kind == INV_SEQ_RECEIVE ? s->to : s->from;
}

/* Both functions return the hash of a node's name. */
uint64_t inv_seq_node(const char *name, size_t len);
uint64_t inv_seq_home(const struct inv_node *node);

/* Returns the hash of the pid in tok, a token of the item's event. */
uint64_t inv_seq_pid(const struct inv_item *it, const struct inv_token *tok);

/*
 * Reads the item's event, which has the tag seq_trace, with the cursor c. The
 * state of c does not matter. Returns false if the event has other terms than
 * an event of seq_trace, or was cut; then *s is undefined.
 */
bool inv_seq_read(struct inv_seq *s, struct inv_cursor *c,
		  const struct inv_item *it);

/* Returns the signal's name for users; NULL for an ordinary message. */
const char *inv_signal_text(enum inv_seq_signal signal);

#endif
