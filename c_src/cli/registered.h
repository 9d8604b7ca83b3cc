/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_REGISTERED_H
#define INV_CLI_REGISTERED_H

#include "cli/members.h"
#include "flow/flow.h"

/*
 * Asks all sessions for the names that processes of their nodes have
 * registered, and stores the names in the flow. nodes[i] is the flow's node for
 * ms->v[i]. A node that does not answer has no names; that is no error.
 */
void inv_registered_take(struct inv_members *ms, struct inv_flow *flow,
			 const struct inv_node *nodes);

#endif
