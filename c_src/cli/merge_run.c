/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/merge_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/causes.h"
#include "cli/cleanup.h"
#include "cli/clock_report.h"
#include "cli/cmd.h"
#include "cli/dir_inputs.h"
#include "cli/redact_event.h"
#include "cli/survey.h"
#include "flow/flow.h"
#include "flow/order.h"
#include "flow/tallies.h"
#include "log/inputs.h"
#include "log/merge.h"
#include "log/source.h"
#include "sink/output.h"
#include "sink/sink.h"
#include "sink/tally_table.h"
#include "sink/totals.h"
#include "term/etf.h"

/* How many damaged parts of inputs are reported one by one; further damaged
 * parts are only counted. */
#define DAMAGES_SHOWN 20
/* The number of events read so far is shown after PROGRESS_FIRST_MS, and then
 * every PROGRESS_MS. */
#define PROGRESS_FIRST_MS 1000
#define PROGRESS_MS 200

struct merge {
	struct inv_merge_opts o;
	bool show_all; /* report damage beyond DAMAGES_SHOWN, too */
	struct inv_err err;
	struct inv_notices notices;
	struct inv_inputs inputs;
	struct inv_merge merge;
	struct inv_flow flow;
	struct inv_paths profile;
	struct inv_order order;
	bool special; /* the output is not a regular file */
	struct inv_output out;
	struct inv_sink *sink;
	struct inv_totals totals;
	struct inv_tallies tallies; /* counts of `inviso count' */
	uint64_t samples;	    /* of stacks */
	bool progress;	 /* the progress line is visible and must be cleared */
	int64_t show_ms; /* when the progress is to be shown again */
};

/* --- messages ------------------------------------------------------------- */

static void wipe_progress(struct merge *m)
{
	if (m->progress)
		fprintf(stderr, "\r\033[K");
	m->progress = false;
}

static void notify(void *arg, const struct inv_notice *n)
{
	struct merge *m = arg;

	if (m->o.quiet)
		return;
	wipe_progress(m);
	if (n->kind == INV_NOTICE_INFO)
		fprintf(stderr, "%s: %s: %s\n", m->o.program, n->file, n->text);
	else if (m->notices.n_damages <= DAMAGES_SHOWN || m->show_all)
		fprintf(stderr,
			"%s: %s: damaged at offset %" PRIu64 " (%" PRIu64
			" bytes): %s\n",
			m->o.program, n->file, n->off, n->len, n->text);
}

/* Shows the progress if it is time for that. Called after every 65536 items. */
static void show_progress(struct merge *m)
{
	int64_t now = inv_mono_ms();

	if (m->o.quiet || !isatty(STDERR_FILENO) || now < m->show_ms)
		return;
	m->show_ms = now + PROGRESS_MS;
	fprintf(stderr, "\r%" PRIu64 " events ...", m->sink->sum.recorded);
	fflush(stderr);
	m->progress = true;
}

/*
 * Writes the last record for a program that reads records: a binary with the
 * error's text, which is empty if there was no error. Then waits until the
 * reader closes standard input, because the reader could miss the record if
 * this program ended at once.
 */
static void tell_reader(const char *text)
{
	struct inv_buf b = { 0 };
	char rest[16];

	inv_buf_put(&b, "\0\0\0", 4);
	inv_buf_putc(&b, (char)INV_ETF_VERSION);
	inv_etf_binary(&b, text, strlen(text));
	if (!b.error) {
		b.data[3] = (uint8_t)(b.len - 4);
		b.data[2] = (uint8_t)((b.len - 4) >> 8);
		fwrite(b.data, 1, b.len, stdout);
		fflush(stdout);
		while (read(STDIN_FILENO, rest, sizeof(rest)) > 0)
			;
	}
	inv_buf_release(&b);
}

static int failed(struct merge *m)
{
	wipe_progress(m);
	if (!m->o.paced)
		fprintf(stderr, "%s: %s\n", m->o.program, m->err.text);
	return INV_EXIT_FAILED;
}

static int no_memory(struct merge *m)
{
	return inv_err_set(&m->err, INV_ENOMEM, "no memory");
}

/* Adds facts about requests and clocks to the JSON object at the end of b. */
static void more_summary(struct merge *m, struct inv_buf *b)
{
	struct inv_json j = { .out = b, .more = true };

	if (b->error || !b->len)
		return;
	b->len--;
	inv_causes_json(&m->flow.requests, &j);
	inv_clock_report_json(&m->order, &j);
	inv_buf_putc(b, '}');
}

/* With -o, prints the summary on standard output. */
static int say_summary(struct merge *m)
{
	struct inv_buf b = { 0 };
	int rc = 0;

	if (m->o.summary == INV_MERGE_SUMMARY_JSON) {
		inv_summary_json(&m->sink->sum, &b);
		more_summary(m, &b);
	} else {
		inv_buf_printf(&b, "%s: %" PRIu64 " entries: ", m->o.output,
			       m->sink->sum.entries);
		inv_summary_text(&m->sink->sum, &b);
	}
	if (b.error)
		rc = no_memory(m);
	else if (printf("%.*s\n", (int)b.len, (const char *)b.data) < 0 ||
		 fflush(stdout))
		rc = inv_err_sys(&m->err, errno, "write the summary");
	inv_buf_release(&b);
	return rc;
}

/* Prints the totals on standard error, because they are not part of the merged
 * events. */
static void say_totals(struct merge *m)
{
	struct inv_buf b = { 0 };

	inv_totals_text(&m->totals, &b);
	if (!b.error)
		fprintf(stderr, "%.*s", (int)b.len, (const char *)b.data);
	inv_buf_release(&b);
}

/* --- the work ------------------------------------------------------------- */

/* Makes the merge leave out events that --from and --to do not select. */
static int limit(struct merge *m)
{
	const struct inv_filter *f = &m->o.wanted.filter;
	int64_t first = inv_merge_first(&m->merge);
	int rc = inv_filter_opts_resolve(&m->o.wanted, m->o.sink.utc,
					 first == INT64_MAX ? 0 : first,
					 &m->err);

	if (!rc && inv_filter_timed(f))
		inv_merge_limit(&m->merge, f->from_ns, f->until_ns);
	return rc;
}

/*
 * Returns true if the item is an event outside of --from and --to. Such an
 * event does not go through the flow. The reason: most packets with such events
 * are not read. So the flow would get only a few of these events, and would
 * pair calls and returns that do not belong together.
 */
static bool is_outside(const struct merge *m, const struct inv_item *item)
{
	const struct inv_filter *f = &m->o.wanted.filter;
	int64_t ts_ns = inv_item_recorded_ns(item);

	return item->kind == INV_ITEM_EVENT &&
	       (ts_ns < f->from_ns || ts_ns >= f->until_ns);
}

/* Passes the item to a view of requests. The view gets all events of a
 * request, and the filter decides which of them are shown. */
static int put_request(struct merge *m, const struct inv_item *item)
{
	inv_flow_show(&m->flow, item);
	if (!inv_request_opts_wants(&m->o.requests, item)) {
		inv_sink_skip(m->sink);
		return 0;
	}
	m->flow.facts.context = !inv_filter_opts_pass(&m->o.wanted, item);
	return inv_sink_item(m->sink, item);
}

static int put(struct merge *m, const struct inv_item *item)
{
	int rc;

	if (m->o.by_request)
		return put_request(m, item);
	if (!inv_filter_opts_pass(&m->o.wanted, item) ||
	    !inv_pick_wants(&m->o.pick, item)) {
		inv_sink_skip(m->sink);
		return 0;
	}
	rc = inv_sink_item(m->sink, item);
	inv_flow_show(&m->flow, item);
	if (!rc && m->o.want_totals)
		rc = inv_totals_add(&m->totals, item);
	return rc;
}

/* Redacts the item before anything else sees its terms. */
static int redact(struct merge *m, struct inv_item *item)
{
	if (item->kind == INV_ITEM_EVENT && item->ev.enc != INV_ENC_PACKED)
		return inv_err_set(&m->err, INV_EINVAL,
				   "--redact reads only logs of inviso: a "
				   "LOG of %s is a file of OTP's trace port",
				   item->node->name);
	return inv_redact_item(m->o.redact, item, &m->err);
}

/*
 * Returns true if the item is a sample of a stack, outside of --from and --to.
 */
static bool is_outside_sample(const struct merge *m,
			      const struct inv_item *item)
{
	const struct inv_filter *f = &m->o.wanted.filter;
	int64_t ts_ns = inv_item_recorded_ns(item);

	return item->kind == INV_ITEM_NOTE &&
	       item->ev.note == INV_NOTE_SAMPLE &&
	       (ts_ns < f->from_ns || ts_ns >= f->until_ns);
}

static int take(struct merge *m, struct inv_item *item)
{
	if (is_outside_sample(m, item))
		return 0;
	if (is_outside(m, item)) {
		inv_sink_skip(m->sink);
		return 0;
	}
	if (m->o.redact) {
		int rc = redact(m, item);

		if (rc)
			return rc;
	}
	item = inv_flow_item(&m->flow, item);
	if (!item)
		return no_memory(m);
	if (item->kind != INV_ITEM_NOTE)
		return put(m, item);
	m->samples += item->ev.note == INV_NOTE_SAMPLE;
	return inv_tallies_item(&m->tallies, item) ? no_memory(m) : 0;
}

/* After the events, prints the counts of sessions of `inviso count'. */
static int put_counts(struct merge *m)
{
	bool timed = inv_tallies_timed(&m->tallies);
	const struct inv_tally_table o = {
		.rows = { .by_node = !m->o.sink.one_node,
			  .by = timed ? INV_RANK_P99 : INV_RANK_COUNT },
		.timed = timed,
		.final = true,
		.drawn = INV_TIMES_DRAWN,
	};

	if (!inv_tallies_n(&m->tallies) || m->o.by_request)
		return 0;
	if (m->o.format == inv_sink_find("json"))
		inv_tally_table_json(&o, &m->tallies, &m->flow, &m->out.buf);
	else if (m->o.format == inv_sink_find("text"))
		inv_tally_table_text(&o, &m->tallies, &m->flow, &m->out.buf);
	return m->out.buf.error ? no_memory(m) : 0;
}

/* Adds to the summary the events that were not read, because they are not
 * selected. */
static void count_skipped(struct merge *m)
{
	for (uint32_t i = 0; i < m->inputs.n_feeds; i++) {
		m->sink->sum.recorded += m->inputs.feeds[i]->skipped;
		m->sink->sum.filtered += m->inputs.feeds[i]->skipped;
	}
}

static int next(struct merge *m, struct inv_item **item)
{
	return m->o.by_time ? inv_merge_next(&m->merge, item) :
			      inv_order_next(&m->order, item);
}

/* Reports why the sink failed. */
static int sink_failed(struct merge *m)
{
	if (!m->sink->err.code)
		return m->err.code ? m->err.code : no_memory(m);
	m->err = m->sink->err;
	return m->err.code;
}

static int pump(struct merge *m)
{
	struct inv_item *item;
	uint64_t n = 0;
	int rc;

	while (!(rc = next(m, &item))) {
		if (take(m, item))
			return sink_failed(m);
		if (++n & 0xff && m->out.buf.len < INV_OUTPUT_FULL)
			continue;
		rc = inv_output_flush_if_full(&m->out, &m->err);
		if (rc)
			return rc;
		if (m->out.broken)
			return 0;
		if (!(n & 0xffff))
			show_progress(m);
	}
	if (rc < 0)
		return no_memory(m);
	count_skipped(m);
	if (m->o.format->counts && inv_tallies_n(&m->tallies))
		m->o.format->counts(m->sink, &m->tallies);
	return inv_sink_end(m->sink) ? sink_failed(m) : put_counts(m);
}

static void say_causes(struct merge *m)
{
	struct inv_buf b = { 0 };
	char before[40];

	snprintf(before, sizeof(before), "%s: ", m->o.program);
	inv_causes_text(&m->flow.requests, before, &b);
	inv_clock_report_text(&m->order, before, &b);
	if (!b.error)
		fprintf(stderr, "%.*s", (int)b.len, (const char *)b.data);
	inv_buf_release(&b);
}

static void tell_rest(struct merge *m)
{
	uint64_t rotated = 0;

	wipe_progress(m);
	for (uint32_t i = 0; i < m->inputs.n_feeds; i++)
		rotated += m->inputs.feeds[i]->rotated;
	if (m->o.quiet)
		return;
	if (m->o.redact && m->o.redact->marks)
		fprintf(stderr, "%s: %" PRIu64 " value(s) were redacted\n",
			m->o.program, m->o.redact->marks);
	if (m->o.wanted.spec && inv_spec_filter_undecided(m->o.wanted.spec))
		fprintf(stderr,
			"%s: --filter could not decide on %" PRIu64
			" event(s), which are left out: the values that it "
			"tests were not recorded\n",
			m->o.program,
			inv_spec_filter_undecided(m->o.wanted.spec));
	if (inv_pick_undecided(&m->o.pick))
		fprintf(stderr,
			"%s: --failed could not decide on %" PRIu64
			" return(s), which are left out: the values that it "
			"tests were not recorded\n",
			m->o.program, inv_pick_undecided(&m->o.pick));
	if (m->flow.processes.forgotten_calls)
		fprintf(stderr,
			"%s: %" PRIu64 " open call(s) were "
			"forgotten, because there were too many; their ends "
			"have no duration\n",
			m->o.program, m->flow.processes.forgotten_calls);
	if (rotated)
		fprintf(stderr,
			"%s: %" PRIu64
			" earlier event(s) were in files that rotation "
			"deleted, or that were not given\n",
			m->o.program, rotated);
	if (m->samples && !m->o.format->profile)
		fprintf(stderr,
			"%s: %" PRIu64
			" sample(s) of stacks are not shown; --format folded, "
			"speedscope, pprof, callgrind or svg shows them\n",
			m->o.program, m->samples);
	if (m->profile.unsure)
		fprintf(stderr,
			"%s: %" PRIu64
			" call(s) are left out, because events were lost "
			"during them\n",
			m->o.program, m->profile.unsure);
	if (m->profile.evicted)
		fprintf(stderr,
			"%s: %" PRIu64
			" path(s) with little time are shown as (others)\n",
			m->o.program, m->profile.evicted);
	say_causes(m);
	if (m->sink->left_out)
		fprintf(stderr,
			"%s: %" PRIu64
			" event(s) of requests are not shown, because there "
			"are too many; choose with --request, or see "
			"--request-memory\n",
			m->o.program, m->sink->left_out);
	if (m->sink->incomplete)
		fprintf(stderr,
			"%s: %" PRIu64
			" row(s) of calls, messages, processes or requests "
			"are incomplete, because there were too many at a "
			"time\n",
			m->o.program, m->sink->incomplete);
	if (m->notices.n_damages > DAMAGES_SHOWN)
		fprintf(stderr, "%s: %" PRIu64 " more damaged places\n",
			m->o.program, m->notices.n_damages - DAMAGES_SHOWN);
	/* Truncated inputs are always reported, because truncation explains
	 * damage. */
	m->show_all = true;
	inv_source_tell_cuts(&m->notices);
}

/*
 * Refuses an output file that is also an input, under any name, because the
 * log would be overwritten. Call this function while all inputs are open.
 */
static int check_output(struct merge *m)
{
	struct stat st;

	if (!m->o.output || stat(m->o.output, &st))
		return 0;
	if (inv_source_has(st.st_dev, st.st_ino))
		return inv_err_set(&m->err, INV_EINVAL, "-o %s: is an input",
				   m->o.output);
	m->special = !S_ISREG(st.st_mode);
	return 0;
}

static int open_output(struct merge *m)
{
	int rc;

	if (!m->o.output) {
		inv_output_fd(&m->out, m->o.sink.into ? -1 : STDOUT_FILENO);
		return 0;
	}
	if (m->o.format->open) {
		inv_cleanup_hold();
		rc = inv_output_path(&m->out, m->o.output,
				     m->o.format->directory, &m->err);
		inv_cleanup_file(m->out.tmp);
		inv_cleanup_let();
		return rc;
	}
	/* Opening a FIFO waits for its reader, so signals must not be
	 * blocked. */
	if (m->special)
		return inv_output_file(&m->out, m->o.output, &m->err);
	inv_cleanup_hold();
	rc = inv_output_file(&m->out, m->o.output, &m->err);
	inv_cleanup_file(m->out.tmp);
	inv_cleanup_let();
	return rc;
}

static int close_output(struct merge *m, int rc)
{
	bool held = m->out.tmp != NULL;
	int closed;

	if (!rc && m->o.format->close)
		rc = m->o.format->close(m->sink, &m->err);
	if (held)
		inv_cleanup_hold();
	inv_cleanup_file(NULL);
	closed = inv_output_close(&m->out, !rc, rc ? NULL : &m->err);
	if (held)
		inv_cleanup_let();
	return rc ? rc : closed;
}

static void count_unended(struct merge *m)
{
	for (uint32_t i = 0; i < m->inputs.n_feeds; i++)
		m->sink->sum.unended += m->inputs.feeds[i]->unended;
}

/* Uses colour on a terminal, unless the user disabled it. */
static void choose_color(struct merge *m)
{
	const char *no_color = getenv("NO_COLOR"); /* NOLINT: one thread */
	const char *term = getenv("TERM");	   /* NOLINT: one thread */

	m->o.sink.color = !m->o.output && isatty(STDOUT_FILENO) &&
			  !(no_color && *no_color) && term &&
			  strcmp(term, "dumb") != 0;
}

static bool has_one_node(const struct merge *m)
{
	for (uint32_t i = 1; i < m->inputs.n_feeds; i++)
		if (m->inputs.feeds[i]->node != m->inputs.feeds[0]->node)
			return false;
	return true;
}

static int compare(void *arg, struct inv_clocks *clocks)
{
	const struct merge *m = arg;

	return inv_survey(clocks, m->o.files, m->o.n_files);
}

static int run(struct merge *m)
{
	char **files = m->o.files;
	struct inv_flow_opts flow_opts = {
		.keep = m->o.format->calls || m->o.wanted.spec ||
			inv_pick_active(&m->o.pick),
	};
	int rc = 0;

	if (m->o.format->profile) {
		if (inv_paths_init(&m->profile, 0))
			return no_memory(m);
		m->profile.by = m->o.profile_by;
		flow_opts.profile = m->o.sink.profile = &m->profile;
	}
	for (int i = 0; !rc && i < m->o.n_files; i++)
		rc = inv_is_dir(files[i]) ?
			     inv_dir_add(&m->inputs, files[i], &m->err) :
			     inv_inputs_add(&m->inputs, files[i], &m->err);
	if (!rc)
		rc = check_output(m);
	if (!rc)
		rc = inv_inputs_open(&m->inputs, &m->err);
	if (!rc &&
	    inv_merge_init(&m->merge, m->inputs.feeds, m->inputs.n_feeds))
		rc = no_memory(m);
	if (!rc)
		rc = limit(m);
	flow_opts.request_memory = m->o.request_memory;
	flow_opts.feeds = m->inputs.feeds;
	flow_opts.n_feeds = m->inputs.n_feeds;
	if (!rc && (inv_flow_init(&m->flow, &flow_opts) ||
		    inv_order_init(&m->order, &m->merge, &m->flow) ||
		    inv_tallies_init(&m->tallies)))
		rc = no_memory(m);
	if (!rc)
		rc = open_output(m);
	if (rc)
		return rc;
	m->out.paced = m->o.paced;
	choose_color(m);
	m->o.sink.one_node = has_one_node(m);
	if (!strcmp(m->o.format->name, "text") && !m->o.quiet &&
	    isatty(STDERR_FILENO))
		m->o.want_totals = true;
	if (inv_sink_new(&m->sink, m->o.format, &m->o.sink, &m->out.buf))
		rc = no_memory(m);
	else
		count_unended(m);
	m->order.compare = compare;
	m->order.compare_arg = m;
	if (!rc && m->o.by_cause && inv_order_compare(&m->order))
		rc = no_memory(m);
	if (!rc && m->o.format->open)
		rc = m->o.format->open(m->sink, m->out.tmp, &m->err);
	if (!rc)
		rc = pump(m);
	return close_output(m, rc);
}

/* Returns an error, and reports it, if no event was selected. If a program
 * reads the output as records, this is no error. */
static int check_matched(const struct merge *m)
{
	const struct inv_summary *sum = &m->sink->sum;
	uint64_t missing = inv_request_opts_missing(&m->o.requests);

	if (missing && !m->out.broken) {
		fprintf(stderr,
			"%s: there is no request %" PRIu64 ": of %" PRIu64
			" request(s), --requests lists all\n",
			m->o.program, missing,
			m->flow.requests.counts.requests);
		return INV_EXIT_NOTHING;
	}
	if (m->o.paced || m->out.broken || !sum->filtered ||
	    sum->recorded > sum->filtered)
		return INV_EXIT_DONE;
	fprintf(stderr,
		"%s: nothing matched: of %" PRIu64
		" event(s) the options select none\n",
		m->o.program, sum->filtered);
	return INV_EXIT_NOTHING;
}

static int merge(struct merge *m)
{
	int status;
	int rc;

	m->show_ms = inv_mono_ms() + PROGRESS_FIRST_MS;
	m->notices.notify = notify;
	m->notices.arg = m;
	inv_inputs_init(&m->inputs, &m->notices);
	rc = run(m);
	if (!rc) {
		tell_rest(m);
		if (m->o.want_totals)
			say_totals(m);
		if (m->o.output && m->o.summary != INV_MERGE_SUMMARY_NONE)
			rc = say_summary(m);
	}
	status = rc ? failed(m) : check_matched(m);
	if (!rc && inv_summary_lost(&m->sink->sum))
		status = INV_EXIT_LOST;
	if (m->o.paced)
		tell_reader(rc ? m->err.text : "");
	inv_sink_free(m->sink);
	inv_totals_release(&m->totals);
	inv_order_release(&m->order);
	inv_tallies_release(&m->tallies);
	if (m->o.format->profile)
		inv_paths_release(&m->profile);
	inv_flow_release(&m->flow);
	inv_merge_release(&m->merge);
	inv_inputs_release(&m->inputs);
	return status;
}

int inv_merge_run(const struct inv_merge_opts *o)
{
	struct merge m = { .o = *o };

	return merge(&m);
}
