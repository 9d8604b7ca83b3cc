/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CNODE_LOG_H
#define INV_CNODE_LOG_H

#include <ei.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cnode/pack.h"
#include "log/writer.h"

/*
 * The log of a C node: one file, one stream, and only events of seq_trace.
 * Events are collected in a packet, which is written when it is full, and when
 * the caller asks.
 */
struct inv_cnode_log {
	uint64_t recorded; /* events in the file, plus events in memory that
			      will be written */
	uint64_t dropped[INV_LOSS_COUNT];
	uint32_t pending;   /* how many recorded events are still in memory */
	uint64_t max_bytes; /* the most bytes of the file; 0: no limit */
	/* private */
	struct inv_log_writer out;
	struct inv_pack pack; /* the terms of one event, and the definitions of
				 the whole packet */
	struct inv_buf events;
	struct inv_buf defs;
	uint64_t produced;
	uint64_t numbered; /* events that have a number in the stream */
	uint64_t seq;
	uint64_t begin_ns;
	uint64_t last_ns; /* monotonic time of the last event */
	uint64_t looked_ns;
	int64_t unique; /* unique number of the last strict timestamp */
	struct inv_anchor anchor;
};

enum inv_cnode_kind {
	INV_CNODE_SEND,
	INV_CNODE_RECEIVE,
	INV_CNODE_PRINT,
};

struct inv_cnode_event {
	enum inv_cnode_kind kind;
	enum inv_ts_kind ts_kind; /* NONE, TIMESTAMP, MONOTONIC or STRICT */
	long label;
	long prev;
	long cur;
	const erlang_pid *from;
	const erlang_pid *to;	  /* NULL: the receiver is to_name or, if
				     to_name is NULL, [] */
	const char *to_name;	  /* registered name of the receiver, or NULL */
	const char *to_node;	  /* node of the receiver, {to_name,to_node};
				     NULL: only the name is recorded */
	const erlang_pid *exited; /* the message is {'EXIT',exited,Term} */
	const char *term;	  /* the message, in the external term format */
	size_t len;
};

/* Creates the file. `node' is borrowed until inv_cnode_log_close. */
int inv_cnode_log_open(struct inv_cnode_log *l, const char *path,
		       const char *node, uint32_t creation,
		       struct inv_err *err);

/*
 * Adds an event. On failure returns a negative code, and the event is counted
 * as lost. Writes the packet when it has more than `keep' bytes.
 */
int inv_cnode_log_add(struct inv_cnode_log *l, const struct inv_cnode_event *ev,
		      size_t keep);

/* Writes the events that are still in memory to the file. On failure these
 * events are lost, and err->sys is the errno. */
int inv_cnode_log_flush(struct inv_cnode_log *l, struct inv_err *err);

/* Writes the events that are still in memory, and the totals, to the file, and
 * closes it. */
int inv_cnode_log_close(struct inv_cnode_log *l, struct inv_err *err);

#endif
