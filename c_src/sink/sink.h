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

enum inv_sink_time {
	INV_SINK_ABSOLUTE,
	INV_SINK_RELATIVE, /* seconds since the first entry */
	INV_SINK_DELTA,	   /* seconds since the entry before */
};

/* Options of the text format. The caller may change color and width between two
 * items. */
struct inv_sink_opts {
	int utc;	/* times in UTC instead of local time */
	int color;	/* in colours */
	unsigned width; /* columns of the terminal; longer lines are cut and end
			   with "…"; 0: no limit */
	bool wrap;   /* longer lines are continued on the next line instead */
	bool pretty; /* longer lines are laid out on several lines instead */
	unsigned lines; /* pretty: the most lines of an entry; 0: no limit */
	bool one_node;	/* all items are of one node: narrow lines omit it */
	bool indent;	/* calls and their ends, by the calls around them */
	enum inv_sink_time time;
	/* The names of fields of records: those in the log, and those that the
	 * user has given, which have precedence. NULL: none. */
	bool records;
	const struct inv_fields *fields;
	uint32_t depth;	 /* print so many levels of nested terms; 0: all */
	bool has_syntax; /* false: each node's own syntax */
	enum inv_syntax syntax;
	/* Views of requests: JSON instead of text; and the bound of their
	 * memory, in bytes; 0: the default. */
	bool json;
	size_t request_memory;
	/* The numbers of the requests that are compared. */
	uint64_t requests[2];
};

/* Counts of the items that went through a sink. */
struct inv_summary {
	uint64_t recorded; /* events that can be read */
	uint64_t filtered; /* of those: events that a filter left out of the
			      output */
	uint64_t entries;  /* events and losses that were written */
	uint64_t lost[INV_LOST_COUNT];
	uint32_t unended; /* logs without an end; set by the caller, from its
			     feeds */
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
 * limit", and how many events a filter left out and how many logs have no end,
 * if there are any. */
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
	bool calls;	  /* uses the events of open calls (flow/flow.h,
			     keep) */
	size_t size; /* size of the format's struct, whose first member is a
			struct inv_sink */
	int (*init)(struct inv_sink *s); /* the struct is all zero before;
					    returns 0 or INV_ENOMEM */
	/*
	 * Appends one event. Returns a negative code if the event's terms are
	 * invalid: then the caller removes the event's output, and counts a
	 * loss.
	 */
	int (*event)(struct inv_sink *s, const struct inv_item *it);
	void (*loss)(struct inv_sink *s, const struct inv_item *it);
	/* Appends what was held back and belongs before the item, or, if `it'
	 * is NULL, everything that was held back. */
	void (*before)(struct inv_sink *s, const struct inv_item *it);
	void (*end)(struct inv_sink *s);
	void (*release)(struct inv_sink *s);
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
	struct inv_summary sum;
	uint64_t cut;	   /* lines that were cut at the width */
	uint64_t left_out; /* events that a view of requests does not show,
			      because there are too many */
	struct inv_cursor *cursor;
	struct inv_print_opts print; /* like ~w of the OTP release of the item's
					node */
	/* used by inv_sink_node_text */
	struct inv_sink_node *nodes;
	uint32_t n_nodes;
};

/* All formats; NULL ends the list. The first one is the default. */
extern const struct inv_sink_ops *const inv_sinks[];
/* NULL: no format has that name. */
const struct inv_sink_ops *inv_sink_find(const char *name);

/* Creates a sink. It borrows out. Returns 0 or INV_ENOMEM. */
int inv_sink_new(struct inv_sink **s, const struct inv_sink_ops *ops,
		 const struct inv_sink_opts *opts, struct inv_buf *out);
void inv_sink_free(struct inv_sink *s);

/* Formats one item. The only error is INV_ENOMEM. */
int inv_sink_item(struct inv_sink *s, const struct inv_item *it);
/* Counts an event that a filter left out of the output. */
static inline void inv_sink_skip(struct inv_sink *s)
{
	s->sum.recorded++;
	s->sum.filtered++;
}
/* Appends what the format holds back: a line that a later item may complete. */
void inv_sink_flush(struct inv_sink *s);
int inv_sink_end(struct inv_sink *s);

/* --- for the formats ------------------------------------------------------ */

/* Sets in s->print what is the same for all events; then call inv_sink_manner for
 * each event. */
void inv_sink_for_people(struct inv_sink *s);
/* Sets in s->print how the terms of the event are printed for people; with
 * opts.json, how JSON has them. */
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

#endif
