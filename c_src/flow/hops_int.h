/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_HOPS_INT_H
#define INV_FLOW_HOPS_INT_H

#include "flow/hops.h"
#include "term/cursor.h"

/* What the files of hops.h share. */

/* Returns true if the bound of the memory is reached. */
bool inv_hops_full(const struct inv_hops *h);

/* Returns v with room for one more element after n, or NULL. */
void *inv_hops_grown(void *v, uint32_t n, size_t size);

/* Makes `child' the last hop of its parent, and of its tree. */
void inv_hops_link(struct inv_hops *h, uint32_t parent, uint32_t child);

/* Sets *number to that of the process in tok, whose hash is key, unless there is
 * no room for it. Returns 0 or INV_ENOMEM. */
int inv_hops_process(struct inv_hops *h, const struct inv_item *it,
		     const struct inv_token *tok, uint64_t key,
		     uint32_t *number);

void inv_hops_free_processes(struct inv_hops *h);

/* Removes the processes whose number is INV_HOP_NONE, and sets the numbers of the
 * others. No process can be added or searched after that. */
void inv_hops_number_processes(struct inv_hops *h, uint32_t *number);

#endif
