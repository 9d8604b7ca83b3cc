/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_REPORT_REPORT_H
#define INV_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "flow/paths.h"
#include "flow/tallies.h"
#include "report/charts.h"
#include "report/keyed.h"
#include "report/timeline.h"
#include "report/top.h"
#include "sink/sink.h"
#include "table/rows.h"

/*
 * A report: answers to the first questions about logs. It takes the rows of all
 * tables (table/rows.h), so its figures are the same as those of `inviso sql'.
 * Its memory is bounded: it adds up rows, and keeps a single call, process or
 * request only if this is among the slowest or busiest ones.
 */

/* How many rows a table of sums (report/keyed.h) has at most: the table of
 * functions; the tables of tags, losses, kinds of processes, mailboxes and
 * pairs of kinds; and the table of exit reasons. */
#define INV_REPORT_FUNCTIONS 4096u
#define INV_REPORT_KEYS 65536u
#define INV_REPORT_REASONS 1024u
/* How many single calls, processes and so on are kept. */
#define INV_REPORT_KEPT 200u
/* Longer texts of terms are cut. */
#define INV_REPORT_TEXT 400u

/* Indexes of the values in the rows of `functions' and of `kinds'
 * (report/keyed.h). */
enum {
	INV_FUNCTION_CALLS = 0,
	INV_FUNCTION_ENDED,
	INV_FUNCTION_FAILED,
	INV_FUNCTION_SELF,
	INV_FUNCTION_TOTAL,
};
enum {
	INV_KIND_EVENTS = 0,
	INV_KIND_PROCESSES,
	INV_KIND_CALLS,
	INV_KIND_SENT,
	INV_KIND_RECEIVED,
	INV_KIND_SELF,
	INV_KIND_RUNNING,
	INV_KIND_GC,
};
/* Indexes of the values in the rows of `mailboxes' and of `flows'. */
enum {
	INV_MESSAGES_ALL = 0,
	INV_MESSAGES_GOT, /* received */
	INV_MESSAGES_OF_REQUESTS,
	INV_MESSAGES_WAITED, /* their waiting time is known */
	INV_MESSAGES_WAIT,
};

struct inv_report_text {
	char *p; /* NULL: none */
	size_t n;
};

/* A call. Its texts are directly after the struct in memory. */
struct inv_report_call {
	struct inv_top_entry top; /* the value is the duration */
	int64_t ts_ns;
	int64_t self_ns;
	uint64_t id;
	uint32_t process, function;
	uint32_t outcome; /* word; 0: none */
	bool failed, certain;
	bool has_duration;
	struct inv_report_text args, result;
};

struct inv_report_process {
	struct inv_top_entry top; /* the value is the number of events */
	uint32_t process;
	uint64_t events, calls, sent, received;
	int64_t self_ns, running_ns, gc_ns;
};

struct inv_report_request {
	struct inv_top_entry top; /* the value is the duration */
	uint64_t request, events, messages, orphans;
	int64_t first_ns;
	uint32_t process;
	struct inv_report_text label;
};

struct inv_report_gc {
	struct inv_top_entry top; /* the value is the duration */
	int64_t ts_ns;
	uint64_t before, after;
	uint32_t process;
	bool major;
};

struct inv_report_node {
	uint32_t node; /* word */
	unsigned otp_release;
	bool known;
	int64_t first_ns, last_ns;
	uint64_t events, lost;
};

/* A count of a session of `inviso count' or `hist'. */
struct inv_report_count {
	struct inv_top_entry top; /* the value is the count */
	const struct inv_tallied *key;
};

struct inv_report {
	struct inv_row_writer writer;
	struct inv_rows rows;
	const struct inv_cast *cast;
	uint64_t events;
	int64_t begin_ns, end_ns; /* begin_ns > end_ns: there are no events */
	/* keys: the numbers of the tag and of the node in inv_words */
	struct inv_keyed tags;
	/* keys: the numbers of the node and of the reason in inv_words */
	struct inv_keyed losses;
	struct inv_keyed functions; /* key: the number of the function */
	/* keys: the numbers of node and name in inv_words */
	struct inv_keyed kinds;
	/* keys: the numbers of node and name in inv_words. For a process
	 * without a name: its number, and its serial and kind
	 * (inv_report_mailbox) */
	struct inv_keyed mailboxes;
	/* keys: the numbers in inv_words of the sender's node and name, and of
	 * the receiver's node and name */
	struct inv_keyed flows;
	struct inv_keyed exits; /* key: hash of the exit reason; the row's
				   `text' is the reason */
	struct {
		uint64_t n, ended, failed, uncertain;
		struct inv_top slowest;
		struct inv_report_call *failures[INV_REPORT_KEPT];
		size_t n_failures; /* `failures' has only the first ones */
	} calls;
	struct {
		uint64_t n, received, waited;
	} messages;
	struct {
		uint64_t n, spawned, exited, abnormal;
		struct inv_top busiest;
	} processes;
	struct {
		uint64_t n, major, ns;
		struct inv_top longest;
	} gc;
	struct {
		uint64_t n;
		struct inv_histogram times;
		struct inv_top slowest;
	} requests;
	struct inv_report_node *nodes;
	uint32_t n_nodes;
	struct inv_top counts;
	struct inv_timeline timeline; /* only for a page */
	bool has_timeline;
	struct inv_charts charts; /* only for a page */
};

/* If `page' is true, also collects what only a page shows. Returns 0 or
 * INV_ENOMEM. Call inv_report_release in both cases. */
int inv_report_init(struct inv_report *r, struct inv_sink *s, bool page);
void inv_report_release(struct inv_report *r);

void inv_report_counts(struct inv_report *r, const struct inv_tallies *t);
/* Sorts everything. Call it once, after inv_rows_end. */
void inv_report_finish(struct inv_report *r);

/* Returns the text with the number `word' in inv_words, and sets *len. If the
 * number is 0, returns "". */
const char *inv_report_word(const struct inv_report *r, uint64_t word,
			    size_t *len);
/* Returns true if a row of `losses' counts lost events. Returns false if it
 * counts events that came after the limit of a recording. */
bool inv_report_is_loss(const struct inv_report *r,
			const struct inv_keyed_row *row);
/* Appends "shop" or "<0.88.0>". */
void inv_report_process(const struct inv_report *r, uint32_t process,
			struct inv_buf *out);
/* Appends the process of a mailbox. */
void inv_report_mailbox(const struct inv_report *r,
			const struct inv_keyed_row *row, struct inv_buf *out);
/* The text for a process without a name. */
#define INV_REPORT_NO_NAME "(no name)"

/* What is known about the whole merge. */
struct inv_report_about {
	const struct inv_summary *sum;
	bool utc;
	bool color;
	unsigned width; /* 0: no limit */
	uint64_t top;	/* print at most this many rows of each table; 0: all
			 * that are kept */
	struct inv_paths *profile;
};

/* The writers. */
void inv_report_text(struct inv_report *r, const struct inv_report_about *a,
		     struct inv_buf *out);
/* If `page' is true, writes the timeline, charts and profile, too. */
void inv_report_json(struct inv_report *r, const struct inv_report_about *a,
		     bool page, struct inv_json *j);
void inv_report_page(struct inv_report *r, const struct inv_report_about *a,
		     struct inv_buf *out);

/* The formats of `inviso report'. */
extern const struct inv_sink_ops inv_sink_report_text;
extern const struct inv_sink_ops inv_sink_report_json;
extern const struct inv_sink_ops inv_sink_report_page;

#endif
