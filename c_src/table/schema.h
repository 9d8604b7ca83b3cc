/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TABLE_SCHEMA_H
#define INV_TABLE_SCHEMA_H

#include <stdint.h>

/*
 * The tables into which a merge can be written, in an SQLite database or as
 * Parquet files. inviso-tables(5) describes them. Queries of users rely on the
 * names. So if a column is renamed or removed, or changes its meaning,
 * INV_SCHEMA_VERSION must be increased. Adding tables and columns needs no new
 * version.
 */
#define INV_SCHEMA_VERSION 1

enum inv_column_kind {
	INV_COLUMN_INT,
	INV_COLUMN_TIME, /* ns since the Unix epoch */
	INV_COLUMN_BOOL,
	INV_COLUMN_WORD, /* one of a few texts */
	INV_COLUMN_TEXT,
	/* Three columns, node, pid and name. The name of this column in the
	 * schema is the prefix of the three names. */
	INV_COLUMN_PROCESS,
	/* Four columns: module, function, arity and mfa. */
	INV_COLUMN_FUNCTION,
};

/* For each column: the constant, the kind and the name. */
#define INV_EVENTS_COLUMNS(X)             \
	X(ID, INT, "id")                  \
	X(TS, TIME, "ts")                 \
	X(PROCESS, PROCESS, "")           \
	X(TAG, WORD, "tag")               \
	X(FUNCTION, FUNCTION, "function") \
	X(PAYLOAD, TEXT, "payload")       \
	X(PEER, PROCESS, "peer_")         \
	X(RESULT, TEXT, "result")         \
	X(REQUEST, INT, "request")        \
	X(SEQ, INT, "seq")                \
	X(CAUSE, INT, "cause")            \
	X(SCHEDULER, INT, "scheduler")    \
	X(TRUNCATED, BOOL, "truncated")   \
	X(REDACTED, BOOL, "redacted")     \
	X(MOVED_NS, INT, "moved_ns")

#define INV_CALLS_COLUMNS(X)               \
	X(ID, INT, "id")                   \
	X(TS, TIME, "ts")                  \
	X(PROCESS, PROCESS, "")            \
	X(FUNCTION, FUNCTION, "function")  \
	X(ARGS, TEXT, "args")              \
	X(END_ID, INT, "end_id")           \
	X(OUTCOME, WORD, "outcome")        \
	X(FAILED, BOOL, "failed")          \
	X(DURATION_NS, INT, "duration_ns") \
	X(SELF_NS, INT, "self_ns")         \
	X(DEPTH, INT, "depth")             \
	X(CERTAIN, BOOL, "certain")        \
	X(RESULT, TEXT, "result")

#define INV_MESSAGES_COLUMNS(X)             \
	X(ID, INT, "id")                    \
	X(SENT_TS, TIME, "sent_ts")         \
	X(FROM, PROCESS, "from_")           \
	X(TO, PROCESS, "to_")               \
	X(MESSAGE, TEXT, "message")         \
	X(RECEIVED_ID, INT, "received_id")  \
	X(RECEIVED_TS, TIME, "received_ts") \
	X(WAIT_NS, INT, "wait_ns")          \
	X(MATCHED, WORD, "matched")         \
	X(NO_PROCESS, BOOL, "no_process")   \
	X(REQUEST, INT, "request")

#define INV_PROCESSES_COLUMNS(X)          \
	X(PROCESS, PROCESS, "")           \
	X(PARENT, PROCESS, "parent_")     \
	X(FUNCTION, FUNCTION, "function") \
	X(SPAWNED_TS, TIME, "spawned_ts") \
	X(EXITED_TS, TIME, "exited_ts")   \
	X(REASON, TEXT, "reason")         \
	X(FIRST_TS, TIME, "first_ts")     \
	X(LAST_TS, TIME, "last_ts")       \
	X(EVENTS, INT, "events")          \
	X(CALLS, INT, "calls")            \
	X(SENT, INT, "sent")              \
	X(RECEIVED, INT, "received")      \
	X(SELF_NS, INT, "self_ns")        \
	X(RUNNING_NS, INT, "running_ns")  \
	X(GC_NS, INT, "gc_ns")

#define INV_COLLECTIONS_COLUMNS(X)           \
	X(ID, INT, "id")                     \
	X(TS, TIME, "ts")                    \
	X(PROCESS, PROCESS, "")              \
	X(MAJOR, BOOL, "major")              \
	X(DURATION_NS, INT, "duration_ns")   \
	X(BEFORE_BYTES, INT, "before_bytes") \
	X(AFTER_BYTES, INT, "after_bytes")

#define INV_LOSSES_COLUMNS(X)     \
	X(ID, INT, "id")          \
	X(TS, TIME, "ts")         \
	X(NODE, WORD, "node")     \
	X(REASON, WORD, "reason") \
	X(N, INT, "n")

#define INV_NODES_COLUMNS(X)               \
	X(NODE, WORD, "node")              \
	X(OTP_RELEASE, INT, "otp_release") \
	X(FIRST_TS, TIME, "first_ts")      \
	X(LAST_TS, TIME, "last_ts")        \
	X(EVENTS, INT, "events")           \
	X(LOST, INT, "lost")

#define INV_REQUESTS_COLUMNS(X)            \
	X(REQUEST, INT, "request")         \
	X(LABEL, TEXT, "label")            \
	X(PROCESS, PROCESS, "")            \
	X(FIRST_TS, TIME, "first_ts")      \
	X(LAST_TS, TIME, "last_ts")        \
	X(DURATION_NS, INT, "duration_ns") \
	X(EVENTS, INT, "events")           \
	X(MESSAGES, INT, "messages")       \
	X(ORPHANS, INT, "orphans")

#define INV_COUNTS_COLUMNS(X)         \
	X(NODE, WORD, "node")         \
	X(COUNTED, WORD, "counted")   \
	X(KEY, TEXT, "key")           \
	X(N, INT, "n")                \
	X(UNPAIRED, INT, "unpaired")  \
	X(MIN_NS, INT, "min_ns")      \
	X(MAX_NS, INT, "max_ns")      \
	X(SUM_NS, INT, "sum_ns")      \
	X(MEASURED, TEXT, "measured") \
	X(MIN, INT, "min_value")      \
	X(MAX, INT, "max_value")      \
	X(SUM, INT, "sum_value")

#define INV_HISTOGRAMS_COLUMNS(X)     \
	X(NODE, WORD, "node")         \
	X(COUNTED, WORD, "counted")   \
	X(KEY, TEXT, "key")           \
	X(FROM_NS, INT, "from_ns")    \
	X(TO_NS, INT, "to_ns")        \
	X(N, INT, "n")                \
	X(MEASURED, TEXT, "measured") \
	X(FROM, INT, "from_value")    \
	X(TO, INT, "to_value")

#define INV_TABLES(X)                 \
	X(EVENTS, "events")           \
	X(CALLS, "calls")             \
	X(MESSAGES, "messages")       \
	X(PROCESSES, "processes")     \
	X(COLLECTIONS, "collections") \
	X(LOSSES, "losses")           \
	X(NODES, "nodes")             \
	X(REQUESTS, "requests")       \
	X(COUNTS, "counts")           \
	X(HISTOGRAMS, "histograms")

enum inv_table_id {
#define INV_TABLE_ENUM(id, name) INV_TABLE_##id,
	INV_TABLES(INV_TABLE_ENUM)
#undef INV_TABLE_ENUM
	INV_TABLE_COUNT,
};

#define INV_E(id, kind, name) INV_EVENTS_##id,
enum inv_events_column {
	INV_EVENTS_COLUMNS(INV_E) INV_EVENTS_COUNT
};
#undef INV_E
#define INV_E(id, kind, name) INV_CALLS_##id,
enum inv_calls_column {
	INV_CALLS_COLUMNS(INV_E) INV_CALLS_COUNT
};
#undef INV_E
#define INV_E(id, kind, name) INV_MESSAGES_##id,
enum inv_messages_column {
	INV_MESSAGES_COLUMNS(INV_E) INV_MESSAGES_COUNT
};
#undef INV_E
#define INV_E(id, kind, name) INV_PROCESSES_##id,
enum inv_processes_column {
	INV_PROCESSES_COLUMNS(INV_E) INV_PROCESSES_COUNT
};
#undef INV_E
#define INV_E(id, kind, name) INV_COLLECTIONS_##id,
enum inv_collections_column {
	INV_COLLECTIONS_COLUMNS(INV_E) INV_COLLECTIONS_COUNT
};
#undef INV_E
#define INV_E(id, kind, name) INV_LOSSES_##id,
enum inv_losses_column {
	INV_LOSSES_COLUMNS(INV_E) INV_LOSSES_COUNT
};
#undef INV_E
#define INV_E(id, kind, name) INV_NODES_##id,
enum inv_nodes_column {
	INV_NODES_COLUMNS(INV_E) INV_NODES_COUNT
};
#undef INV_E
#define INV_E(id, kind, name) INV_REQUESTS_##id,
enum inv_requests_column {
	INV_REQUESTS_COLUMNS(INV_E) INV_REQUESTS_COUNT
};
#undef INV_E
#define INV_E(id, kind, name) INV_COUNTS_##id,
enum inv_counts_column {
	INV_COUNTS_COLUMNS(INV_E) INV_COUNTS_COUNT
};
#undef INV_E
#define INV_E(id, kind, name) INV_HISTOGRAMS_##id,
enum inv_histograms_column {
	INV_HISTOGRAMS_COLUMNS(INV_E) INV_HISTOGRAMS_COUNT
};
#undef INV_E

/* No table of the schema has more columns than this. */
#define INV_TABLE_COLUMNS_MAX 16u

struct inv_column {
	const char *name;
	uint8_t kind; /* enum inv_column_kind */
};

struct inv_table {
	const char *name;
	const struct inv_column *columns;
	unsigned n;
};

extern const struct inv_table inv_tables[INV_TABLE_COUNT];

/*
 * The columns that users see. An INV_COLUMN_PROCESS of the schema becomes three
 * columns, an INV_COLUMN_FUNCTION becomes four, and any other column stays one
 * column. An argument `part' selects one of these three or four columns: it is
 * an enum inv_part, or 0 if there is only one column.
 */
enum inv_part {
	INV_PART_NODE = 0,
	INV_PART_PID = 1,
	INV_PART_NAME = 2,
	INV_PART_MODULE = 0,
	INV_PART_FUNCTION = 1,
	INV_PART_ARITY = 2,
	INV_PART_MFA = 3,
};
#define INV_COLUMN_NAME_MAX 32u
/* Returns how many columns users see for the column c of the schema. */
unsigned inv_column_parts(const struct inv_column *c);
/* Writes the name that users see for a part of the column. */
void inv_column_name(const struct inv_column *c, unsigned part,
		     char name[INV_COLUMN_NAME_MAX]);

#endif
