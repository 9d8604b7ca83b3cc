/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_LABELS_H
#define INV_FLOW_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/requests.h"
#include "log/item.h"
#include "term/print.h"

/*
 * Values that name requests: inviso seq --label.
 *
 * An event that begins a request, a call or a sent message, has the value
 * {'$inviso_seq', Token, Label...} of its match spec. The first event of the
 * request is the next seq_trace event of the same process.
 *
 * An event with the value '$inviso_seq_over' does not begin a request, but
 * later events of its process do not belong to the process's earlier request.
 *
 * Memory is bounded: the label of the request that had no event for the longest
 * time is forgotten.
 */
struct inv_label;

struct inv_labels {
	/* private */
	struct inv_label *begun;    /* by process */
	struct inv_label *requests; /* by number, the oldest event first */
};

/*
 * How many bytes of a label are kept. A longer label is cut, and ends with "…".
 */
#define INV_LABEL_TEXT 200u
/* At most this many labels are kept in each table. */
#define INV_LABELS_MAX 50000u

/* What an event says that begins or ends a request of its process. */
struct inv_beginning {
	uint64_t process; /* inv_seq_pid */
	bool held;	  /* the event continues the request of the token that
			   * the process held */
	bool over;	  /* the event neither begins nor continues a request */
	uint32_t labels;  /* how many terms follow in the cursor */
	size_t mark;	  /* offset of the value in the event's terms */
};

/* Reads the item's event with any cursor. Returns false if the event does not
 * begin a request. */
bool inv_labels_read(struct inv_beginning *b, struct inv_cursor *c,
		     const struct inv_item *it);

/* Adds an event that inv_labels_read has read with this cursor. Returns 0 or
 * INV_ENOMEM. o: how terms are printed. */
int inv_labels_begin(struct inv_labels *l, struct inv_cursor *c,
		     const struct inv_beginning *b,
		     const struct inv_print_opts *o);

/*
 * Returns the label of the request to which a seq_trace event belongs, or NULL
 * if the request has no label. The label is valid until the next call.
 */
const char *inv_labels_of(struct inv_labels *l, const struct inv_seq *s,
			  const struct inv_cause *cause);

void inv_labels_release(struct inv_labels *l);

#endif
