/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/causes.h"
#include "cli/clock_report.h"
#include "cli/started.h"
#include "cli/survey.h"
#include "flow/hops.h"
#include "log/inputs.h"
#include "log/merge.h"
#include "sink/tree.h"

/* Output is passed to the screen in pieces of about this size. */
#define CHUNK ((size_t)64 * 1024)

struct show {
	struct inv_replay *r;
	struct inv_notices notices;
	struct inv_inputs inputs;
	struct inv_merge merge;
	struct inv_flow flow;
	struct inv_order order;
	struct inv_started started;
	uint64_t last; /* number of the last request that is shown; 0: not known
			  yet */
	struct inv_sink *sink;
	struct inv_hops hops;
	struct inv_buf out;
	bool text;
	bool tree;
};

int inv_replay_init(struct inv_replay *r, const struct inv_members *ms)
{
	r->ms = ms;
	r->logs = calloc(ms->n + 1, sizeof(*r->logs));
	return r->logs ? 0 : INV_ENOMEM;
}

void inv_replay_release(struct inv_replay *r)
{
	for (size_t i = 0; r->logs && i < r->ms->n; i++)
		inv_buf_release(&r->logs[i]);
	free(r->logs);
	r->logs = NULL;
}

int inv_replay_took(struct inv_replay *r, const struct inv_member *m,
		    const struct inv_followed *f)
{
	struct inv_buf *b = &r->logs[m - r->ms->v];

	inv_buf_put(b, f->bytes, f->len);
	return b->error ? INV_ENOMEM : 0;
}

static int open_logs(const struct inv_replay *r, struct inv_inputs *inputs,
		     struct inv_notices *notices, struct inv_err *err)
{
	int rc = 0;

	inv_inputs_init(inputs, notices);
	for (size_t i = 0; !rc && i < r->ms->n; i++) {
		const struct inv_buf *b = &r->logs[i];
		struct inv_source src;

		if (!b->len)
			continue;
		rc = inv_source_memory(&src, r->ms->v[i].name, b->data, b->len);
		if (rc)
			return inv_err_set(err, rc, "no memory");
		rc = inv_inputs_add_source(inputs, &src, NULL, err);
	}
	return rc ? rc : inv_inputs_open(inputs, err);
}

static int compare(void *arg, struct inv_clocks *clocks)
{
	const struct show *s = arg;
	struct inv_notices quiet = { 0 };
	struct inv_inputs inputs;
	struct inv_err err = { 0 };
	int rc = open_logs(s->r, &inputs, &quiet, &err);

	if (!rc)
		rc = inv_survey_inputs(clocks, &inputs);
	else if (rc != INV_ENOMEM)
		rc = inv_clocks_solve(clocks);
	inv_inputs_release(&inputs);
	return rc;
}

static void notify(void *arg, const struct inv_notice *n)
{
	const struct show *s = arg;

	if (n->kind == INV_NOTICE_DAMAGE)
		inv_screen_note(s->r->screen,
				"%s: damaged at offset %" PRIu64 ": %s",
				n->file, n->off, n->text);
}

/*
 * Returns true if the item is shown: what is of no request, and the first requests
 * that the sessions have begun.
 */
static bool wants(struct show *s, const struct inv_item *item,
		  const struct inv_seq *seq)
{
	uint64_t before = s->started.wanted;

	if (!inv_started_wants(&s->started, item, seq))
		return false;
	if (!seq || !s->r->most)
		return true;
	if (s->started.wanted > before && s->started.wanted == s->r->most)
		s->last = item->facts->cause->request;
	return !s->last || item->facts->cause->request <= s->last;
}

/* Adds an event to the trees, which show messages and prints only. */
static int plant(struct show *s, const struct inv_item *item)
{
	s->sink->sum.recorded++;
	inv_sink_manner(s->sink, item);
	return inv_hops_add(&s->hops, item, &s->sink->print);
}

static int put(struct show *s, const struct inv_item *item,
	       const struct inv_seq *seq)
{
	bool hidden = s->tree && !seq && item->kind == INV_ITEM_EVENT;

	if (hidden || !wants(s, item, seq)) {
		inv_sink_skip(s->sink);
		return 0;
	}
	inv_flow_show(&s->flow, item);
	if (s->tree && seq)
		return plant(s, item);
	if (s->text) {
		inv_sink_flush(s->sink);
		if (seq)
			inv_buf_printf(&s->out, "#%-4" PRIu64,
				       item->facts->cause->request);
		else
			inv_buf_puts(&s->out, "     ");
	}
	return inv_sink_item(s->sink, item);
}

/* Takes an item through the flow, and prints it. Returns 0 or INV_ENOMEM. */
static int take(struct show *s, struct inv_item *item)
{
	const struct inv_seq *found = NULL;
	struct inv_seq seq;

	if (inv_started_item(&s->started, item))
		return INV_ENOMEM;
	if (item->kind == INV_ITEM_EVENT && item->ev.tag == INV_TAG_SEQ_TRACE)
		found = inv_flow_seq(&s->flow, item);
	if (found)
		seq = *found;
	item = inv_flow_item(&s->flow, item);
	if (!item)
		return INV_ENOMEM;
	return item->kind == INV_ITEM_NOTE ? 0 :
					     put(s, item, found ? &seq : NULL);
}

static int print_trees(struct show *s)
{
	const struct inv_tree_opts o = { .utc = s->sink->opts.utc,
					 .color = s->sink->opts.color,
					 .width = s->sink->opts.width };

	return inv_tree_put(&s->hops, &o, &s->out);
}

static int pump(struct show *s, struct inv_err *err)
{
	struct inv_item *item;
	int rc;

	while (!(rc = inv_order_next(&s->order, &item))) {
		if (take(s, item))
			return inv_err_set(err, INV_ENOMEM, "no memory");
		if (s->out.len >= CHUNK) {
			inv_screen_out(s->r->screen, s->out.data, s->out.len);
			inv_buf_reset(&s->out);
		}
	}
	if (rc < 0)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	inv_sink_flush(s->sink);
	if (s->tree && print_trees(s))
		return inv_err_set(err, INV_ENOMEM, "no memory");
	inv_screen_out(s->r->screen, s->out.data, s->out.len);
	return 0;
}

/* Prints, as notes, what is not known about the requests. */
static void report(struct show *s)
{
	struct inv_buf b = { 0 };
	char *line, *end;

	inv_causes_text(&s->flow.requests, "", &b);
	inv_clock_report_text(&s->order, "", &b);
	inv_buf_putc(&b, 0);
	for (line = (char *)b.data; !b.error && *line; line = end + 1) {
		end = line;
		while (*end && *end != '\n')
			end++;
		inv_screen_note(s->r->screen, "%.*s", (int)(end - line), line);
		if (!*end)
			break;
	}
	inv_buf_release(&b);
}

static int show(struct show *s, const struct inv_sink_ops *format,
		const struct inv_sink_opts *opts, struct inv_err *err)
{
	struct inv_flow_opts flow_opts = { .keep = format->calls };
	struct inv_sink_opts with = *opts;

	s->notices.notify = notify;
	s->notices.arg = s;
	if (open_logs(s->r, &s->inputs, &s->notices, err))
		return err->code;
	flow_opts.feeds = s->inputs.feeds;
	flow_opts.n_feeds = s->inputs.n_feeds;
	with.one_node = s->inputs.n_feeds == 1;
	if (inv_merge_init(&s->merge, s->inputs.feeds, s->inputs.n_feeds) ||
	    inv_flow_init(&s->flow, &flow_opts) ||
	    inv_order_init(&s->order, &s->merge, &s->flow) ||
	    inv_started_init(&s->started) || inv_hops_init(&s->hops, 0) ||
	    inv_sink_new(&s->sink, format, &with, &s->out))
		return inv_err_set(err, INV_ENOMEM, "no memory");
	s->order.compare = compare;
	s->order.compare_arg = s;
	if (inv_order_compare(&s->order))
		return inv_err_set(err, INV_ENOMEM, "no memory");
	return pump(s, err);
}

int inv_replay_show(struct inv_replay *r, const struct inv_sink_ops *format,
		    const struct inv_sink_opts *opts, struct inv_err *err)
{
	struct show s = { .r = r };
	int rc;

	s.text = format == inv_sink_find("text");
	s.tree = s.text && !r->flat;
	rc = show(&s, format, opts, err);
	r->requests = s.started.wanted;
	r->left_out = s.flow.requests.counts.requests - s.started.wanted;
	if (r->most && r->requests > r->most) {
		r->left_out += r->requests - r->most;
		r->requests = r->most;
	}
	if (s.sink)
		r->sum = s.sink->sum;
	if (!rc && s.text)
		report(&s);
	inv_sink_free(s.sink);
	inv_started_release(&s.started);
	inv_hops_release(&s.hops);
	inv_order_release(&s.order);
	inv_flow_release(&s.flow);
	inv_merge_release(&s.merge);
	inv_inputs_release(&s.inputs);
	inv_buf_release(&s.out);
	return rc;
}
