/* SPDX-License-Identifier: Apache-2.0 */
/* A report for a terminal: sections with aligned columns. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/columns.h"
#include "report/report.h"
#include "sink/draw.h"
#include "sink/duration.h"
#include "sink/fit.h"
#include "sink/rank.h"
#include "sink/timefmt.h"

#define DRAWN_MIN 20u
/* If a call has a result, its arguments are cut, so that the result is seen. */
#define ARGS_MAX 60u

#define BOLD "\033[1m"
#define RESET "\033[m"

struct writer {
	const struct inv_report *r;
	const struct inv_report_about *a;
	struct inv_buf *out;
	struct inv_columns c;
};

/* Begins a section with its title. The caller appends the rest of the title's
 * line, and a newline. */
static void section(struct writer *w, const char *title)
{
	inv_buf_putc(w->out, '\n');
	inv_buf_puts(w->out, w->a->color ? BOLD : "");
	inv_buf_puts(w->out, title);
	inv_buf_puts(w->out, w->a->color ? RESET : "");
}

static size_t shown(const struct writer *w, size_t n)
{
	return inv_rank_shown(n, w->a->top);
}

/* Begins a table: sets the alignment of its columns, and adds their names. */
static void heads(struct writer *w, const char *align, const char *const *names)
{
	w->c.align = align;
	for (size_t i = 0; align[i]; i++)
		inv_columns_text(&w->c, names[i]);
}

/* Prints the table, and how many rows are not shown. */
static void table(struct writer *w, size_t all)
{
	size_t n = shown(w, all);

	inv_columns_print(&w->c, w->out);
	if (n < all)
		inv_buf_printf(w->out, "  and %zu more\n", all - n);
}

static void word_cell(struct writer *w, uint64_t word)
{
	size_t len;
	const char *text = inv_report_word(w->r, word, &len);

	inv_buf_put(&w->c.text, text, len);
	inv_columns_next(&w->c);
}

static void kind_cell(struct writer *w, uint64_t word)
{
	if (word)
		word_cell(w, word);
	else
		inv_columns_text(&w->c, INV_REPORT_NO_NAME);
}

static void mfa_text(struct writer *w, uint32_t what)
{
	size_t len;
	const char *text = inv_report_word(
		w->r, what ? w->r->cast->functions[what - 1].mfa : 0, &len);

	inv_buf_put(&w->c.text, text, len);
}

static void process_cell(struct writer *w, uint32_t process)
{
	inv_report_process(w->r, process, &w->c.text);
	inv_columns_next(&w->c);
}

/* Adds a cell with a time, which may be unknown. */
static void time_cell(struct writer *w, bool known, uint64_t ns)
{
	if (known)
		inv_columns_ns(&w->c, ns);
	else
		inv_columns_text(&w->c, "-");
}

/* Adds a cell with the seconds since the first event. They are negative if a
 * call began before the first event. This is possible, because a call that an
 * action slow(T) or failed picks has only one event, at its end. */
static void at_cell(struct writer *w, int64_t ts_ns)
{
	bool before = ts_ns < w->r->begin_ns;
	uint64_t ns = before ? (uint64_t)w->r->begin_ns - (uint64_t)ts_ns :
			       (uint64_t)ts_ns - (uint64_t)w->r->begin_ns;

	before = before && ns >= 1000;

	inv_buf_printf(&w->c.text, "%s%" PRIu64 ".%06" PRIu64,
		       before ? "-" : "", ns / 1000000000, ns / 1000 % 1000000);
	inv_columns_next(&w->c);
}

/* --- sections ------------------------------------------------------------- */

static void head(struct writer *w)
{
	const struct inv_report *r = w->r;
	struct inv_timefmt t = { .utc = w->a->utc };

	inv_buf_puts(w->out, w->a->color ? BOLD : "");
	inv_buf_printf(w->out, "%" PRIu32 " node%s", r->n_nodes,
		       r->n_nodes == 1 ? "" : "s");
	if (r->begin_ns <= r->end_ns) {
		inv_buf_puts(w->out, ", ");
		inv_duration_short((uint64_t)r->end_ns - (uint64_t)r->begin_ns,
				   w->out);
		inv_buf_puts(w->out, " from ");
		inv_timefmt_put(&t, r->begin_ns, w->out);
	}
	inv_buf_puts(w->out, w->a->color ? RESET "\n" : "\n");
	inv_summary_text(w->a->sum, w->out);
	inv_buf_puts(w->out, "\n");
}

static void nodes(struct writer *w)
{
	static const char *const names[] = { "events", "lost", "OTP", "node" };
	const struct inv_report *r = w->r;

	if (!r->n_nodes)
		return;
	section(w, "Nodes");
	inv_buf_putc(w->out, '\n');
	heads(w, "rrrl", names);
	for (uint32_t i = 0; i < r->n_nodes; i++) {
		inv_columns_u64(&w->c, r->nodes[i].events);
		inv_columns_u64(&w->c, r->nodes[i].lost);
		if (r->nodes[i].otp_release)
			inv_buf_u64(&w->c.text, r->nodes[i].otp_release);
		inv_columns_next(&w->c);
		word_cell(w, r->nodes[i].node);
	}
	inv_columns_print(&w->c, w->out);
}

static void losses(struct writer *w)
{
	static const char *const names[] = { "lost", "places", "reason",
					     "node" };
	const struct inv_report *r = w->r;

	if (!inv_summary_lost(w->a->sum))
		return;
	section(w, "Lost events");
	inv_buf_putc(w->out, '\n');
	heads(w, "rrll", names);
	for (size_t i = 0; i < r->losses.n; i++) {
		if (!inv_report_is_loss(r, &r->losses.rows[i]))
			continue;
		inv_columns_u64(&w->c, r->losses.rows[i].v[0]);
		inv_columns_u64(&w->c, r->losses.rows[i].v[1]);
		word_cell(w, r->losses.rows[i].key[1]);
		word_cell(w, r->losses.rows[i].key[0]);
	}
	inv_columns_print(&w->c, w->out);
}

static void tags(struct writer *w)
{
	static const char *const names[] = { "events", "tag", "node" };
	const struct inv_report *r = w->r;

	if (!r->tags.n)
		return;
	section(w, "Events by tag");
	inv_buf_putc(w->out, '\n');
	heads(w, "rll", names);
	for (size_t i = 0; i < r->tags.n; i++) {
		inv_columns_u64(&w->c, r->tags.rows[i].v[0]);
		word_cell(w, r->tags.rows[i].key[0]);
		word_cell(w, r->tags.rows[i].key[1]);
	}
	inv_columns_print(&w->c, w->out);
}

static void function_row(struct writer *w, const struct inv_keyed_row *f,
			 bool others)
{
	static const unsigned parts[] = { 500, 900, 990 };

	inv_columns_u64(&w->c, f->v[INV_FUNCTION_CALLS]);
	inv_columns_u64(&w->c, f->v[INV_FUNCTION_FAILED]);
	time_cell(w, f->times, f->v[INV_FUNCTION_SELF]);
	for (unsigned i = 0; i < 3; i++)
		time_cell(w, f->times,
			  f->times ?
				  inv_histogram_quantile(f->times, parts[i]) :
				  0);
	time_cell(w, f->times, f->v[INV_KEYED_MAX]);
	if (others)
		inv_buf_puts(&w->c.text, "(others)");
	else
		mfa_text(w, (uint32_t)f->key[0]);
	inv_columns_next(&w->c);
}

static void functions(struct writer *w)
{
	static const char *const names[] = { "calls", "failed",	 "self",
					     "p50",   "p90",	 "p99",
					     "max",   "function" };
	const struct inv_report *r = w->r;

	if (!r->functions.n)
		return;
	section(w, "Functions");
	inv_buf_printf(w->out,
		       ", by the time that they took themselves: %" PRIu64
		       " call%s, %" PRIu64 " ended, %" PRIu64 " failed\n",
		       r->calls.n, r->calls.n == 1 ? "" : "s", r->calls.ended,
		       r->calls.failed);
	heads(w, "rrrrrrrl", names);
	for (size_t i = 0; i < shown(w, r->functions.n); i++)
		function_row(w, &r->functions.rows[i], false);
	if (r->functions.pruned)
		function_row(w, &r->functions.others, true);
	table(w, r->functions.n);
}

/* Draws the histogram of the function with the most time. */
static void histogram(struct writer *w)
{
	const struct inv_keyed_row *f = w->r->functions.rows;

	/* A histogram of only a few times is not useful. */
	if (!w->r->functions.n || !f->times || f->times->n < DRAWN_MIN)
		return;
	section(w, "Times of ");
	mfa_text(w, (uint32_t)f->key[0]);
	inv_columns_next(&w->c);
	inv_buf_put(w->out, w->c.text.data, w->c.text.len);
	inv_buf_putc(w->out, '\n');
	w->c.n = 0;
	inv_buf_reset(&w->c.text);
	inv_draw_histogram(f->times, inv_duration_short, w->out);
}

static void call_row(struct writer *w, const struct inv_report_call *c)
{
	at_cell(w, c->ts_ns);
	time_cell(w, c->has_duration && c->top.value >= 0,
		  (uint64_t)c->top.value);
	process_cell(w, c->process);
	mfa_text(w, c->function);
	if (c->args.p) {
		size_t n = c->args.n;

		inv_buf_putc(&w->c.text, ' ');
		if (n > ARGS_MAX && c->result.p && w->a->width)
			n = ARGS_MAX;
		while (n < c->args.n && n && (c->args.p[n] & 0xc0) == 0x80)
			n--;
		inv_buf_put(&w->c.text, c->args.p, n);
		inv_buf_puts(&w->c.text, n < c->args.n ? "\xe2\x80\xa6" : "");
	}
	if (c->result.p) {
		inv_buf_puts(&w->c.text, " -> ");
		inv_buf_put(&w->c.text, c->result.p, c->result.n);
	}
	inv_columns_next(&w->c);
}

static const char *const call_names[] = { "at s", "took", "process", "call" };

static void slowest(struct writer *w)
{
	const struct inv_top *t = &w->r->calls.slowest;

	if (!t->n)
		return;
	section(w, "Slowest calls\n");
	heads(w, "rrll", call_names);
	for (size_t i = 0; i < shown(w, t->n); i++)
		call_row(w, (struct inv_report_call *)t->v[i]);
	inv_columns_print(&w->c, w->out);
}

/* The most failures come first; among equals, the order is that of the table of
 * functions. */
static int by_failures(const void *left, const void *right)
{
	const struct inv_keyed_row *const *a = left, *const *b = right;
	uint64_t n = (*a)->v[INV_FUNCTION_FAILED];
	uint64_t m = (*b)->v[INV_FUNCTION_FAILED];

	if (n != m)
		return n < m ? 1 : -1;
	return *a < *b ? -1 : *a > *b;
}

/* Prints the functions with failures. */
static void failed_functions(struct writer *w)
{
	const struct inv_report *r = w->r;
	const struct inv_keyed_row **all;
	size_t n = 0;

	all = malloc((r->functions.n + 1) * sizeof(*all));
	if (!all) {
		w->out->error = INV_ENOMEM;
		return;
	}
	for (size_t i = 0; i < r->functions.n; i++)
		if (r->functions.rows[i].v[INV_FUNCTION_FAILED])
			all[n++] = &r->functions.rows[i];
	qsort(all, n, sizeof(*all), by_failures);
	for (size_t i = 0; i < shown(w, n); i++) {
		inv_columns_u64(&w->c, all[i]->v[INV_FUNCTION_FAILED]);
		inv_columns_u64(&w->c, all[i]->v[INV_FUNCTION_CALLS]);
		mfa_text(w, (uint32_t)all[i]->key[0]);
		inv_columns_next(&w->c);
		inv_columns_text(&w->c, all[i]->text ? all[i]->text : "");
	}
	free(all);
	table(w, n);
}

static void failures(struct writer *w)
{
	static const char *const names[] = { "failed", "calls", "function",
					     "for example" };
	const struct inv_report *r = w->r;

	if (!r->calls.failed)
		return;
	section(w, "Failures");
	inv_buf_printf(w->out, ": %" PRIu64 " of %" PRIu64 " calls\n",
		       r->calls.failed, r->calls.n);
	heads(w, "rrll", names);
	failed_functions(w);
	section(w, "The first failed calls\n");
	heads(w, "rrll", call_names);
	for (size_t i = 0; i < shown(w, r->calls.n_failures); i++)
		call_row(w, r->calls.failures[i]);
	inv_columns_print(&w->c, w->out);
}

static void exits(struct writer *w)
{
	static const char *const names[] = { "exits", "first process",
					     "reason" };
	const struct inv_report *r = w->r;

	if (!r->processes.abnormal)
		return;
	section(w, "Abnormal exits");
	inv_buf_printf(w->out, ": %" PRIu64 " of %" PRIu64 " exits\n",
		       r->processes.abnormal, r->processes.exited);
	heads(w, "rll", names);
	for (size_t i = 0; i < shown(w, r->exits.n); i++) {
		const struct inv_keyed_row *x = &r->exits.rows[i];

		inv_columns_u64(&w->c, x->v[0]);
		process_cell(w, (uint32_t)x->v[1]);
		inv_columns_text(&w->c, x->text ? x->text : "");
	}
	table(w, r->exits.n);
}

static void kind_row(struct writer *w, const struct inv_keyed_row *k,
		     bool others)
{
	inv_columns_u64(&w->c, k->v[INV_KIND_PROCESSES]);
	inv_columns_u64(&w->c, k->v[INV_KIND_EVENTS]);
	inv_columns_u64(&w->c, k->v[INV_KIND_CALLS]);
	time_cell(w, k->v[INV_KIND_SELF], k->v[INV_KIND_SELF]);
	time_cell(w, k->v[INV_KIND_RUNNING], k->v[INV_KIND_RUNNING]);
	time_cell(w, k->v[INV_KIND_GC], k->v[INV_KIND_GC]);
	if (others)
		inv_columns_text(&w->c, "(others)");
	else
		kind_cell(w, k->key[1]);
	word_cell(w, k->key[0]);
}

static void kinds(struct writer *w)
{
	static const char *const names[] = { "processes", "events",  "calls",
					     "in calls",  "running", "gc",
					     "kind",	  "node" };
	const struct inv_report *r = w->r;

	if (!r->kinds.n)
		return;
	section(w, "Kinds of processes");
	inv_buf_printf(w->out,
		       ", by the time in their calls: %" PRIu64
		       " processes, %" PRIu64 " spawned, %" PRIu64 " exited\n",
		       r->processes.n, r->processes.spawned,
		       r->processes.exited);
	heads(w, "rrrrrrll", names);
	for (size_t i = 0; i < shown(w, r->kinds.n); i++)
		kind_row(w, &r->kinds.rows[i], false);
	if (r->kinds.pruned)
		kind_row(w, &r->kinds.others, true);
	table(w, r->kinds.n);
}

static void busiest(struct writer *w)
{
	static const char *const names[] = { "events",	 "calls",   "sent",
					     "received", "process", "node" };
	const struct inv_top *t = &w->r->processes.busiest;

	if (!t->n)
		return;
	section(w, "Busiest processes\n");
	heads(w, "rrrrll", names);
	for (size_t i = 0; i < shown(w, t->n); i++) {
		const struct inv_report_process *p =
			(struct inv_report_process *)t->v[i];

		inv_columns_u64(&w->c, p->events);
		inv_columns_u64(&w->c, p->calls);
		inv_columns_u64(&w->c, p->sent);
		inv_columns_u64(&w->c, p->received);
		process_cell(w, p->process);
		word_cell(w,
			  p->process ? w->r->cast->v[p->process - 1].node : 0);
	}
	table(w, t->seen);
}

static void message_cells(struct writer *w, const struct inv_keyed_row *m)
{
	uint64_t waited = m->v[INV_MESSAGES_WAITED];

	inv_columns_u64(&w->c, m->v[INV_MESSAGES_ALL]);
	inv_columns_u64(&w->c, m->v[INV_MESSAGES_GOT]);
	time_cell(w, waited, waited ? m->v[INV_MESSAGES_WAIT] / waited : 0);
	time_cell(w, waited, m->v[INV_KEYED_MAX]);
}

static void mailboxes(struct writer *w)
{
	static const char *const names[] = { "messages", "received", "waited",
					     "longest",	 "mailbox",  "node" };
	const struct inv_keyed *t = &w->r->mailboxes;

	if (!t->n)
		return;
	section(w, "Busiest mailboxes");
	inv_buf_printf(w->out, ": %" PRIu64 " messages\n", w->r->messages.n);
	heads(w, "rrrrll", names);
	for (size_t i = 0; i < shown(w, t->n); i++) {
		message_cells(w, &t->rows[i]);
		inv_report_mailbox(w->r, &t->rows[i], &w->c.text);
		inv_columns_next(&w->c);
		word_cell(w, t->rows[i].key[0]);
	}
	table(w, t->n + t->pruned);
}

static void flows(struct writer *w)
{
	static const char *const names[] = { "messages", "received", "waited",
					     "longest",	 "from",     "to" };
	const struct inv_keyed *t = &w->r->flows;

	if (!t->n)
		return;
	section(w, "Messages between kinds of processes\n");
	heads(w, "rrrrll", names);
	for (size_t i = 0; i < shown(w, t->n); i++) {
		const struct inv_keyed_row *m = &t->rows[i];
		size_t len;
		const char *node = inv_report_word(w->r, m->key[2], &len);

		message_cells(w, m);
		kind_cell(w, m->key[1]);
		if (m->key[2] != m->key[0] && len) {
			inv_buf_put(&w->c.text, node, len);
			inv_buf_putc(&w->c.text, ' ');
		}
		kind_cell(w, m->key[3]);
	}
	table(w, t->n + t->pruned);
}

static void requests(struct writer *w)
{
	static const char *const names[] = { "request",	 "at s",    "took",
					     "messages", "orphans", "label" };
	const struct inv_report *r = w->r;
	const struct inv_top *t = &r->requests.slowest;
	static const unsigned parts[] = { 500, 900, 990 };
	static const char *const words[] = { ", p50 ", ", p90 ", ", p99 " };

	if (!r->requests.n)
		return;
	section(w, "Slowest requests");
	inv_buf_printf(w->out, " of %" PRIu64, r->requests.n);
	for (unsigned i = 0; i < 3; i++) {
		inv_buf_puts(w->out, words[i]);
		inv_duration_short(inv_histogram_quantile(&r->requests.times,
							  parts[i]),
				   w->out);
	}
	inv_buf_putc(w->out, '\n');
	heads(w, "rrrrrl", names);
	for (size_t i = 0; i < shown(w, t->n); i++) {
		const struct inv_report_request *q =
			(struct inv_report_request *)t->v[i];

		inv_columns_u64(&w->c, q->request);
		at_cell(w, q->first_ns);
		time_cell(w, q->top.value >= 0, (uint64_t)q->top.value);
		inv_columns_u64(&w->c, q->messages);
		inv_columns_u64(&w->c, q->orphans);
		inv_buf_put(&w->c.text, q->label.p ? q->label.p : "",
			    q->label.n);
		inv_columns_next(&w->c);
	}
	table(w, r->requests.n);
}

static void collections(struct writer *w)
{
	static const char *const names[] = { "at s",   "took",	"kind",
					     "before", "after", "process" };
	const struct inv_report *r = w->r;
	const struct inv_top *t = &r->gc.longest;

	if (!r->gc.n)
		return;
	section(w, "Longest garbage collections");
	inv_buf_printf(w->out,
		       " of %" PRIu64 ", %" PRIu64 " of them major, together ",
		       r->gc.n, r->gc.major);
	inv_duration_short(r->gc.ns, w->out);
	inv_buf_putc(w->out, '\n');
	heads(w, "rrlrrl", names);
	for (size_t i = 0; i < shown(w, t->n); i++) {
		const struct inv_report_gc *gc =
			(struct inv_report_gc *)t->v[i];

		at_cell(w, gc->ts_ns);
		time_cell(w, gc->top.value >= 0, (uint64_t)gc->top.value);
		inv_columns_text(&w->c, gc->major ? "major" : "minor");
		inv_columns_u64(&w->c, gc->before);
		inv_columns_u64(&w->c, gc->after);
		process_cell(w, gc->process);
	}
	table(w, r->gc.n);
}

static void counts(struct writer *w)
{
	static const char *const names[] = { "count", "p50",	 "p99", "max",
					     "of",    "counted", "node" };
	const struct inv_top *t = &w->r->counts;

	if (!t->n)
		return;
	section(w, "Counts\n");
	heads(w, "rrrrlll", names);
	for (size_t i = 0; i < shown(w, t->n); i++) {
		const struct inv_tallied *k =
			((struct inv_report_count *)t->v[i])->key;
		const struct inv_histogram *h =
			k->times && k->times->n && !k->measure ? k->times :
								 NULL;

		inv_columns_u64(&w->c, k->n);
		time_cell(w, h, h ? inv_histogram_quantile(h, 500) : 0);
		time_cell(w, h, h ? inv_histogram_quantile(h, 990) : 0);
		time_cell(w, h, h ? h->max : 0);
		inv_columns_text(&w->c, inv_rows_counted(k->of));
		inv_columns_text(&w->c, k->key);
		inv_columns_text(&w->c, k->node->name);
	}
	table(w, t->seen);
}

void inv_report_text(struct inv_report *r, const struct inv_report_about *a,
		     struct inv_buf *out)
{
	struct writer w = { .r = r, .a = a, .out = out };
	struct inv_buf spare = { 0 };
	size_t from = out->len;

	head(&w);
	nodes(&w);
	losses(&w);
	tags(&w);
	functions(&w);
	histogram(&w);
	slowest(&w);
	failures(&w);
	exits(&w);
	kinds(&w);
	busiest(&w);
	mailboxes(&w);
	flows(&w);
	requests(&w);
	collections(&w);
	counts(&w);
	if (a->width && !out->error)
		inv_fit_lines(out, from, a->width, a->color ? RESET : "",
			      &spare);
	inv_buf_release(&spare);
}
