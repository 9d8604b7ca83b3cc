/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_HOPS_INT_H
#define INV_FLOW_HOPS_INT_H

#include "flow/hops.h"
#include "flow/seq.h"
#include "term/cursor.h"

/* Declarations shared by the .c files that implement flow/hops.h. */

/* Returns true if the memory bound is reached, so that no hop can be added. */
bool inv_hops_full(const struct inv_hops *h);

/* If the array v of n elements is full, reallocates it. Returns the array, with
 * room for another element, or NULL if there is no memory. */
void *inv_hops_grown(void *v, uint32_t n, size_t size);

/* Makes `child' the last child of `parent', and the newest hop of its tree. */
void inv_hops_link(struct inv_hops *h, uint32_t parent, uint32_t child);

/* Sets *number to the number of the process in tok. `key' is the hash of its
 * pid. If the memory bound is reached, leaves *number unchanged. Returns 0 or
 * INV_ENOMEM. */
int inv_hops_process(struct inv_hops *h, const struct inv_item *it,
		     const struct inv_token *tok, uint64_t key,
		     uint32_t *number);

void inv_hops_free_processes(struct inv_hops *h);

/* What an event says about its hop. inv__hops_read reads it from the event's
 * terms. */
struct inv_hop_parts {
	struct inv_seq seq; /* the caller sets this field */
	uint32_t from;	    /* numbers of processes; INV_HOP_NONE: not known */
	uint32_t to;
	size_t to_text; /* offsets of texts, for inv_hops_text */
	size_t text;
};

/* Reads the terms of the item's event. Reads the message only if `message' is
 * true. Returns 0 or INV_ENOMEM. */
int inv__hops_read(struct inv_hops *h, const struct inv_item *it,
		   struct inv_hop_parts *p, bool message,
		   const struct inv_print_opts *o);

/* Ends the text that begins at the offset `from', cuts the text if it is long,
 * and returns `from'. */
size_t inv__hops_end_text(struct inv_hops *h, size_t from);

/* Adds the text of the term that begins with tok. Returns the offset of the
 * text. */
size_t inv__hops_put_token(struct inv_hops *h, const struct inv_token *tok,
			   const struct inv_print_opts *o);

/* Removes some processes, and renumbers the others. `number' has an element for
 * each process: a process whose element is INV_HOP_NONE is removed, and each
 * other element is set to the new number of its process. Afterwards no process
 * can be added or found. */
void inv_hops_number_processes(struct inv_hops *h, uint32_t *number);

#endif
