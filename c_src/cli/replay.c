/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/uthash.h"
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

/* At least READ_MS milliseconds are between two readings of the logs, and
 * readings take at most a tenth of the time. */
#define READ_MS 200
#define READ_PART 10

/* A request with this many events is printed, and counts as ended. Some
 * requests never end: a process can keep its token for ever, and then
 * everything that it does belongs to the request. */
#define EVENTS_MAX 5000

/* A request. Its key is the same each time that the logs are read. */
struct inv_replay_request {
	uint64_t key;
	uint64_t events;    /* how many events the request had when the logs
			       were last read */
	int64_t changed_ms; /* when `events' changed */
	uint64_t printed;   /* the request's number in the output; 0: not
			       printed yet */
	uint64_t shown;	    /* how many events of the request were printed */
	bool over;	    /* this pass found that the request has ended, and
			       prints it */
	bool ended;	    /* an earlier pass found that the request has ended,
			       and counted it as ended */
	/* used only while the logs are read */
	uint64_t count;
	uint64_t rank; /* number in the order in which requests began, from 1 */
	bool stored;
	UT_hash_handle hh;
};

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
	struct inv_replay_request **requests; /* requests[i] is the request
						 with the number i; NULL:
						 unknown */
	uint64_t n_requests;
	bool final;  /* the trace has ended */
	bool prints; /* this pass prints the requests that are over */
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

static void release_requests(struct inv_replay *r)
{
	struct inv_replay_request *x = r->known;

	HASH_CLEAR(hh, r->known);
	while (x) {
		struct inv_replay_request *next = x->hh.next;

		free(x);
		x = next;
	}
}

void inv_replay_release(struct inv_replay *r)
{
	for (size_t i = 0; r->logs && i < r->ms->n; i++)
		inv_buf_release(&r->logs[i]);
	free(r->logs);
	r->logs = NULL;
	release_requests(r);
}

int inv_replay_took(struct inv_replay *r, const struct inv_member *m,
		    const struct inv_followed *f)
{
	struct inv_buf *b = &r->logs[m - r->ms->v];

	inv_buf_put(b, f->bytes, f->len);
	r->fresh |= f->len > 0;
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

	/* A log that is still being written may end anywhere: that is not
	 * damage. */
	if (!s->final)
		return;
	if (n->kind == INV_NOTICE_DAMAGE)
		inv_screen_note(s->r->screen,
				"%s: damaged at offset %" PRIu64 ": %s",
				n->file, n->off, n->text);
}

/*
 * Returns true if the item is shown. It is shown if it belongs to no request,
 * or to one of the first `most' requests that the sessions have begun.
 */
static bool wants(struct show *s, const struct inv_item *item,
		  const struct inv_seq *seq)
{
	uint64_t before = s->started.wanted;

	if (s->started.over || !inv_started_wants(&s->started, item, seq))
		return false;
	if (!seq || !s->r->most)
		return true;
	if (s->started.wanted > before && s->started.wanted == s->r->most)
		s->last = item->facts->cause->request;
	return !s->last || item->facts->cause->request <= s->last;
}

/* --- trees ---------------------------------------------------------------- */

/*
 * Returns the request whose first event is `item', or NULL if there is no
 * memory. The key of the request contains the time that the node measured,
 * mono_ns. The other times of the event cannot be used: they are computed from
 * mono_ns and the log's anchors, and change a little with each further anchor.
 */
static struct inv_replay_request *get(struct inv_replay *r,
				      const struct inv_item *item,
				      const struct inv_seq *seq)
{
	const uint64_t all[3] = { inv_seq_process(seq), seq->cur,
				  (uint64_t)item->mono_ns };
	uint64_t key = XXH3_64bits(all, sizeof(all));
	struct inv_replay_request *x;

	HASH_FIND(hh, r->known, &key, sizeof(key), x);
	if (x)
		return x;
	x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->key = key;
	x->stored = true;
	HASH_ADD(hh, r->known, key, sizeof(x->key), x);
	if (x->stored)
		return x;
	free(x);
	return NULL;
}

static bool grow(struct show *s, uint64_t n)
{
	struct inv_replay_request **more =
		realloc(s->requests, n * 2 * sizeof(*more));

	if (!more)
		return false;
	for (uint64_t i = s->n_requests; i < n * 2; i++)
		more[i] = NULL;
	s->requests = more;
	s->n_requests = n * 2;
	return true;
}

/*
 * Returns the request to which the item, an event that is shown, belongs.
 * Returns NULL if there is no memory.
 */
static struct inv_replay_request *request_of(struct show *s,
					     const struct inv_item *item,
					     const struct inv_seq *seq)
{
	uint64_t number = item->facts->cause->request;
	struct inv_replay_request *x;

	if (number >= s->n_requests && !grow(s, number + 1))
		return NULL;
	x = s->requests[number];
	if (!x) {
		x = s->requests[number] = get(s->r, item, seq);
		if (!x)
			return NULL;
		x->rank = s->started.wanted;
	}
	x->count++;
	return x;
}

/* Adds an event to the trees, under the number that its request has in the
 * output. */
static int plant(struct show *s, const struct inv_item *item,
		 struct inv_replay_request *x)
{
	struct inv_cause cause = *item->facts->cause;
	int rc;

	if (!x->printed)
		x->printed = ++s->r->printed;
	x->shown++;
	s->sink->sum.recorded++;
	inv_sink_manner(s->sink, item);
	inv_flow_show(&s->flow, item);
	cause.request = x->printed;
	s->flow.facts.cause = &cause;
	rc = inv_hops_add(&s->hops, item, &s->sink->print);
	s->flow.facts.cause = &s->flow.cause;
	return rc;
}

/* Adds the event to the trees, which show only messages and prints. */
static int put_tree(struct show *s, const struct inv_item *item,
		    const struct inv_seq *seq)
{
	const struct inv_replay *r = s->r;
	struct inv_replay_request *x;

	if (!seq || !inv_started_wants(&s->started, item, seq)) {
		inv_sink_skip(s->sink);
		return 0;
	}
	x = request_of(s, item, seq);
	if (!x)
		return INV_ENOMEM;
	if (!s->prints || (r->most && x->rank > r->most) ||
	    (s->final ? x->printed && !x->over : !x->over)) {
		inv_flow_show(&s->flow, item);
		inv_sink_skip(s->sink);
		return 0;
	}
	x->over = true;
	return plant(s, item, x);
}

/* --- items ---------------------------------------------------------------- */

static int put(struct show *s, const struct inv_item *item,
	       const struct inv_seq *seq)
{
	if (s->tree && item->kind == INV_ITEM_EVENT)
		return put_tree(s, item, seq);
	if (!s->final || !wants(s, item, seq)) {
		inv_sink_skip(s->sink);
		return 0;
	}
	inv_flow_show(&s->flow, item);
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

	return inv_hops_finish(&s->hops) || inv_tree_put(&s->hops, &o, &s->out);
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
	if (s->tree && s->prints && print_trees(s))
		return inv_err_set(err, INV_ENOMEM, "no memory");
	inv_screen_out(s->r->screen, s->out.data, s->out.len);
	return 0;
}

/* Prints notes about missing events of the requests. */
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

static int show(struct show *s, struct inv_err *err)
{
	const struct inv_sink_ops *format =
		inv_sink_find(s->r->json ? "json" : "text");
	struct inv_flow_opts flow_opts = { .keep = format->calls };
	struct inv_sink_opts with = s->r->opts;

	s->text = !s->r->json;
	/* While the trace runs, requests are printed only as trees. For all
	 * other formats, requests are only counted. */
	s->tree = !s->final || (s->text && !s->r->flat);
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

static void release(struct show *s)
{
	inv_sink_free(s->sink);
	inv_started_release(&s->started);
	inv_hops_release(&s->hops);
	inv_order_release(&s->order);
	inv_flow_release(&s->flow);
	inv_merge_release(&s->merge);
	inv_inputs_release(&s->inputs);
	inv_buf_release(&s->out);
	free(s->requests);
}

/* --- while the trace runs ------------------------------------------------- */

/* Reads the logs as far as they have arrived. Does not report errors: at the
 * end of the trace the logs are read again, and errors are reported. */
static void look(struct inv_replay *r, bool prints)
{
	struct show s = { .r = r, .prints = prints };
	struct inv_err err = { 0 };

	(void)show(&s, &err);
	release(&s);
}

/* Counts the events of each request. */
static void count(struct inv_replay *r)
{
	int64_t begin = inv_mono_ms(), now;

	for (struct inv_replay_request *x = r->known; x; x = x->hh.next)
		x->count = 0;
	look(r, false);
	now = inv_mono_ms();
	for (struct inv_replay_request *x = r->known; x; x = x->hh.next) {
		if (x->count != x->events || !x->changed_ms)
			x->changed_ms = now;
		x->events = x->count;
	}
	r->fresh = false;
	r->next_ms = now + READ_PART * (now - begin);
	if (r->next_ms < now + READ_MS)
		r->next_ms = now + READ_MS;
}

static bool is_shown(const struct inv_replay *r,
		     const struct inv_replay_request *x)
{
	return x->events && (!r->most || x->rank <= r->most);
}

/*
 * Finds the requests that have ended. Returns 0 if there are any; otherwise the
 * ms until the next request may have ended, or -1 if no request is open.
 */
static int64_t find_over(struct inv_replay *r, int64_t now)
{
	int64_t next = -1;
	bool any = false;

	for (struct inv_replay_request *x = r->known; x; x = x->hh.next) {
		int64_t left = x->changed_ms + (int64_t)r->idle_ms - now;

		x->over = false;
		if (x->printed || x->ended || !is_shown(r, x))
			continue;
		x->over = left <= 0 || x->events >= EVENTS_MAX;
		any |= x->over;
		if (left > 0 && (next < 0 || left < next))
			next = left;
	}
	return any ? 0 : next;
}

static void end(const struct inv_replay *r, struct inv_replay_request *x)
{
	x->ended = true;
	if (x->events >= EVENTS_MAX)
		inv_screen_note(r->screen,
				"a request has had %d events, and counts as "
				"over; perhaps a process keeps its token, see "
				"inviso-seq(1)",
				EVENTS_MAX);
}

int64_t inv_replay_turn(struct inv_replay *r)
{
	int64_t now = inv_mono_ms();
	int64_t next;

	if (r->fresh && now < r->next_ms)
		return r->next_ms - now;
	if (r->fresh)
		count(r);
	next = find_over(r, inv_mono_ms());
	if (next)
		return next;
	if (!r->json && !r->flat)
		look(r, true);
	for (struct inv_replay_request *x = r->known; x; x = x->hh.next) {
		if (x->over)
			end(r, x);
		x->over = false;
	}
	return READ_MS;
}

bool inv_replay_enough(const struct inv_replay *r)
{
	uint64_t n = 0;

	for (const struct inv_replay_request *x = r->known; x; x = x->hh.next)
		n += x->ended && is_shown(r, x);
	return r->most && n >= r->most;
}

/* --- the end -------------------------------------------------------------- */

int inv_replay_show(struct inv_replay *r, struct inv_err *err)
{
	struct show s = { .r = r, .final = true, .prints = true };
	int rc;

	for (struct inv_replay_request *x = r->known; x; x = x->hh.next)
		x->count = 0;
	rc = show(&s, err);
	r->requests = s.started.wanted;
	r->left_out = s.flow.requests.counts.requests - s.started.wanted;
	if (r->most && r->requests > r->most) {
		r->left_out += r->requests - r->most;
		r->requests = r->most;
	}
	for (struct inv_replay_request *x = r->known; x; x = x->hh.next)
		if (x->printed && x->count > x->shown)
			r->late += x->count - x->shown;
	if (s.sink)
		r->sum = s.sink->sum;
	if (!rc && s.text)
		report(&s);
	release(&s);
	return rc;
}
