/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of `inviso report': the same answers as text, JSON and a page. */
#include "report/report.h"
#include "sink/profile_sink.h"

struct report_sink {
	struct inv_sink sink;
	struct inv_report report;
	bool page;
};

static int init(struct inv_sink *s)
{
	struct report_sink *x = (struct report_sink *)s;

	x->page = s->opts.profile != NULL;
	inv_sink_for_people(s);
	return inv_report_init(&x->report, s, x->page);
}

static void check(struct report_sink *x)
{
	if (x->report.rows.rc && !x->sink.err.code)
		inv_err_set(&x->sink.err, x->report.rows.rc, "no memory");
}

static int event(struct inv_sink *s, const struct inv_item *it)
{
	struct report_sink *x = (struct report_sink *)s;
	int rc;

	inv_sink_manner(s, it);
	rc = inv_rows_event(&x->report.rows, it);
	if (!rc && x->page && inv_charts_add(&x->report.charts, it, &s->print))
		x->report.rows.rc = INV_ENOMEM;
	if (!rc && x->page)
		inv_paths_sink_event(s, it);
	check(x);
	return rc;
}

static void loss(struct inv_sink *s, const struct inv_item *it)
{
	struct report_sink *x = (struct report_sink *)s;

	inv_rows_loss(&x->report.rows, it);
	check(x);
}

static void counts(struct inv_sink *s, const struct inv_tallies *t)
{
	inv_report_counts(&((struct report_sink *)s)->report, t);
}

static void finish(struct report_sink *x)
{
	struct inv_report *r = &x->report;

	inv_rows_end(&r->rows);
	x->sink.incomplete = r->rows.forgotten;
	if (!r->rows.rc && x->page &&
	    (inv_charts_finish(&r->charts) ||
	     inv_paths_finish(x->sink.opts.profile)))
		r->rows.rc = INV_ENOMEM;
	inv_report_finish(r);
	check(x);
}

static struct inv_report_about about(const struct report_sink *x)
{
	return (struct inv_report_about){
		.sum = &x->sink.sum,
		.utc = x->sink.opts.utc != 0,
		.color = x->sink.opts.color != 0,
		.width = x->sink.opts.width,
		.top = x->sink.opts.top,
		.profile = x->sink.opts.profile,
	};
}

static void end_text(struct inv_sink *s)
{
	struct report_sink *x = (struct report_sink *)s;
	const struct inv_report_about a = about(x);

	finish(x);
	if (!s->err.code)
		inv_report_text(&x->report, &a, s->out);
}

static void end_json(struct inv_sink *s)
{
	struct report_sink *x = (struct report_sink *)s;
	const struct inv_report_about a = about(x);
	struct inv_json j = { .out = s->out };

	finish(x);
	if (s->err.code)
		return;
	inv_report_json(&x->report, &a, false, &j);
	inv_json_line(&j);
}

static void end_page(struct inv_sink *s)
{
	struct report_sink *x = (struct report_sink *)s;
	const struct inv_report_about a = about(x);

	finish(x);
	if (!s->err.code)
		inv_report_page(&x->report, &a, s->out);
}

static void release(struct inv_sink *s)
{
	inv_report_release(&((struct report_sink *)s)->report);
}

#define FORMAT(id, what, with_profile)                     \
	const struct inv_sink_ops inv_sink_report_##id = { \
		.name = "report-" #id,                     \
		.help = (what),                            \
		.size = sizeof(struct report_sink),        \
		.calls = true,                             \
		.profile = (with_profile),                 \
		.init = init,                              \
		.event = event,                            \
		.loss = loss,                              \
		.counts = counts,                          \
		.end = end_##id,                           \
		.release = release,                        \
	}

FORMAT(text, "a report for a terminal", false);
FORMAT(json, "a report as a JSON object", false);
FORMAT(page, "a report as a page for a browser", true);
