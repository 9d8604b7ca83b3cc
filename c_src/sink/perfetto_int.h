/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_PERFETTO_INT_H
#define INV_SINK_PERFETTO_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/proto.h"
#include "base/uthash.h"
#include "flow/flow.h"
#include "sink/sink.h"

/*
 * A timeline for ui.perfetto.dev and trace_processor: a Trace, whose packets
 * are written in the order of the items. Shared only by the files of this
 * format:
 *
 *	perfetto.c          what each event becomes
 *	perfetto_packet.c   packets, and numbers that stand for names
 *	perfetto_track.c    tracks of nodes, schedulers and streams
 *	perfetto_process.c  processes, and their tracks
 *	perfetto_term.c     terms as annotations of events
 *
 * Readers sort packets by time. Packets with equal times stay in the order in
 * which they were written.
 */

/* The field numbers of each protobuf message. */
enum {
	PF_TRACE_PACKET = 1,

	PF_PACKET_CLOCKS = 6,
	PF_PACKET_TIME = 8,
	PF_PACKET_SEQUENCE = 10,
	PF_PACKET_EVENT = 11,
	PF_PACKET_INTERNED = 12,
	PF_PACKET_FLAGS = 13,
	PF_PACKET_DEFAULTS = 59,
	PF_PACKET_TRACK = 60,

	PF_CLOCKS_CLOCK = 1,
	PF_CLOCKS_PRIMARY = 2,
	PF_CLOCK_ID = 1,
	PF_CLOCK_TIME = 2,

	PF_DEFAULTS_CLOCK = 58,

	PF_INTERNED_CATEGORY = 1,
	PF_INTERNED_NAME = 2,
	PF_INTERNED_KEY = 3,
	PF_STRING_NUMBER = 1,
	PF_STRING_TEXT = 2,

	PF_EVENT_CATEGORY = 3,
	PF_EVENT_ANNOTATION = 4,
	PF_EVENT_TYPE = 9,
	PF_EVENT_NAME = 10,
	PF_EVENT_TRACK = 11,
	PF_EVENT_CATEGORY_TEXT = 22,
	PF_EVENT_NAME_TEXT = 23,
	PF_EVENT_COUNTER = 30,
	PF_EVENT_FLOW = 47,
	PF_EVENT_FLOW_END = 48,
	PF_EVENT_CORRELATION = 52,

	PF_ANNOTATION_KEY = 1,
	PF_ANNOTATION_BOOL = 2,
	PF_ANNOTATION_UINT = 3,
	PF_ANNOTATION_TEXT = 6,
	PF_ANNOTATION_ARRAY = 12,

	PF_TRACK_UUID = 1,
	PF_TRACK_NAME = 2,
	PF_TRACK_PROCESS = 3,
	PF_TRACK_PARENT = 5,
	PF_TRACK_COUNTER = 8,
	PF_PROCESS_PID = 1,
	PF_PROCESS_NAME = 6,
	PF_COUNTER_UNIT = 3,
};

enum inv_pf_type {
	INV_PF_BEGIN = 1, /* of a slice */
	INV_PF_END = 2,
	INV_PF_INSTANT = 3,
	INV_PF_COUNTER = 4,
};

/* The keys of annotations. */
#define INV_PF_KEYS(X)            \
	X(ARGS, "args")           \
	X(RETURN, "return")       \
	X(EXCEPTION, "exception") \
	X(END, "end")             \
	X(RESULT, "result")       \
	X(CERTAIN, "certain")     \
	X(TRUNCATED, "truncated") \
	X(REDACTED, "redacted")   \
	X(SCHEDULER, "scheduler") \
	X(MESSAGE, "message")     \
	X(TO, "to")               \
	X(FROM, "from")           \
	X(FUNCTION, "function")   \
	X(PROCESS, "process")     \
	X(PARENT, "parent")       \
	X(REASON, "reason")       \
	X(NAME, "name")           \
	X(PAYLOAD, "payload")     \
	X(EXTRA, "extra")         \
	X(REQUEST, "request")     \
	X(LABEL, "label")         \
	X(SERIAL, "serial")       \
	X(ID, "id")               \
	X(CAUSE, "cause")         \
	X(ORPHAN, "orphan")       \
	X(SIGNAL, "signal")       \
	X(LOST, "lost")

enum inv_pf_key {
	INV_PF_KEY_NONE, /* the numbers begin at 1 */
#define INV_PF_KEY_ENUM(name, text) INV_PF_KEY_##name,
	INV_PF_KEYS(INV_PF_KEY_ENUM)
#undef INV_PF_KEY_ENUM
};

/* The names of the slices that are states of processes, not calls. */
#define INV_PF_STATES(X)      \
	X(RUNNING, "running") \
	X(WAITING, "waiting") \
	X(EXITING, "exiting") \
	X(COLLECTING, "collecting")

/* The numbers with which packets refer to names. The number of a tag's name is
 * also the number of the tag's category. */
enum inv_pf_name {
	INV_PF_NAME_TAGS = INV_TAG_COUNT - 1,
#define INV_PF_NAME_ENUM(name, text) INV_PF_NAME_##name,
	INV_PF_STATES(INV_PF_NAME_ENUM)
#undef INV_PF_NAME_ENUM
	INV_PF_NAME_FUNCTION /* number of the first function's name; further
				functions follow */
};

/* At most this many names of functions have numbers. If there are more
 * functions, a new set of numbers is begun, and the old numbers have no meaning
 * any more. */
#define INV_PF_FUNCTIONS 4096u

struct inv_pf_function {
	uint64_t key;
	uint32_t number; /* the number of the function's name; 0: the slot is
			    free */
};

/* How many sent messages of requests are remembered. An older message gets no
 * arrow. */
#define INV_PF_SENT 65536u

struct inv_pf_sent {
	uint64_t id;
	int64_t ts_ns;
};

struct inv_pf_process;

/* What is known of the tracks of a node. */
struct inv_pf_node {
	unsigned described;  /* the groups of tracks that were described
				(inv__pf_track): bit g is for group g */
	uint8_t *schedulers; /* schedulers[i] has the bits SCHEDULER_ of
				scheduler i (perfetto_track.c); NULL: no
				scheduler was seen */
};

/*
 * last[i]: the time of the last event in stream i of a source of items
 * (log/feed.h); 0: the stream had no event.
 */
struct inv_pf_feed {
	int64_t *last;
	uint32_t n;
};

struct inv_perfetto {
	struct inv_sink sink;
	bool begun;
	/* Facts about the current event, set before it is written. */
	struct inv_pf_process *process; /* NULL: the event is on the track of
					   its node */
	uint64_t track;
	uint32_t name; /* the number of the called function's name; 0: the event
			  has no function */
	int64_t ts_ns;
	bool exited; /* forget `process' after the event */
	/* used by perfetto_packet.c */
	struct inv_pf_function *functions;
	uint32_t n_functions;
	/* used by perfetto_process.c */
	struct inv_pf_process *table;
	struct inv_pf_process *last;
	uint32_t n_processes;
	uint64_t n_open; /* how many open calls fit into the arrays of all
			    processes: the sum of `cap' */
	/* used by perfetto_track.c */
	struct inv_pf_node *nodes; /* nodes[i] is the node with the number i */
	uint32_t n_nodes;
	struct inv_pf_feed *feeds; /* feeds[i] is for the source with the number
				      i */
	uint32_t n_feeds;
	/* requests */
	struct inv_pf_sent *sent;
	uint64_t request;	 /* the highest number of a request so far */
	bool requests_described; /* the track of requests was described */
	struct inv_buf text;
};

/* --- packets -------------------------------------------------------------- */

struct inv_pf_open {
	size_t packet;
	size_t inner;
};

/*
 * Writes the packets that precede all others, unless they were written already.
 */
void inv__pf_begin(struct inv_perfetto *f, int64_t ts_ns);

/* Opens an event, to which the caller adds fields. */
struct inv_pf_open inv__pf_event(struct inv_perfetto *f, enum inv_pf_type type,
				 uint64_t track, int64_t ts_ns);
/* Opens the description of a track. The name is UTF-8. parent 0: the track has
 * no parent. */
struct inv_pf_open inv__pf_track(struct inv_perfetto *f, uint64_t track,
				 uint64_t parent, const void *name, size_t len);
void inv__pf_close(struct inv_perfetto *f, struct inv_pf_open o);

/*
 * Writes the end of a slice. `why' becomes an annotation of the end; NULL: no
 * annotation.
 */
void inv__pf_end(struct inv_perfetto *f, uint64_t track, int64_t ts_ns,
		 const char *why);

/* Returns the number of the function's name. If the name has no number yet,
 * gives it a number, and writes the name. */
uint32_t inv__pf_function(struct inv_perfetto *f, const struct inv_item *it,
			  const struct inv_mfa *m);

/* --- annotations of the open event ---------------------------------------- */

void inv__pf_text(struct inv_perfetto *f, enum inv_pf_key key, const void *p,
		  size_t n);
void inv__pf_uint(struct inv_perfetto *f, enum inv_pf_key key, uint64_t v);
void inv__pf_bool(struct inv_perfetto *f, enum inv_pf_key key, bool v);

/* These functions write the next term of the cursor. inv__pf_args writes the
 * arguments of a call, one by one. inv__pf_token writes a term whose first
 * token was already read. Each returns 0 or an error of the cursor, but not
 * INV_END. */
int inv__pf_args(struct inv_perfetto *f, const struct inv_event *ev,
		 const struct inv_mfa *m);
int inv__pf_term(struct inv_perfetto *f, enum inv_pf_key key);
int inv__pf_token(struct inv_perfetto *f, enum inv_pf_key key,
		  const struct inv_token *tok);

/* --- tracks --------------------------------------------------------------- */

enum inv_pf_group {
	INV_PF_NODE,
	INV_PF_PROCESSES,
	INV_PF_SYSTEM,
	INV_PF_PORTS,
	INV_PF_SCHEDULERS,
	INV_PF_LOSSES,
	/* Each process, scheduler or stream has a track of its own in these
	 * groups. */
	INV_PF_PROCESS,
	INV_PF_STATE,
	INV_PF_HEAP,
	INV_PF_SCHEDULER,
	INV_PF_STREAM,
	INV_PF_REQUESTS, /* one track for the requests of all nodes */
};

/* Returns the identifier of a track. */
uint64_t inv__pf_uuid(enum inv_pf_group group, uint64_t node, uint64_t a,
		      uint64_t b);

/*
 * Returns the track of a node, or of a group of tracks of the node. Describes
 * the track the first time.
 */
uint64_t inv__pf_group(struct inv_perfetto *f, const struct inv_node *node,
		       enum inv_pf_group group);

/* Writes that the process begins or ceases to run on a scheduler. */
void inv__pf_runs(struct inv_perfetto *f, const struct inv_item *it, bool runs);

/* Stores the time of the event as the last time of its stream. */
void inv__pf_seen(struct inv_perfetto *f, const struct inv_item *it);
/* Writes that events of the item's stream are missing. */
void inv__pf_gap(struct inv_perfetto *f, const struct inv_item *it);

void inv__pf_tracks_release(struct inv_perfetto *f);

/* --- processes ------------------------------------------------------------ */

struct inv_pf_process {
	struct inv_process_key key;
	uint64_t track;
	uint64_t states; /* the track of the process's states; 0: it was not
			    described yet */
	uint64_t heap;
	int64_t ts_ns;	     /* time of the process's last event */
	struct inv_buf name; /* name of the process's track, UTF-8 */
	size_t name_len;     /* length of the name without the identifier
				that follows it */
	bool stored;
	bool active;	 /* the process had an event since the last search
			    for processes to forget */
	bool in_state;	 /* a slice of `states' is open */
	bool collecting; /* a slice of a garbage collection is open, inside
			    the slice of a state if one is open */
	uint32_t *open;	 /* for each open slice of a call: how many calls are
			    around the call */
	uint32_t n;
	uint32_t cap;
	UT_hash_handle hh;
};

/*
 * Returns the process. Describes its track if the process is new, or if its
 * name has changed. Returns NULL if there is no memory, or if tok is no process
 * or port of the node.
 */
struct inv_pf_process *inv__pf_process(struct inv_perfetto *f,
				       const struct inv_item *it,
				       const struct inv_token *tok);
/* Ends the process's open slices, and forgets the process. */
void inv__pf_forget(struct inv_perfetto *f, struct inv_pf_process *p,
		    const char *why);
void inv__pf_processes_release(struct inv_perfetto *f);

/* Ends the slices of calls that have at least `depth' calls around them. */
void inv__pf_leave(struct inv_perfetto *f, struct inv_pf_process *p,
		   uint32_t depth, const char *why);
/*
 * Stores that a slice of a call begins, with `depth' calls around it. Returns
 * false if too many slices are open.
 */
bool inv__pf_enter(struct inv_perfetto *f, struct inv_pf_process *p,
		   uint32_t depth);

/* Return the track of the process's states, and of its heap. The first call
 * describes the track. */
uint64_t inv__pf_states(struct inv_perfetto *f, struct inv_pf_process *p);
uint64_t inv__pf_heap(struct inv_perfetto *f, struct inv_pf_process *p);

#endif
