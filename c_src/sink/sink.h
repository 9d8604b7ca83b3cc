/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_SINK_H
#define INV_SINK_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "log/item.h"
#include "term/cursor.h"
#include "term/print.h"

/*
 * A sink writes items, which come in order, in one format into a buffer; who
 * owns the buffer empties it (sink/output.h).
 *
 *	inv_sink_new(&s, inv_sink_find("text"), &opts, &out);
 *	while (!inv_merge_next(&m, &item))
 *		inv_sink_item(s, item);
 *	inv_sink_end(s);
 *	inv_sink_free(s);
 */
struct inv_sink;

/* color and width are for a terminal, and may be changed between two items. */
struct inv_sink_opts {
	int utc;	/* text: times in UTC instead of local time */
	int color;	/* text: in colours */
	unsigned width; /* text: columns that a line may have, longer ones are
			   cut and end with "…"; 0: no limit */
};

/* What went through a sink. */
struct inv_summary {
	uint64_t recorded; /* events that can be read */
	uint64_t filtered; /* of them: not asked for, and not written */
	uint64_t entries;  /* events and losses written */
	uint64_t lost[INV_LOST_COUNT];
	uint32_t unended; /* logs without an end; who has the feeds counts */
};

/* Without what came after a limit that somebody had set: that is no loss. */
uint64_t inv_summary_lost(const struct inv_summary *s);
/* "12 events recorded, 3 lost (2 full, 1 unreadable), 5 came after the limit",
 * what was not asked for and the logs without an end, if there are any */
void inv_summary_text(const struct inv_summary *s, struct inv_buf *out);
/* {"recorded":12,"entries":14,"lost":3,"reasons":{"full":2,…},
 *  "after_limit":5,"unended":0,"filtered":0} */
void inv_summary_json(const struct inv_summary *s, struct inv_buf *out);

/* One format.  All but name, help and event may be NULL. */
struct inv_sink_ops {
	const char *name;
	const char *help; /* a line for --help */
	size_t size; /* of its struct, whose first member is struct inv_sink */
	int (*init)(struct inv_sink *s); /* all zero before; INV_ENOMEM */
	/* Appends one event.  A negative code says that its terms make no
	 * sense: what was appended is taken back, and it counts as a loss. */
	int (*event)(struct inv_sink *s, const struct inv_item *it);
	void (*loss)(struct inv_sink *s, const struct inv_item *it);
	void (*end)(struct inv_sink *s);
	void (*release)(struct inv_sink *s);
};

/* What is ready to be written of a node. */
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
	struct inv_cursor *cursor;
	struct inv_print_opts print; /* ~w, of the item's node's release */
	/* see inv_sink_node_text */
	struct inv_sink_node *nodes;
	uint32_t n_nodes;
};

/* All formats, NULL at the end; the first is the default. */
extern const struct inv_sink_ops *const inv_sinks[];
/* NULL: there is none of that name. */
const struct inv_sink_ops *inv_sink_find(const char *name);

/* Borrows out. */
int inv_sink_new(struct inv_sink **s, const struct inv_sink_ops *ops,
		 const struct inv_sink_opts *opts, struct inv_buf *out);
void inv_sink_free(struct inv_sink *s);

/* INV_ENOMEM is the only failure. */
int inv_sink_item(struct inv_sink *s, const struct inv_item *it);
/* It is not asked for: counted only. */
static inline void inv_sink_skip(struct inv_sink *s)
{
	s->sum.recorded++;
	s->sum.filtered++;
}
int inv_sink_end(struct inv_sink *s);

/* --- for sinks ------------------------------------------------------------ */

/*
 * Appends what make wrote of the node the first time.
 */
void inv_sink_node_text(struct inv_sink *s, const struct inv_node *node,
			void (*make)(struct inv_buf *b,
				     const struct inv_node *node));

/*
 * Appends the names that the process of tok had at the time, with sep between
 * two of them, and returns how many.
 */
unsigned inv_sink_names(struct inv_sink *s, const struct inv_item *it,
			const struct inv_token *tok, const char *sep);

#endif
