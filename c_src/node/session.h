/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_SESSION_H
#define INV_NODE_SESSION_H

#include <ei.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/ring.h"
#include "base/err.h"
#include "node/gather.h"
#include "node/status.h"

/*
 * Sessions on nodes: abi/control.h, sections 4 to 6.
 *
 * Every question is a pair: inv_…_ask sends it (node/gather.h), inv_…_got
 * makes something of the answer.  A got that fails gives the question's own
 * failure, what the node answered (by its class: INV_EINVAL usage,
 * INV_EREFUSED, INV_ENOTHING, INV_EREMOTE), or INV_EDAMAGED for an answer that
 * makes no sense; text that came from a node holds no control characters.
 *
 * ms is the time limit of the answer; 0: 5000.
 */
enum inv_session_mode {
	INV_MODE_LIVE = 0,
	INV_MODE_RECORD,
	INV_MODE_DETACHED,
};

/* A list of texts, borrowed. */
struct inv_strings {
	const char *const *v;
	size_t n;
};

#define INV_UNSET (-1) /* the node's default */

/* What inv_session_start_ask takes; INV_SESSION_OPTS_INIT, then as wanted. */
struct inv_session_opts {
	const char *name;
	const char *owner;
	const erlang_pid *guard; /* of struct inv_attach */
	enum inv_session_mode mode;
	enum inv_keep keep;
	struct inv_strings specs;
	struct inv_strings procs;
	bool spawned, linked;
	/* limits: 0 is none */
	int64_t events, bytes, rate, for_ms;
	/* of inviso_tracer:open/2: INV_UNSET, or the value */
	int64_t max_term_bytes, max_depth, packet_bytes, buffer_bytes;
	int64_t flush_ms, drain_ms;
	const char *compress, *payload; /* atoms; NULL */
	const char *filter;		/* text; NULL */
	/* protections: 0 is off */
	int64_t run_queue, memory_percent;
	int64_t dead_man_ms, hold_ms;
	bool dry_run;
};

#define INV_SESSION_OPTS_INIT                                         \
	{                                                             \
		.max_term_bytes = INV_UNSET, .max_depth = INV_UNSET,  \
		.packet_bytes = INV_UNSET, .buffer_bytes = INV_UNSET, \
		.flush_ms = INV_UNSET, .drain_ms = INV_UNSET,         \
		.run_queue = INV_UNSET, .memory_percent = INV_UNSET,  \
		.dead_man_ms = INV_UNSET, .hold_ms = INV_UNSET        \
	}

/* One that runs on a node. */
struct inv_session {
	struct inv_conn *conn;
	erlang_pid pid;
};

void inv_session_start_ask(struct inv_ask *ask, struct inv_conn *c,
			   const struct inv_session_opts *o, int ms);
/* status may be NULL; else it is to be released (node/status.h). */
int inv_session_start_got(const struct inv_ask *ask, struct inv_session *out,
			  struct inv_status *status, struct inv_err *err);

/* One by its name.  Our code has to be on the node: attach first. */
void inv_session_find_ask(struct inv_ask *ask, struct inv_conn *c,
			  const char *name, int ms);
int inv_session_find_got(const struct inv_ask *ask, struct inv_session *out,
			 struct inv_err *err);

/* Questions that have no more to say than their name. */
enum inv_session_verb {
	INV_VERB_ALIVE = 0, /* got: inv_session_ok_got */
	INV_VERB_STATUS,    /* inv_session_status_got */
	INV_VERB_STOP,	    /* inv_session_status_got */
	INV_VERB_FILES,	    /* inv_session_files_got */
	INV_VERB_COUNTERS,  /* inv_session_counters_got */
	INV_VERB_HOLD,	    /* inv_session_ok_got */
	INV_VERB_REMOVE,    /* inv_session_ok_got */
};
void inv_session_ask(struct inv_ask *ask, const struct inv_session *s,
		     enum inv_session_verb verb, int ms);

int inv_session_ok_got(const struct inv_ask *ask, struct inv_err *err);
int inv_session_status_got(const struct inv_ask *ask, struct inv_status *out,
			   struct inv_err *err);

/* The log of a live session, from offset on, at most max bytes. */
void inv_session_follow_ask(struct inv_ask *ask, const struct inv_session *s,
			    uint64_t offset, uint32_t max, int ms);

enum inv_watermark {
	INV_WATERMARK_NONE = 0, /* nothing is known */
	INV_WATERMARK_AT,	/* below ns, Erlang monotonic time, all is
				   there */
	INV_WATERMARK_EOF,	/* the log is complete */
};

struct inv_followed {
	const uint8_t *bytes; /* borrowed from the ask */
	size_t len;
	enum inv_watermark watermark;
	int64_t ns;
};
int inv_session_follow_got(const struct inv_ask *ask, struct inv_followed *out,
			   struct inv_status *status, struct inv_err *err);

/* The files that `stop' left.  Names are plain: no '/', nothing that begins
 * with a dot. */
#define INV_SESSION_FILES_MAX 4096
#define INV_SESSION_FILE_NAME_MAX 255
struct inv_session_file {
	char name[INV_SESSION_FILE_NAME_MAX + 1];
	uint64_t size;
};
struct inv_session_files {
	struct inv_session_file *v; /* free() */
	size_t n;
};
int inv_session_files_got(const struct inv_ask *ask,
			  struct inv_session_files *out, struct inv_err *err);

void inv_session_read_ask(struct inv_ask *ask, const struct inv_session *s,
			  const char *name, uint64_t offset, uint32_t max,
			  int ms);
/* *bytes is borrowed from the ask; INV_END at the end of the file. */
int inv_session_read_got(const struct inv_ask *ask, const uint8_t **bytes,
			 size_t *len, struct inv_err *err);

/* What actions count and time have counted. */
struct inv_counter {
	char *mfa; /* "lists:seq/2", as Erlang writes it */
	uint64_t calls;
	int64_t ns; /* -1: not timed */
};
struct inv_counters {
	struct inv_counter *v;
	size_t n;
};
int inv_session_counters_got(const struct inv_ask *ask,
			     struct inv_counters *out, struct inv_err *err);
void inv_counters_release(struct inv_counters *c);

#endif
