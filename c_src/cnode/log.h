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
 * The log of a C node: one file, one stream, and only events of seq_trace. Events
 * are collected in a packet, which is written when it is full, and when the
 * caller asks.
 */
struct inv_cnode_log {
	uint64_t recorded; /* events in the file or in memory */
	uint64_t dropped[INV_LOSS_COUNT];
	uint32_t pending;   /* events in memory */
	uint64_t max_bytes; /* of the file; 0: no limit */
	/* private */
	struct inv_log_writer out;
	struct inv_pack pack; /* the terms of one event; definitions of the
				 packet */
	struct inv_buf events;
	struct inv_buf defs;
	uint64_t produced;
	uint64_t numbered; /* events that have a number in the stream */
	uint64_t seq;
	uint64_t begin_ns;
	uint64_t last_ns; /* time of the last event */
	uint64_t looked_ns;
	int64_t unique; /* of strict timestamps */
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
	const erlang_pid *to;	  /* NULL: to_name, or [] */
	const char *to_name;	  /* {to_name,to_node}; NULL: [] */
	const char *to_node;	  /* NULL: To is only the name */
	const erlang_pid *exited; /* the message is {'EXIT',exited,Term} */
	const char *term;	  /* external format */
	size_t len;
};

/* Creates the file. `node' is borrowed until inv_cnode_log_close. */
int inv_cnode_log_open(struct inv_cnode_log *l, const char *path,
		       const char *node, uint32_t creation,
		       struct inv_err *err);

/*
 * Adds an event. Returns 0 or a negative code: it is counted as lost. It is
 * written when the packet has more than `keep' bytes.
 */
int inv_cnode_log_add(struct inv_cnode_log *l, const struct inv_cnode_event *ev,
		      size_t keep);

/* Writes what is in memory. On failure it is lost; err->sys has errno. */
int inv_cnode_log_flush(struct inv_cnode_log *l, struct inv_err *err);

/* Writes what is in memory and the totals, and closes the file. */
int inv_cnode_log_close(struct inv_cnode_log *l, struct inv_err *err);

#endif
