/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_SINK_H
#define INV_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "log/item.h"
#include "term/cursor.h"
#include "term/print.h"

/*
 * A sink formats items and appends the text to a buffer. The caller passes the
 * items in order, and empties the buffer (sink/output.h).
 *
 *	inv_sink_new(&s, inv_sink_find("text"), &opts, &out);
 *	while (!inv_merge_next(&m, &item))
 *		inv_sink_item(s, item);
 *	inv_sink_end(s);
 *	inv_sink_free(s);
 */
struct inv_sink;
struct inv_tallies;
struct inv_paths;
struct inv_spans_taker;

enum inv_sink_time {
	INV_SINK_ABSOLUTE,
	INV_SINK_RELATIVE, /* seconds since the first entry */
	INV_SINK_DELTA,	   /* seconds since the previous entry */
};

/* How rows are divided into Parquet files: all rows of a file have the same
 * node, the same hour, or both. */
enum inv_sink_partition {
	INV_SINK_BY_NODE = 1,
	INV_SINK_BY_HOUR = 2,
};

/* Options of the text format and, where a comment says so, of other formats and
 * views. The caller may change color and width between two items. */
struct inv_sink_opts {
	int utc;	/* not 0: print times in UTC instead of local time */
	int color;	/* not 0: print in colours */
	unsigned width; /* columns of the terminal; longer lines are cut and end
			   with "…"; 0: no limit */
	bool wrap;	/* a line longer than `width' is not cut, but continued
			   on the next line */
	bool pretty;	/* a line longer than `width' is not cut, but laid out
			   on several lines */
	unsigned lines; /* if `pretty' is true: the most lines of an entry; 0:
			   no limit */
	bool one_node;	/* all items are of one node, so lines on a narrow
			 * terminal do not show the node */
	bool indent;	/* indent calls and their ends by the number of
			 * calls around them */
	enum inv_sink_time time;
	/* `records': print the names of fields of records. The names come from
	 * `fields' (names that the user has given; NULL: none) and from the
	 * notes in the log. `fields' has precedence. */
	bool records;
	const struct inv_fields *fields;
	uint32_t depth;	 /* how many levels of nested terms are printed; 0:
			  * all */
	bool has_syntax; /* false: each node's own syntax */
	enum inv_syntax syntax;
	/* For views of requests. json: JSON instead of text. request_memory:
	 * the bound of their memory, in bytes; 0: the default. */
	bool json;
	size_t request_memory;
	uint64_t top; /* reports: print at most this many rows of each table;
			 0: all that are kept */
	/* For a comparison: the numbers of the two requests. */
	uint64_t requests[2];
	/* sqlite: where to store the open database, a sqlite3 *, instead of
	 * closing it. Then there is no output file. */
	void **into;
	/* parquet: a set of enum inv_sink_partition; 0: a file for each
	 * table. */
	unsigned partition;
	/* otlp-proto: gets the spans, which are then not written to the output
	 * (otlp_span.h). NULL: the spans are written. */
	struct inv_spans_taker *spans;
	/* For formats that show a profile: the profile of the flow from which
	 * the items come. */
	struct inv_paths *profile;
};

/* Counts of the items that went through a sink. */
struct inv_summary {
	uint64_t recorded; /* events that can be read */
	uint64_t filtered; /* how many of the recorded events a filter left out
			      of the output */
	uint64_t entries;  /* events and losses that were written */
	uint64_t lost[INV_LOST_COUNT];
	uint32_t unended; /* logs without an end; the caller sets this count */
};

/* Returns how many events were written. */
static inline uint64_t inv_summary_shown(const struct inv_summary *s)
{
	return s->recorded - s->filtered;
}

/* Returns the sum of lost[], without events that came after a limit of the
 * recording: they are not a loss. */
uint64_t inv_summary_lost(const struct inv_summary *s);
/* Appends "12 events recorded, 3 lost (2 full, 1 unreadable), 5 came after the
 * limit". If a filter left out events, or logs have no end, also appends how
 * many. */
void inv_summary_text(const struct inv_summary *s, struct inv_buf *out);
/*
 * Appends {"recorded":12,"entries":14,"lost":3,"reasons":{"full":2,…},
 * "after_limit":5,"unended":0,"filtered":0}.
 */
void inv_summary_json(const struct inv_summary *s, struct inv_buf *out);

/* One format. All functions except event may be NULL. */
struct inv_sink_ops {
	const char *name;
	const char *help; /* one line for --help */
	/* The name of the helper program that writes the format (cli/helper.h).
	 * Such a format has only `program', `name' and `help'. NULL: this
	 * program writes the format. */
	const char *program;
	bool calls;   /* uses the events of open calls (`keep' in
			     flow/flow.h) */
	bool binary;  /* the output is not text, so it must not go to a
			 terminal */
	bool profile; /* shows the profile of the flow (opts.profile) */
	size_t size;  /* size of the format's struct, whose first member is a
			struct inv_sink */
	int (*init)(struct inv_sink *s); /* before the call, the fields after
					    the struct inv_sink are zero;
					    returns 0 or INV_ENOMEM */
	/*
	 * Appends one event. Returns a negative code if the event's terms are
	 * invalid: then the caller removes the event's output, and counts a
	 * loss.
	 */
	int (*event)(struct inv_sink *s, const struct inv_item *it);
	void (*loss)(struct inv_sink *s, const struct inv_item *it);
	/* A format can hold lines back, to complete them later. This function
	 * appends the held lines that must come before the item or, if `it' is
	 * NULL, all held lines. */
	void (*before)(struct inv_sink *s, const struct inv_item *it);
	void (*end)(struct inv_sink *s);
	/* Writes what sessions of `inviso count' have counted. It is called
	 * before `end'. */
	void (*counts)(struct inv_sink *s, const struct inv_tallies *t);
	void (*release)(struct inv_sink *s);
	/*
	 * A format that writes its files itself, and nothing to s->out, has the
	 * functions open and close. `path' is an empty file or, if `directory'
	 * is true, an empty directory. If all functions succeed, the caller
	 * gives the file or directory its final name. Otherwise the caller
	 * removes it. So only a complete file or directory has the final name
	 * (sink/output.h). A function that cannot write sets s->err, and
	 * nothing more is written.
	 */
	bool directory;
	int (*open)(struct inv_sink *s, const char *path, struct inv_err *err);
	int (*close)(struct inv_sink *s, struct inv_err *err);
};

/* The text that a format writes for a node, cached. */
struct inv_sink_node {
	const struct inv_node *node;
	uint8_t *text;
	size_t len;
};

struct inv_sink {
	const struct inv_sink_ops *ops;
	struct inv_sink_opts opts;
	struct inv_buf *out;
	struct inv_err err; /* code is not 0: the format could not write its
			       file */
	struct inv_summary sum;
	uint64_t cut;	     /* lines that were cut at the width */
	uint64_t incomplete; /* rows of tables that were written before all of
				their values were known, because too many rows
				were waiting */
	uint64_t left_out;   /* events that a view of requests does not show,
				because there are too many for the view */
	struct inv_cursor *cursor;
	struct inv_print_opts print; /* prints terms like ~w of the OTP release
					of the item's node */
	/* only for inv_sink_node_text */
	struct inv_sink_node *nodes;
	uint32_t n_nodes;
};

/* All formats; NULL ends the list. The first format is the default. */
extern const struct inv_sink_ops *const inv_sinks[];
/* Returns the format with this name, or NULL if there is none. */
const struct inv_sink_ops *inv_sink_find(const char *name);
/* Replaces the entries of inv_sinks[] that have the same names as these
 * formats. A program that has the code of these formats calls this at its
 * start. NULL ends the list, which is borrowed. */
void inv_sink_provide(const struct inv_sink_ops *const *formats);

/* Creates a sink. It borrows out. Returns 0 or INV_ENOMEM. */
int inv_sink_new(struct inv_sink **s, const struct inv_sink_ops *ops,
		 const struct inv_sink_opts *opts, struct inv_buf *out);
void inv_sink_free(struct inv_sink *s);

/* Formats one item. Returns 0, INV_ENOMEM, or the code in s->err. */
int inv_sink_item(struct inv_sink *s, const struct inv_item *it);
/* Counts an event that a filter left out of the output. */
static inline void inv_sink_skip(struct inv_sink *s)
{
	s->sum.recorded++;
	s->sum.filtered++;
}
/* Appends the line that the format has held back because a later item may
 * complete it. */
void inv_sink_flush(struct inv_sink *s);
/* Returns the same errors as inv_sink_item. */
int inv_sink_end(struct inv_sink *s);

/* --- for the formats ------------------------------------------------------ */

/* Sets the fields of s->print that are the same for all events. For each
 * event, inv_sink_manner sets the others. */
void inv_sink_for_people(struct inv_sink *s);
/* Sets in s->print how the terms of the event are printed: for people, or,
 * with opts.json, for JSON. */
void inv_sink_manner(struct inv_sink *s, const struct inv_item *it);

/*
 * Appends the text of the node. `make' writes the text only the first time;
 * later a cache has it.
 */
void inv_sink_node_text(struct inv_sink *s, const struct inv_node *node,
			void (*make)(struct inv_buf *b,
				     const struct inv_node *node));

/* Appends the names that the process in tok had at the item's time, separated
 * by sep. Returns how many. */
unsigned inv_sink_names(struct inv_sink *s, const struct inv_item *it,
			const struct inv_token *tok, const char *sep);

/*
 * Reads the first token of the process or port in which the event happened: the
 * tracee. In a seq_trace event, this is the receiver if the kind is 'receive',
 * and otherwise the sender. Returns INV_END if a seq_trace event contains no
 * process, or an error of inv_cursor_next.
 */
int inv_sink_process(struct inv_sink *s, const struct inv_item *it,
		     struct inv_token *tok);

#endif
