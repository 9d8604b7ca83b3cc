/* SPDX-License-Identifier: Apache-2.0 */
/* A report as JSON. Times of events are in ns since begin_ns. */
#include <stdlib.h>
#include <string.h>

#include "report/page.h"
#include "report/report.h"

/* The HTML page and the JSON report each show at most this many rows of a
 * table. */
#define ROWS 200u

struct writer {
	const struct inv_report *r;
	const struct inv_report_about *a;
	struct inv_json *j;
	struct inv_buf text;
};

static void put_word(struct writer *w, const char *key, uint64_t word)
{
	size_t len;
	const char *text = inv_report_word(w->r, word, &len);

	if (word)
		inv_json_bytes(w->j, key, text, len);
	else
		inv_json_null(w->j, key);
}

/* Writes the text that was collected in w->text, as the value of `key'. */
static void put_text(struct writer *w, const char *key)
{
	inv_json_bytes(w->j, key, w->text.data, w->text.len);
	inv_buf_reset(&w->text);
}

static void put_bytes(struct writer *w, const char *key,
		      const struct inv_report_text *text)
{
	if (text->p)
		inv_json_bytes(w->j, key, text->p, text->n);
	else
		inv_json_null(w->j, key);
}

static void put_identity(struct writer *w, uint32_t process)
{
	const struct inv_row_process *x =
		process ? &w->r->cast->v[process - 1] : NULL;

	put_word(w, "node", x ? x->node : 0);
	if (x)
		inv_row_process_pid(x, &w->text);
	put_text(w, "pid");
	put_word(w, "name", x ? x->name : 0);
}

static void put_mfa(struct writer *w, uint32_t function)
{
	put_word(w, "mfa",
		 function ? w->r->cast->functions[function - 1].mfa : 0);
}

/* Writes a time, in ns since begin_ns. */
static void put_at(struct writer *w, const char *key, int64_t ts_ns)
{
	inv_json_int(w->j, key,
		     (int64_t)((uint64_t)ts_ns - (uint64_t)w->r->begin_ns));
}

static size_t shown(size_t n)
{
	return n < ROWS ? n : ROWS;
}

/* Opens an array of rows. */
static void open_rows(struct writer *w, const char *key)
{
	inv_json_open(w->j, key, '[');
}

static void close_rows(struct writer *w)
{
	inv_json_close(w->j, ']');
}

/* --- what was recorded and lost ------------------------------------------- */

static void recorded(struct writer *w)
{
	const struct inv_summary *sum = w->a->sum;
	const struct inv_report *r = w->r;
	bool known = r->begin_ns <= r->end_ns;

	inv_json_uint(w->j, "recorded", sum->recorded);
	inv_json_uint(w->j, "events", r->events);
	inv_json_uint(w->j, "filtered", sum->filtered);
	inv_json_uint(w->j, "lost", inv_summary_lost(sum));
	inv_json_uint(w->j, "after_limit", sum->lost[INV_LOSS_LIMIT]);
	inv_json_uint(w->j, "unended", sum->unended);
	inv_json_uint(w->j, "incomplete", r->rows.forgotten);
	inv_json_int(w->j, "begin_ns", known ? r->begin_ns : 0);
	inv_json_uint(w->j, "duration_ns",
		      known ? (uint64_t)r->end_ns - (uint64_t)r->begin_ns : 0);
	open_rows(w, "nodes");
	for (uint32_t i = 0; i < r->n_nodes; i++) {
		const struct inv_report_node *n = &r->nodes[i];

		inv_json_open(w->j, NULL, '{');
		put_word(w, "node", n->node);
		inv_json_uint(w->j, "otp", n->otp_release);
		inv_json_uint(w->j, "events", n->events);
		inv_json_uint(w->j, "lost", n->lost);
		if (n->known) {
			put_at(w, "first_ns", n->first_ns);
			put_at(w, "last_ns", n->last_ns);
		}
		inv_json_close(w->j, '}');
	}
	close_rows(w);
	open_rows(w, "tags");
	for (size_t i = 0; i < r->tags.n; i++) {
		inv_json_open(w->j, NULL, '{');
		put_word(w, "tag", r->tags.rows[i].key[0]);
		put_word(w, "node", r->tags.rows[i].key[1]);
		inv_json_uint(w->j, "events", r->tags.rows[i].v[0]);
		inv_json_close(w->j, '}');
	}
	close_rows(w);
	open_rows(w, "losses");
	for (size_t i = 0; i < r->losses.n; i++) {
		inv_json_open(w->j, NULL, '{');
		put_word(w, "node", r->losses.rows[i].key[0]);
		put_word(w, "reason", r->losses.rows[i].key[1]);
		inv_json_uint(w->j, "lost", r->losses.rows[i].v[0]);
		inv_json_uint(w->j, "places", r->losses.rows[i].v[1]);
		inv_json_close(w->j, '}');
	}
	close_rows(w);
}

/* --- calls ---------------------------------------------------------------- */

/* Writes [from, to, n] for each range with at least one value. Each power of
 * two has four ranges. */
static void put_histogram(struct writer *w, const struct inv_histogram *h)
{
	const uint32_t step = INV_BUCKETS / 4;

	open_rows(w, "histogram");
	for (uint32_t b = 0; b < INV_BUCKETS_BLOCKS; b++)
		for (uint32_t i = 0; h->blocks[b] && i < INV_BUCKETS;
		     i += step) {
			uint64_t n = 0, width;
			uint64_t low = inv_buckets_low(b, i, &width);

			for (uint32_t k = i; k < i + step; k++)
				n += inv_histogram_at(h, b, k);
			if (!n)
				continue;
			inv_json_open(w->j, NULL, '[');
			inv_json_uint(w->j, NULL, low);
			inv_json_uint(w->j, NULL, low + step * width);
			inv_json_uint(w->j, NULL, n);
			inv_json_close(w->j, ']');
		}
	close_rows(w);
}

static void put_times(struct writer *w, const struct inv_histogram *h)
{
	if (!h || !h->n)
		return;
	inv_json_uint(w->j, "min_ns", h->min);
	inv_json_uint(w->j, "p50_ns", inv_histogram_quantile(h, 500));
	inv_json_uint(w->j, "p90_ns", inv_histogram_quantile(h, 900));
	inv_json_uint(w->j, "p99_ns", inv_histogram_quantile(h, 990));
	inv_json_uint(w->j, "p999_ns", inv_histogram_quantile(h, 999));
	inv_json_uint(w->j, "max_ns", h->max);
}

static void put_function(struct writer *w, const struct inv_keyed_row *f,
			 bool others)
{
	inv_json_open(w->j, NULL, '{');
	if (others)
		inv_json_text(w->j, "mfa", "(others)");
	else
		put_mfa(w, (uint32_t)f->key[0]);
	inv_json_uint(w->j, "calls", f->v[INV_FUNCTION_CALLS]);
	inv_json_uint(w->j, "ended", f->v[INV_FUNCTION_ENDED]);
	inv_json_uint(w->j, "failed", f->v[INV_FUNCTION_FAILED]);
	inv_json_uint(w->j, "self_ns", f->v[INV_FUNCTION_SELF]);
	inv_json_uint(w->j, "total_ns", f->v[INV_FUNCTION_TOTAL]);
	put_times(w, f->times);
	if (f->text)
		inv_json_text(w->j, "example", f->text);
	if (f->times)
		put_histogram(w, f->times);
	inv_json_close(w->j, '}');
}

static void put_call(struct writer *w, const struct inv_report_call *c)
{
	inv_json_open(w->j, NULL, '{');
	inv_json_uint(w->j, "id", c->id);
	put_at(w, "at_ns", c->ts_ns);
	put_mfa(w, c->function);
	put_identity(w, c->process);
	put_bytes(w, "args", &c->args);
	put_bytes(w, "result", &c->result);
	put_word(w, "outcome", c->outcome);
	inv_json_bool(w->j, "failed", c->failed);
	if (c->has_duration) {
		inv_json_int(w->j, "duration_ns", c->top.value);
		inv_json_int(w->j, "self_ns", c->self_ns);
		inv_json_bool(w->j, "certain", c->certain);
	}
	inv_json_close(w->j, '}');
}

static void calls(struct writer *w)
{
	const struct inv_report *r = w->r;

	inv_json_open(w->j, "calls", '{');
	inv_json_uint(w->j, "calls", r->calls.n);
	inv_json_uint(w->j, "ended", r->calls.ended);
	inv_json_uint(w->j, "failed", r->calls.failed);
	inv_json_uint(w->j, "uncertain", r->calls.uncertain);
	inv_json_uint(w->j, "functions", r->functions.n + r->functions.pruned);
	inv_json_close(w->j, '}');
	open_rows(w, "functions");
	/* All functions with failures are written, so that the failures of the
	 * functions add up to the total above, `failed'. */
	for (size_t i = 0; i < r->functions.n; i++)
		if (i < ROWS || r->functions.rows[i].v[INV_FUNCTION_FAILED])
			put_function(w, &r->functions.rows[i], false);
	if (r->functions.pruned)
		put_function(w, &r->functions.others, true);
	close_rows(w);
	open_rows(w, "slowest");
	for (size_t i = 0; i < r->calls.slowest.n; i++)
		put_call(w, (struct inv_report_call *)r->calls.slowest.v[i]);
	close_rows(w);
	open_rows(w, "failures");
	for (size_t i = 0; i < r->calls.n_failures; i++)
		put_call(w, r->calls.failures[i]);
	close_rows(w);
}

/* --- processes and messages ----------------------------------------------- */

static void put_kind(struct writer *w, const struct inv_keyed_row *k,
		     bool others)
{
	inv_json_open(w->j, NULL, '{');
	put_word(w, "node", k->key[0]);
	if (others)
		inv_json_text(w->j, "kind", "(others)");
	else if (k->key[1])
		put_word(w, "kind", k->key[1]);
	else
		inv_json_text(w->j, "kind", INV_REPORT_NO_NAME);
	inv_json_uint(w->j, "processes", k->v[INV_KIND_PROCESSES]);
	inv_json_uint(w->j, "events", k->v[INV_KIND_EVENTS]);
	inv_json_uint(w->j, "calls", k->v[INV_KIND_CALLS]);
	inv_json_uint(w->j, "sent", k->v[INV_KIND_SENT]);
	inv_json_uint(w->j, "received", k->v[INV_KIND_RECEIVED]);
	inv_json_uint(w->j, "self_ns", k->v[INV_KIND_SELF]);
	inv_json_uint(w->j, "running_ns", k->v[INV_KIND_RUNNING]);
	inv_json_uint(w->j, "gc_ns", k->v[INV_KIND_GC]);
	inv_json_close(w->j, '}');
}

static void put_process(struct writer *w, const struct inv_report_process *p)
{
	inv_json_open(w->j, NULL, '{');
	put_identity(w, p->process);
	inv_json_uint(w->j, "events", p->events);
	inv_json_uint(w->j, "calls", p->calls);
	inv_json_uint(w->j, "sent", p->sent);
	inv_json_uint(w->j, "received", p->received);
	inv_json_int(w->j, "self_ns", p->self_ns);
	inv_json_int(w->j, "running_ns", p->running_ns);
	inv_json_int(w->j, "gc_ns", p->gc_ns);
	inv_json_close(w->j, '}');
}

static void processes(struct writer *w)
{
	const struct inv_report *r = w->r;

	inv_json_open(w->j, "processes", '{');
	inv_json_uint(w->j, "processes", r->processes.n);
	inv_json_uint(w->j, "spawned", r->processes.spawned);
	inv_json_uint(w->j, "exited", r->processes.exited);
	inv_json_uint(w->j, "abnormal", r->processes.abnormal);
	inv_json_uint(w->j, "kinds", r->kinds.n + r->kinds.pruned);
	inv_json_close(w->j, '}');
	open_rows(w, "kinds");
	for (size_t i = 0; i < shown(r->kinds.n); i++)
		put_kind(w, &r->kinds.rows[i], false);
	if (r->kinds.pruned)
		put_kind(w, &r->kinds.others, true);
	close_rows(w);
	open_rows(w, "busiest");
	for (size_t i = 0; i < r->processes.busiest.n; i++)
		put_process(
			w,
			(struct inv_report_process *)r->processes.busiest.v[i]);
	close_rows(w);
	open_rows(w, "exits");
	for (size_t i = 0; i < shown(r->exits.n); i++) {
		const struct inv_keyed_row *x = &r->exits.rows[i];

		inv_json_open(w->j, NULL, '{');
		inv_json_text(w->j, "reason", x->text ? x->text : "");
		inv_json_uint(w->j, "exits", x->v[0]);
		put_identity(w, (uint32_t)x->v[1]);
		inv_json_close(w->j, '}');
	}
	close_rows(w);
}

static void put_messages(struct writer *w, const struct inv_keyed_row *m)
{
	uint64_t waited = m->v[INV_MESSAGES_WAITED];

	inv_json_uint(w->j, "messages", m->v[INV_MESSAGES_ALL]);
	inv_json_uint(w->j, "received", m->v[INV_MESSAGES_GOT]);
	inv_json_uint(w->j, "of_requests", m->v[INV_MESSAGES_OF_REQUESTS]);
	if (waited) {
		inv_json_uint(w->j, "mean_wait_ns",
			      m->v[INV_MESSAGES_WAIT] / waited);
		inv_json_uint(w->j, "max_wait_ns", m->v[INV_KEYED_MAX]);
	}
}

static void put_kind_name(struct writer *w, const char *key, uint64_t name,
			  bool others)
{
	if (others)
		inv_json_text(w->j, key, "(others)");
	else if (name)
		put_word(w, key, name);
	else
		inv_json_text(w->j, key, INV_REPORT_NO_NAME);
}

static void put_mailbox(struct writer *w, const struct inv_keyed_row *m,
			bool others)
{
	inv_json_open(w->j, NULL, '{');
	put_word(w, "node", m->key[0]);
	if (others)
		inv_buf_puts(&w->text, "(others)");
	else
		inv_report_mailbox(w->r, m, &w->text);
	put_text(w, "process");
	put_messages(w, m);
	inv_json_close(w->j, '}');
}

static void put_flow(struct writer *w, const struct inv_keyed_row *m,
		     bool others)
{
	inv_json_open(w->j, NULL, '{');
	put_word(w, "from_node", m->key[0]);
	put_kind_name(w, "sender", m->key[1], others);
	put_word(w, "to_node", m->key[2]);
	put_kind_name(w, "receiver", m->key[3], others);
	put_messages(w, m);
	inv_json_close(w->j, '}');
}

static void messages(struct writer *w)
{
	const struct inv_report *r = w->r;

	inv_json_open(w->j, "messages", '{');
	inv_json_uint(w->j, "messages", r->messages.n);
	inv_json_uint(w->j, "received", r->messages.received);
	inv_json_uint(w->j, "waited", r->messages.waited);
	inv_json_uint(w->j, "mailboxes", r->mailboxes.n + r->mailboxes.pruned);
	inv_json_uint(w->j, "pairs", r->flows.n + r->flows.pruned);
	inv_json_close(w->j, '}');
	open_rows(w, "mailboxes");
	for (size_t i = 0; i < shown(r->mailboxes.n); i++)
		put_mailbox(w, &r->mailboxes.rows[i], false);
	if (r->mailboxes.pruned)
		put_mailbox(w, &r->mailboxes.others, true);
	close_rows(w);
	open_rows(w, "flow");
	for (size_t i = 0; i < shown(r->flows.n); i++)
		put_flow(w, &r->flows.rows[i], false);
	if (r->flows.pruned)
		put_flow(w, &r->flows.others, true);
	close_rows(w);
}

/* --- the rest ------------------------------------------------------------- */

static void collections(struct writer *w)
{
	const struct inv_report *r = w->r;

	inv_json_open(w->j, "collections", '{');
	inv_json_uint(w->j, "collections", r->gc.n);
	inv_json_uint(w->j, "major", r->gc.major);
	inv_json_uint(w->j, "ns", r->gc.ns);
	inv_json_close(w->j, '}');
	open_rows(w, "longest_collections");
	for (size_t i = 0; i < r->gc.longest.n; i++) {
		const struct inv_report_gc *gc =
			(struct inv_report_gc *)r->gc.longest.v[i];

		inv_json_open(w->j, NULL, '{');
		put_at(w, "at_ns", gc->ts_ns);
		put_identity(w, gc->process);
		inv_json_bool(w->j, "major", gc->major);
		inv_json_int(w->j, "duration_ns", gc->top.value);
		inv_json_uint(w->j, "before_bytes", gc->before);
		inv_json_uint(w->j, "after_bytes", gc->after);
		inv_json_close(w->j, '}');
	}
	close_rows(w);
}

static void requests(struct writer *w)
{
	const struct inv_report *r = w->r;

	inv_json_open(w->j, "requests", '{');
	inv_json_uint(w->j, "requests", r->requests.n);
	put_times(w, &r->requests.times);
	if (r->requests.n)
		put_histogram(w, &r->requests.times);
	inv_json_close(w->j, '}');
	open_rows(w, "slowest_requests");
	for (size_t i = 0; i < r->requests.slowest.n; i++) {
		const struct inv_report_request *q =
			(struct inv_report_request *)r->requests.slowest.v[i];

		inv_json_open(w->j, NULL, '{');
		inv_json_uint(w->j, "request", q->request);
		put_bytes(w, "label", &q->label);
		put_identity(w, q->process);
		put_at(w, "at_ns", q->first_ns);
		inv_json_int(w->j, "duration_ns", q->top.value);
		inv_json_uint(w->j, "events", q->events);
		inv_json_uint(w->j, "messages", q->messages);
		inv_json_uint(w->j, "orphans", q->orphans);
		inv_json_close(w->j, '}');
	}
	close_rows(w);
}

static void counts(struct writer *w)
{
	const struct inv_report *r = w->r;

	inv_json_uint(w->j, "counted", r->counts.seen);
	open_rows(w, "counts");
	for (size_t i = 0; i < r->counts.n; i++) {
		const struct inv_report_count *c =
			(struct inv_report_count *)r->counts.v[i];

		inv_json_open(w->j, NULL, '{');
		inv_json_text(w->j, "node", c->key->node->name);
		inv_json_text(w->j, "counted", inv_rows_counted(c->key->of));
		inv_json_text(w->j, "key", c->key->key);
		inv_json_uint(w->j, "n", c->key->n);
		if (!c->key->measure)
			put_times(w, c->key->times);
		inv_json_close(w->j, '}');
	}
	close_rows(w);
}

void inv_report_json(struct inv_report *r, const struct inv_report_about *a,
		     bool page, struct inv_json *j)
{
	struct writer w = { .r = r, .a = a, .j = j };

	inv_json_open(j, NULL, '{');
	recorded(&w);
	calls(&w);
	processes(&w);
	messages(&w);
	requests(&w);
	collections(&w);
	counts(&w);
	if (page)
		inv__report_page_data(r, a, j);
	inv_json_close(j, '}');
	if (w.text.error)
		j->out->error = w.text.error;
	inv_buf_release(&w.text);
}
