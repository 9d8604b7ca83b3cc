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
 * Labels of requests (inviso seq --label).
 *
 * A request begins with an event of a call or a sent message, to which a match
 * spec has added the value {'$inviso_seq', Token, Label...}. The label is
 * stored, and is given to the request of the next seq_trace event of the same
 * process.
 *
 * The value '$inviso_seq_over' begins no request. After an event with this
 * value, the process no longer takes part in its previous request.
 *
 * Memory is bounded: the label of the request that had no event for the longest
 * time is forgotten.
 */
struct inv_label;

struct inv_labels {
	/* private */
	struct inv_label *begun;    /* labels of requests without a seq_trace
				       event so far; the key is the process */
	struct inv_label *requests; /* labels of other requests; the key is the
				       number of the request; sorted by the time
				       of the last event, the oldest first */
};

/*
 * How many bytes of a label are kept. A longer label is cut, and ends with
 * "…".
 */
#define INV_LABEL_TEXT 200u
/* At most this many labels are kept in each table. */
#define INV_LABELS_MAX 50000u

/* The contents of an event that begins or ends a request of its process. */
struct inv_beginning {
	uint64_t process; /* inv_seq_pid */
	bool held;	  /* the process already had a token: the event belongs
			   * to the request of this token */
	bool over;	  /* the event only ends a request */
	uint32_t labels;  /* how many label terms the cursor reads next */
	size_t mark;	  /* offset of the match spec's value in the event's
			   * terms */
};

/* Reads the item's event with c, whose state does not matter. Returns false if
 * the event neither begins nor ends a request. */
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
