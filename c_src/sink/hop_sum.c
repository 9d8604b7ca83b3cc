/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/hop_sum.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "flow/requests.h"
#include "sink/duration.h"
#include "sink/hop_text.h"

int inv_hop_sums_init(struct inv_hop_sums *s, const struct inv_hops *h)
{
	size_t n = (size_t)h->n_processes + h->n_nodes + 1;

	*s = (struct inv_hop_sums){ .hops = h,
				    .seen = calloc(n, sizeof(*s->seen)) };
	return s->seen ? 0 : INV_ENOMEM;
}

void inv_hop_sums_release(struct inv_hop_sums *s)
{
	free(s->seen);
	s->seen = NULL;
}

/* Element i of s->seen is for a process or a node. Returns 1 if it was not
 * counted in the current sum yet, otherwise 0. */
static uint32_t count_new(struct inv_hop_sums *s, uint32_t i)
{
	if (s->seen[i] == s->n)
		return 0;
	s->seen[i] = s->n;
	return 1;
}

static void count_process(struct inv_hop_sums *s, uint32_t process,
			  struct inv_hop_sum *sum)
{
	const struct inv_hops *h = s->hops;

	if (process == INV_HOP_NONE)
		return;
	sum->processes += count_new(s, process);
	sum->nodes +=
		count_new(s, h->n_processes + h->processes[process]->node);
}

static void extend(struct inv_hop_sum *sum, int64_t ts_ns)
{
	if (ts_ns < sum->first_ns)
		sum->first_ns = ts_ns;
	if (ts_ns > sum->last_ns)
		sum->last_ns = ts_ns;
}

static void add(const struct inv_hop *p, struct inv_hop_sum *sum)
{
	if (p->send_id)
		extend(sum, p->sent_ns);
	if (p->receive_id || p->kind == INV_HOP_BEGIN)
		extend(sum, p->received_ns);
	if (inv_hop_arrived(p))
		extend(sum, p->last_ns);
	sum->messages += p->kind == INV_HOP_MESSAGE;
	sum->not_received += p->kind == INV_HOP_MESSAGE && !inv_hop_arrived(p);
	sum->orphans += p->orphan != INV_ORPHAN_NOT;
	sum->uncertain += !p->certain && !p->orphan;
}

void inv_hop_sum(struct inv_hop_sums *s, uint32_t root, struct inv_hop_sum *sum)
{
	const struct inv_hops *h = s->hops;
	int64_t begin = inv_hop_time(&h->v[root]);

	*sum = (struct inv_hop_sum){ .first_ns = begin, .last_ns = begin };
	s->n++;
	for (uint32_t i = root; i != INV_HOP_NONE; i = h->v[i].then) {
		count_process(s, h->v[i].from, sum);
		count_process(s, h->v[i].to, sum);
		add(&h->v[i], sum);
	}
}

static void count(struct inv_buf *out, uint32_t n, const char *one,
		  const char *many)
{
	inv_buf_printf(out, "%" PRIu32 " %s, ", n, n == 1 ? one : many);
}

void inv_hop_sum_text(const struct inv_hop_sum *sum, struct inv_buf *out)
{
	count(out, sum->processes, "process", "processes");
	count(out, sum->nodes, "node", "nodes");
	count(out, sum->messages, "message", "messages");
	inv_duration_put(sum->last_ns - sum->first_ns, out);
}
