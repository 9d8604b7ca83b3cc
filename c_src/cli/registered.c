/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/registered.h"

#include <stdlib.h>

#include "node/gather.h"
#include "node/registered.h"

/* A node that needs longer shows events without names from before. */
#define WAIT_MS 1000

struct store {
	struct inv_flow *flow;
	const struct inv_node *node;
};

static int store(void *arg, const struct inv_token *tok, const char *name,
		 size_t len)
{
	const struct store *s = arg;

	return inv_flow_learn_name(s->flow, s->node, tok, name, len);
}

void inv_registered_take(struct inv_members *ms, struct inv_flow *flow,
			 const struct inv_node *nodes)
{
	struct inv_ask *asks = calloc(ms->n + 1, sizeof(*asks));
	struct inv_err err;

	if (!asks)
		return;
	for (size_t i = 0; i < ms->n; i++) {
		if (ms->v[i].there)
			inv_session_ask(&asks[i], &ms->v[i].session,
					INV_VERB_NAMES,
					inv_cluster_ms(ms->cluster));
		else
			asks[i].done = true;
	}
	inv_gather_for(ms->cluster->in, asks, ms->n, WAIT_MS);
	for (size_t i = 0; i < ms->n; i++) {
		struct store s = { flow, &nodes[i] };

		if (ms->v[i].there && asks[i].done)
			inv_registered_got(&asks[i], store, &s, &err);
	}
	inv_asks_release(asks, ms->n);
	free(asks);
}
