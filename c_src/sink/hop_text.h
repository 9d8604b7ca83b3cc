/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_HOP_TEXT_H
#define INV_SINK_HOP_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "flow/hops.h"

/* Words for hops (flow/hops.h), which all views of requests use. */

/* Appends "a shop" or "a <0.88.0> (m:f/1)". */
void inv_hop_process_text(const struct inv_hops *h, uint32_t process,
			  struct inv_buf *out);

/* The same without the node. The process must be known. */
void inv_hop_name_text(const struct inv_hops *h, uint32_t process,
		       struct inv_buf *out);

/* Appends the process or name to which an unreceived message was sent. */
void inv_hop_aim_text(const struct inv_hops *h, const struct inv_hop *p,
		      struct inv_buf *out);

/* Appends what happened, without the processes: "began", "print {taken,7}",
 * "spawn m:f/1", "{order,7}". */
void inv_hop_what(const struct inv_hops *h, const struct inv_hop *p,
		  struct inv_buf *out);

/* The same with references shortened to #Ref. */
void inv_hop_short(const struct inv_hops *h, const struct inv_hop *p,
		   struct inv_buf *out);

/* Appends what is not known of the hop, such as "(not received) ", or
 * nothing. */
void inv_hop_doubt(const struct inv_hop *p, struct inv_buf *out);

/* Returns true if it is not certain from what the hop follows. */
static inline bool inv_hop_uncertain(const struct inv_hop *p)
{
	return !p->certain || p->orphan;
}

/* Return the times, in ns, or -1 if they are not known. */
int64_t inv_hop_mailbox(const struct inv_hop *p);
int64_t inv_hop_handler(const struct inv_hop *p);

#endif
