/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_HOP_TEXT_H
#define INV_SINK_HOP_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "flow/hops.h"

/* The texts for hops (flow/hops.h) that all views of requests use. */

/* Appends the node and the process, such as "a shop" or "a <0.88.0> (m:f/1)"
 * for processes of the node a. */
void inv_hop_process_text(const struct inv_hops *h, uint32_t process,
			  struct inv_buf *out);

/* Like inv_hop_process_text, but without the node. The process must be
 * known. */
void inv_hop_name_text(const struct inv_hops *h, uint32_t process,
		       struct inv_buf *out);

/* Appends the process or name to which an unreceived message was sent. */
void inv_hop_aim_text(const struct inv_hops *h, const struct inv_hop *p,
		      struct inv_buf *out);

/* Appends the text of the hop, without the processes: "began", "print
 * {taken,7}", "spawn m:f/1", "{order,7}". */
void inv_hop_what(const struct inv_hops *h, const struct inv_hop *p,
		  struct inv_buf *out);

/* Like inv_hop_what, with references shortened to #Ref. */
void inv_hop_short(const struct inv_hops *h, const struct inv_hop *p,
		   struct inv_buf *out);

/* Appends a remark about missing events of the hop, such as "(not received) ",
 * or nothing. */
void inv_hop_doubt(const struct inv_hop *p, struct inv_buf *out);

/* Returns true if the cause of the hop is not certain. */
static inline bool inv_hop_uncertain(const struct inv_hop *p)
{
	return !p->certain || p->orphan;
}

/* These functions return times in ns, or -1 if the time is not known.
 * inv_hop_mailbox: from the send event to the receive event of the hop.
 * inv_hop_handler: from the receive event to the last event of the hop's
 * turn. */
int64_t inv_hop_mailbox(const struct inv_hop *p);
int64_t inv_hop_handler(const struct inv_hop *p);

#endif
