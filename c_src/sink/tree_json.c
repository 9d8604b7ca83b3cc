/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of requests in JSON: an object for each hop. */
#include "base/err.h"
#include "base/json.h"
#include "flow/requests.h"
#include "flow/seq.h"
#include "sink/hop_text.h"
#include "sink/timefmt.h"
#include "sink/tree.h"

static const char *const kinds[] = { [INV_HOP_BEGIN] = "begin",
				     [INV_HOP_MESSAGE] = "message",
				     [INV_HOP_PRINT] = "print" };

static void process(struct inv_json *j, const char *key,
		    const struct inv_hops *h, uint32_t number)
{
	const struct inv_hop_process *p;

	if (number == INV_HOP_NONE)
		return;
	p = h->processes[number];
	inv_json_open(j, key, '{');
	inv_json_text(j, "pid", p->pid);
	inv_json_text(j, "node", h->nodes[p->node].name);
	if (p->name)
		inv_json_text(j, "name", p->name);
	else
		inv_json_null(j, "name");
	inv_json_close(j, '}');
}

static void optional(struct inv_json *j, const char *key, int64_t ns)
{
	if (ns >= 0)
		inv_json_int(j, key, ns);
}

static void times(struct inv_json *j, const struct inv_hop *p, int64_t begin_ns)
{
	inv_json_int(j, "at_ns", inv_hop_time(p) - begin_ns);
	if (p->send_id) {
		inv_json_uint(j, "send_id", p->send_id);
		inv_json_int(j, "sent", p->sent_ns);
	}
	if (p->receive_id) {
		inv_json_uint(j, "receive_id", p->receive_id);
		inv_json_int(j, "received", p->received_ns);
	}
	optional(j, "mailbox_ns", inv_hop_mailbox(p));
	optional(j, "handler_ns", inv_hop_handler(p));
}

static void hop(struct inv_json *j, const struct inv_tree *t, uint32_t i,
		int64_t begin_ns)
{
	const struct inv_hops *h = t->hops;
	const struct inv_hop *p = &h->v[i];
	const char *orphan = inv_orphan_text((enum inv_orphan)p->orphan);
	const char *signal = inv_signal_text((enum inv_seq_signal)p->signal);

	inv_json_open(j, NULL, '{');
	inv_json_uint(j, "request", p->request);
	inv_json_uint(j, "hop", t->lines[i].number);
	if (p->parent == INV_HOP_NONE)
		inv_json_null(j, "after");
	else
		inv_json_uint(j, "after", t->lines[p->parent].number);
	if (p->skipped)
		inv_json_uint(j, "skipped", p->skipped);
	inv_json_bool(j, "certain", p->certain);
	inv_json_bool(j, "critical", p->critical);
	inv_json_text(j, "kind", kinds[p->kind]);
	times(j, p, begin_ns);
	process(j, "from", h, p->from);
	process(j, "to", h, p->to);
	if (p->kind == INV_HOP_MESSAGE && !inv_hop_arrived(p)) {
		inv_json_bool(j, "not_received", true);
		process(j, "aim", h, p->aim);
		if (p->to_text)
			inv_json_text(j, "name", inv_hops_text(h, p->to_text));
	}
	if (p->kind != INV_HOP_BEGIN)
		inv_json_text(j, "message", inv_hops_text(h, p->text));
	if (signal)
		inv_json_text(j, "signal", signal);
	if (orphan)
		inv_json_text(j, "orphan", orphan);
	inv_json_close(j, '}');
	inv_json_line(j);
}

static void totals(struct inv_json *j, struct inv_tree *t, uint32_t root)
{
	struct inv_timefmt time = { .utc = true };
	struct inv_hop_sum sum;
	size_t begin;

	inv_hop_sum(&t->sums, root, &sum);
	inv_json_open(j, NULL, '{');
	inv_json_uint(j, "request", t->hops->v[root].request);
	inv_json_text(j, "label",
		      inv_hops_text(t->hops, t->hops->v[root].label));
	inv_json_int(j, "ts", sum.first_ns);
	begin = inv_json_begin(j, "time");
	inv_timefmt_iso(&time, sum.first_ns, j->out);
	inv_json_end(j, begin);
	inv_json_uint(j, "processes", sum.processes);
	inv_json_uint(j, "nodes", sum.nodes);
	inv_json_uint(j, "messages", sum.messages);
	inv_json_uint(j, "not_received", sum.not_received);
	inv_json_uint(j, "orphans", sum.orphans);
	inv_json_uint(j, "uncertain", sum.uncertain);
	inv_json_int(j, "duration_ns", sum.last_ns - sum.first_ns);
	inv_json_int(j, "critical_ns", t->hops->v[root].critical_ns);
	inv_json_uint(j, "filtered", t->hops->v[root].filtered);
	inv_json_uint(j, "left_out", t->hops->left_out);
	inv_json_close(j, '}');
	inv_json_line(j);
}

int inv_tree_json(const struct inv_hops *h, struct inv_buf *out)
{
	struct inv_json j = { .out = out };
	uint32_t root = INV_HOP_NONE;
	struct inv_tree t;
	int64_t begin_ns = 0;
	int rc = inv_tree_layout(&t, h);

	for (uint32_t n = 0; !rc && n < t.n; n++) {
		uint32_t i = t.order[n];

		if (h->v[i].parent == INV_HOP_NONE) {
			if (root != INV_HOP_NONE)
				totals(&j, &t, root);
			root = i;
			begin_ns = inv_hop_time(&h->v[i]);
		}
		hop(&j, &t, i, begin_ns);
	}
	if (!rc && root != INV_HOP_NONE)
		totals(&j, &t, root);
	inv_tree_release(&t);
	return rc ? rc : out->error;
}
