/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
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
#include "cli/filter_opts.h"
#include "cli/look.h"
#include "cli/pick.h"
#include "cli/redact_event.h"
#include "cli/redact_opts.h"
#include "cli/request_opts.h"
#include "cli/screen.h"
#include "cli/survey.h"
#include "cli/units.h"
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

enum summary {
	SUMMARY_TEXT,
	SUMMARY_JSON,
	SUMMARY_NONE,
};

/* How many damaged parts of inputs are reported one by one; further ones are
 * only counted. */
#define DAMAGES_SHOWN 20
/* The number of events read so far is shown after PROGRESS_FIRST_MS, and then
 * every PROGRESS_MS. */
#define REQUEST_MEMORY_MIN ((uint64_t)64 << 10)
#define PROGRESS_FIRST_MS 1000
#define PROGRESS_MS 200

struct merge {
	/* options */
	const struct inv_sink_ops *format;
	struct inv_sink_opts sink_opts;
	struct inv_filter_opts wanted;
	struct inv_pick pick;
	struct inv_request_opts requests;
	bool by_request; /* the output has requests instead of events */
	struct inv_redact_events *redact; /* NULL: nothing is redacted */
	const char *output;		  /* NULL: standard output */
	enum summary summary;
	bool quiet;
	bool by_time;		 /* --order time */
	bool by_cause;		 /* --order cause */
	uint64_t request_memory; /* 0: the default */
	bool paced;		 /* see sink/output.h */
	bool want_totals; /* print totals for each node: output is a terminal,
			     or the user requested them */
	bool show_all;	  /* report damage beyond DAMAGES_SHOWN, too */
	/* state */
	struct inv_err err;
	struct inv_notices notices;
	struct inv_inputs inputs;
	struct inv_merge merge;
	struct inv_flow flow;
	struct inv_order order;
	bool special; /* output is not a regular file */
	struct inv_output out;
	struct inv_sink *sink;
	struct inv_totals totals;
	struct inv_tallies tallies; /* counts of `inviso count' */
	bool progress;	 /* the progress line is visible and must be cleared */
	int64_t show_ms; /* when to show progress next */
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

	if (m->quiet)
		return;
	wipe_progress(m);
	if (n->kind == INV_NOTICE_INFO)
		fprintf(stderr, "inviso merge: %s: %s\n", n->file, n->text);
	else if (m->notices.n_damages <= DAMAGES_SHOWN || m->show_all)
		fprintf(stderr,
			"inviso merge: %s: damaged at offset %" PRIu64
			" (%" PRIu64 " bytes): %s\n",
			n->file, n->off, n->len, n->text);
}

/* Shows the progress if it is time for that. Called after every 65536 items. */
static void show_progress(struct merge *m)
{
	int64_t now = inv_mono_ms();

	if (m->quiet || !isatty(STDERR_FILENO) || now < m->show_ms)
		return;
	m->show_ms = now + PROGRESS_MS;
	fprintf(stderr, "\r%" PRIu64 " events ...", m->sink->sum.recorded);
	fflush(stderr);
	m->progress = true;
}

/*
 * Writes the last record for a program that reads records: a binary with the
 * error's text, empty if there was no error. Then waits for the end of standard
 * input, so that the record is not lost.
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
	if (!m->paced)
		fprintf(stderr, "inviso merge: %s\n", m->err.text);
	return INV_EXIT_FAILED;
}

static int no_memory(struct merge *m)
{
	return inv_err_set(&m->err, INV_ENOMEM, "no memory");
}

/* Adds what is known about requests to the JSON object at the end of b. */
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

	if (m->summary == SUMMARY_JSON) {
		inv_summary_json(&m->sink->sum, &b);
		more_summary(m, &b);
	} else {
		inv_buf_printf(&b, "%s: %" PRIu64 " entries: ", m->output,
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

/* Makes the merge leave out what --from and --to do not select. */
static int limit(struct merge *m)
{
	const struct inv_filter *f = &m->wanted.filter;
	int64_t first = inv_merge_first(&m->merge);
	int rc = inv_filter_opts_resolve(&m->wanted, m->sink_opts.utc,
					 first == INT64_MAX ? 0 : first,
					 &m->err);

	if (!rc && inv_filter_timed(f))
		inv_merge_limit(&m->merge, f->from_ns, f->until_ns);
	return rc;
}

/*
 * Returns true if the item is not selected because of its time. Such events do
 * not go through the flow: it would see only some of them, because most of their
 * packets are not read, and would pair calls and returns that do not belong
 * together.
 */
static bool is_outside(const struct merge *m, const struct inv_item *item)
{
	const struct inv_filter *f = &m->wanted.filter;
	int64_t ts_ns = inv_item_recorded_ns(item);

	return item->kind == INV_ITEM_EVENT &&
	       (ts_ns < f->from_ns || ts_ns >= f->until_ns);
}

/* Shows the item in a view of requests, which has all events of a request. */
static int put_request(struct merge *m, const struct inv_item *item)
{
	inv_flow_show(&m->flow, item);
	if (inv_request_opts_wants(&m->requests, item))
		return inv_sink_item(m->sink, item);
	inv_sink_skip(m->sink);
	return 0;
}

static int put(struct merge *m, const struct inv_item *item)
{
	int rc;

	if (m->by_request)
		return put_request(m, item);
	if (!inv_filter_opts_pass(&m->wanted, item) ||
	    !inv_pick_wants(&m->pick, item)) {
		inv_sink_skip(m->sink);
		return 0;
	}
	rc = inv_sink_item(m->sink, item);
	inv_flow_show(&m->flow, item);
	if (!rc && m->want_totals)
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
	return inv_redact_item(m->redact, item, &m->err);
}

static int take(struct merge *m, struct inv_item *item)
{
	if (is_outside(m, item)) {
		inv_sink_skip(m->sink);
		return 0;
	}
	if (m->redact) {
		int rc = redact(m, item);

		if (rc)
			return rc;
	}
	item = inv_flow_item(&m->flow, item);
	if (!item)
		return no_memory(m);
	if (item->kind != INV_ITEM_NOTE)
		return put(m, item);
	return inv_tallies_item(&m->tallies, item) ? no_memory(m) : 0;
}

/* Prints what sessions of `inviso count' have counted, after the events. */
static int put_counts(struct merge *m)
{
	const struct inv_tally_table o = {
		.by_node = !m->sink_opts.one_node,
		.final = true,
	};

	if (!inv_tallies_n(&m->tallies) || m->by_request)
		return 0;
	if (m->format == inv_sink_find("json"))
		inv_tally_table_json(&o, &m->tallies, &m->flow, &m->out.buf);
	else if (m->format == inv_sink_find("text"))
		inv_tally_table_text(&o, &m->tallies, &m->flow, &m->out.buf);
	return m->out.buf.error ? no_memory(m) : 0;
}

/* Counts the events that were not read, because they are not selected. */
static void count_skipped(struct merge *m)
{
	for (uint32_t i = 0; i < m->inputs.n_feeds; i++) {
		m->sink->sum.recorded += m->inputs.feeds[i]->skipped;
		m->sink->sum.filtered += m->inputs.feeds[i]->skipped;
	}
}

static int next(struct merge *m, struct inv_item **item)
{
	return m->by_time ? inv_merge_next(&m->merge, item) :
			    inv_order_next(&m->order, item);
}

static int pump(struct merge *m)
{
	struct inv_item *item;
	uint64_t n = 0;
	int rc;

	while (!(rc = next(m, &item))) {
		rc = take(m, item);
		if (rc)
			return rc;
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
	return inv_sink_end(m->sink) ? no_memory(m) : put_counts(m);
}

static void say_causes(struct merge *m)
{
	struct inv_buf b = { 0 };

	inv_causes_text(&m->flow.requests, "inviso merge: ", &b);
	inv_clock_report_text(&m->order, "inviso merge: ", &b);
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
	if (m->quiet)
		return;
	if (m->redact && m->redact->marks)
		fprintf(stderr,
			"inviso merge: %" PRIu64 " value(s) were redacted\n",
			m->redact->marks);
	if (m->wanted.spec && inv_spec_filter_undecided(m->wanted.spec))
		fprintf(stderr,
			"inviso merge: --filter could not decide on %" PRIu64
			" event(s), which are left out: the values that it "
			"tests were not recorded\n",
			inv_spec_filter_undecided(m->wanted.spec));
	if (inv_pick_undecided(&m->pick))
		fprintf(stderr,
			"inviso merge: --failed could not decide on %" PRIu64
			" return(s), which are left out: the values that it "
			"tests were not recorded\n",
			inv_pick_undecided(&m->pick));
	if (m->flow.processes.forgotten_calls)
		fprintf(stderr,
			"inviso merge: %" PRIu64 " open call(s) were "
			"forgotten, because there were too many; their ends "
			"have no duration\n",
			m->flow.processes.forgotten_calls);
	if (rotated)
		fprintf(stderr,
			"inviso merge: %" PRIu64
			" earlier event(s) were in files that rotation "
			"deleted, or that were not given\n",
			rotated);
	say_causes(m);
	if (m->sink->left_out)
		fprintf(stderr,
			"inviso merge: %" PRIu64
			" event(s) of requests are not shown, because there "
			"are too many; choose with --request, or see "
			"--request-memory\n",
			m->sink->left_out);
	if (m->notices.n_damages > DAMAGES_SHOWN)
		fprintf(stderr,
			"inviso merge: %" PRIu64 " more damaged places\n",
			m->notices.n_damages - DAMAGES_SHOWN);
	/* Truncated inputs are always reported, because truncation explains
	 * damage. */
	m->show_all = true;
	inv_source_tell_cuts(&m->notices);
}

/*
 * Refuses an output that is one of the inputs, under any name: the log would be
 * overwritten. Call it while all inputs are open, also those given twice.
 */
static int check_output(struct merge *m)
{
	struct stat st;

	if (!m->output || stat(m->output, &st))
		return 0;
	if (inv_source_has(st.st_dev, st.st_ino))
		return inv_err_set(&m->err, INV_EINVAL, "-o %s: is an input",
				   m->output);
	m->special = !S_ISREG(st.st_mode);
	return 0;
}

static int open_output(struct merge *m)
{
	int rc;

	if (!m->output) {
		inv_output_fd(&m->out, STDOUT_FILENO);
		return 0;
	}
	/* Opening a FIFO waits for its reader, so signals must not be
	 * blocked. */
	if (m->special)
		return inv_output_file(&m->out, m->output, &m->err);
	inv_cleanup_hold();
	rc = inv_output_file(&m->out, m->output, &m->err);
	inv_cleanup_file(m->out.tmp);
	inv_cleanup_let();
	return rc;
}

static int close_output(struct merge *m, int rc)
{
	bool held = m->out.tmp != NULL;
	int closed;

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

	m->sink_opts.color = !m->output && isatty(STDOUT_FILENO) &&
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

/* The files whose clocks are compared. */
struct files {
	char **v;
	int n;
};

static int compare(void *arg, struct inv_clocks *clocks)
{
	const struct files *f = arg;

	return inv_survey(clocks, f->v, f->n);
}

static int run(struct merge *m, char **files, int n_files)
{
	struct files all = { files, n_files };
	struct inv_flow_opts flow_opts = {
		.keep = m->format->calls || m->wanted.spec ||
			inv_pick_active(&m->pick),
	};
	int rc = 0;

	for (int i = 0; !rc && i < n_files; i++)
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
	flow_opts.request_memory = m->request_memory;
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
	m->out.paced = m->paced;
	choose_color(m);
	m->sink_opts.one_node = has_one_node(m);
	if (!strcmp(m->format->name, "text") && !m->quiet &&
	    isatty(STDERR_FILENO))
		m->want_totals = true;
	if (inv_sink_new(&m->sink, m->format, &m->sink_opts, &m->out.buf))
		rc = no_memory(m);
	else
		count_unended(m);
	m->order.compare = compare;
	m->order.compare_arg = &all;
	if (!rc && m->by_cause && inv_order_compare(&m->order))
		rc = no_memory(m);
	if (!rc)
		rc = pump(m);
	return close_output(m, rc);
}

/* Reports an error if no event was selected. For a program that reads records,
 * that is no error. */
static int check_matched(const struct merge *m)
{
	const struct inv_summary *sum = &m->sink->sum;
	uint64_t missing = inv_request_opts_missing(&m->requests);

	if (missing && !m->out.broken) {
		fprintf(stderr,
			"inviso merge: there is no request %" PRIu64
			": of %" PRIu64 " request(s), --requests lists all\n",
			missing, m->flow.requests.counts.requests);
		return INV_EXIT_NOTHING;
	}
	if (m->paced || m->out.broken || !sum->filtered ||
	    sum->recorded > sum->filtered)
		return INV_EXIT_DONE;
	fprintf(stderr,
		"inviso merge: nothing matched: of %" PRIu64
		" event(s) the options select none\n",
		sum->filtered);
	return INV_EXIT_NOTHING;
}

static int merge(struct merge *m, char **files, int n_files)
{
	int status;
	int rc;

	m->show_ms = inv_mono_ms() + PROGRESS_FIRST_MS;
	m->notices.notify = notify;
	m->notices.arg = m;
	inv_inputs_init(&m->inputs, &m->notices);
	rc = run(m, files, n_files);
	if (!rc) {
		tell_rest(m);
		if (m->want_totals)
			say_totals(m);
		if (m->output && m->summary != SUMMARY_NONE)
			rc = say_summary(m);
	}
	status = rc ? failed(m) : check_matched(m);
	if (!rc && inv_summary_lost(&m->sink->sum))
		status = INV_EXIT_LOST;
	if (m->paced)
		tell_reader(rc ? m->err.text : "");
	inv_sink_free(m->sink);
	inv_totals_release(&m->totals);
	inv_order_release(&m->order);
	inv_tallies_release(&m->tallies);
	inv_flow_release(&m->flow);
	inv_merge_release(&m->merge);
	inv_inputs_release(&m->inputs);
	return status;
}

/* --- options -------------------------------------------------------------- */

enum {
	OPT_SUMMARY = 256,
	OPT_UTC,
	OPT_PACED,
	OPT_TI,
	OPT_TOTALS,
	OPT_ORDER,
	OPT_REQUEST_MEMORY,
	OPT_REDACT,
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0,
	  "write to FILE, which appears when it is complete, and print a "
	  "summary",
	  0 },
	{ "format", 'f', "FORMAT", 0, "", 0 },
	{ "json", 'j', NULL, 0, "the same as --format json", 0 },
	{ "order", OPT_ORDER, "ORDER", 0,
	  "cause (default): a message of a sequential trace is shown after it "
	  "was sent, otherwise as with time; time: only the nodes' clocks "
	  "decide",
	  0 },
	{ "request-memory", OPT_REQUEST_MEMORY, "SIZE", 0,
	  "memory for messages that were sent and not received yet, and for "
	  "the processes of sequential traces; the default is 128M",
	  0 },
	{ "summary", OPT_SUMMARY, "FORM", 0,
	  "with -o, print the summary as text (default), json (one line) or "
	  "none",
	  0 },
	{ "totals", OPT_TOTALS, NULL, 0,
	  "at the end, print the number of events of each tag and node on "
	  "standard error; default for text on a terminal",
	  0 },
	{ "redact", OPT_REDACT, "RULES", 0,
	  INV_REDACT_HELP " such as password and authorization", 0 },
	{ "ti", OPT_TI, "FILE", 0,
	  "read FILE as a ti file (not needed: ti files are detected)", 0 },
	{ "utc", OPT_UTC, NULL, 0,
	  "text: print times in UTC, not local times; also for --from and --to",
	  0 },
	{ "paced", OPT_PACED, NULL, 0,
	  "etf: end each megabyte with an empty record, and wait until a byte "
	  "on standard input releases the next megabyte",
	  0 },
	{ "quiet", 'q', NULL, 0, "print nothing about damage and progress", 0 },
	{ 0 },
};

static const char doc[] =
	"Merges the logs of nodes and prints the events in the order of time."
	"\v"
	"LOG is a log of inviso (all its rotated files, in any order), a file "
	"of OTP's trace port (dbg, ttb; all files of a wrap set), or a trace "
	"information (ti) file with the names of a node's processes. The kind "
	"of a file is detected. A LOG that is a directory means the logs and "
	"ti files in it. NODE= overrides the name of the node, which "
	"otherwise is taken from the log, or from the pids in other files.\n"
	"\n"
	"Examples:\n"
	"  inviso merge a.log b.log\n"
	"  inviso merge slow/\n"
	"  inviso merge --json *.log | jq .payload\n"
	"  inviso merge --from 10:37:44 --to 10:37:45 --mfa shop:order *.log\n"
	"  inviso merge --pid '<0.88.0>' --tag call,return_from a.log\n"
	"  inviso merge --requests box/\n"
	"  inviso merge --request 3 box/\n"
	"  inviso merge --compare 3 7 box/\n"
	"  inviso merge --request 3 -f sequence -o order.html box/\n"
	"  inviso merge -f classic -o out.txt node1@host=t1.log t1.ti\n"
	"\n"
	"Lost events are always shown in their place and counted at the end. "
	"Exit status: 0 done, 1 failed, 2 usage, 5 the options select no "
	"event, 7 done, but events were lost.";

static int set_summary(struct merge *m, const char *arg)
{
	static const char *const forms[] = { "text", "json", "none" };

	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(arg, forms[i])) {
			m->summary = (enum summary)i;
			return 0;
		}
	return -1;
}

struct args {
	struct merge *m;
	char **files;
	int n;
	struct inv_look look;
	const char **redact; /* values of --redact */
	unsigned n_redact;
};

/* Reads the rules when all options are known, because --records can come after
 * --redact. */
static void make_redact(const struct args *a, const struct argp_state *state)
{
	const struct inv_records *records = &a->m->wanted.records;
	struct inv_redact_opts o = { .n = 0 };
	struct inv_err err = { 0 };
	int rc = 0;

	for (unsigned i = 0; !rc && i < a->n_redact; i++)
		rc = inv_redact_opts_add(&o, a->redact[i], records, &err);
	if (!rc && inv_redact_opts_end(&o))
		rc = inv_err_set(&err, INV_ENOMEM, "no memory");
	if (!rc)
		rc = inv_redact_events_new(&a->m->redact, o.rules, o.n, records,
					   &err);
	inv_redact_opts_release(&o);
	if (rc)
		argp_error(state, "--redact: %s", err.text);
}

/* Appends "text, json, ..." and a NUL. */
static void list_formats(struct inv_buf *b)
{
	for (unsigned i = 0; inv_sinks[i]; i++)
		inv_buf_printf(b, "%s%s", i ? ", " : "", inv_sinks[i]->name);
	inv_buf_putc(b, 0);
}

static char *help_filter(int key, const char *text, void *input)
{
	struct inv_buf b = { 0 };
	char *full = NULL;

	(void)input;
	if (key != 'f')
		return (char *)(uintptr_t)text;
	list_formats(&b);
	if (b.error || asprintf(&full, "%s; the default is %s", b.data,
				inv_sinks[0]->name) < 0)
		full = NULL;
	inv_buf_release(&b);
	return full;
}

static void set_format(struct merge *m, const char *name,
		       const struct argp_state *state)
{
	struct inv_buf b = { 0 };

	m->format = inv_sink_find(name);
	if (m->format)
		return;
	list_formats(&b);
	argp_error(state, "--format %s: not one of %s", name,
		   b.error ? "them" : (const char *)b.data);
	inv_buf_release(&b);
}

static void check_times(struct merge *m, const struct argp_state *state)
{
	if (inv_filter_opts_dated(&m->wanted) &&
	    inv_filter_opts_resolve(&m->wanted, m->sink_opts.utc, 0, &m->err))
		argp_error(state, "%s", m->err.text);
}

/* Changes the format into the view of requests that the options choose. */
static void choose_view(struct args *a, const struct argp_state *state)
{
	struct merge *m = a->m;
	const struct inv_sink_ops *view;

	m->by_request = inv_request_opts_active(&m->requests, m->format);
	if (!m->by_request)
		return;
	view = inv_request_opts_view(&m->requests, m->format, &m->sink_opts);
	if (!view)
		argp_error(state, "--format %s has no such view of requests",
			   m->format->name);
	if (m->by_time)
		argp_error(state, "requests need --order cause");
	if (m->wanted.filter.active || m->wanted.spec ||
	    inv_pick_active(&m->pick))
		argp_error(state, "a request is shown with all its events: "
				  "only --from and --to can select some");
	m->format = view;
	m->by_cause = true;
	m->sink_opts.request_memory = m->request_memory;
	if (!a->look.has_width && !m->output && isatty(STDOUT_FILENO))
		m->sink_opts.width = inv_screen_width();
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->m->wanted;
		state->child_inputs[1] = &a->m->pick;
		a->look.opts = &a->m->sink_opts;
		state->child_inputs[2] = &a->look;
		state->child_inputs[3] = &a->m->requests;
		return 0;
	case 'o':
		if (!*arg)
			argp_error(state, "-o: the name of the file is empty");
		a->m->output = arg;
		return 0;
	case 'j':
		set_format(a->m, "json", state);
		return 0;
	case 'f':
		set_format(a->m, arg, state);
		return 0;
	case OPT_SUMMARY:
		if (set_summary(a->m, arg))
			argp_error(state,
				   "--summary %s: not one of text, json "
				   "and none",
				   arg);
		return 0;
	case OPT_TOTALS:
		a->m->want_totals = true;
		return 0;
	case OPT_ORDER:
		a->m->by_time = !strcmp(arg, "time");
		a->m->by_cause = !strcmp(arg, "cause");
		if (!a->m->by_time && !a->m->by_cause)
			argp_error(state,
				   "--order %s: not one of cause and time",
				   arg);
		return 0;
	case OPT_REQUEST_MEMORY:
		if (inv_units_bytes(arg, &a->m->request_memory) ||
		    a->m->request_memory < REQUEST_MEMORY_MIN)
			argp_error(state,
				   "--request-memory %s: not %s, or less than "
				   "64k",
				   arg, INV_UNITS_BYTES_HELP);
		return 0;
	case OPT_UTC:
		a->m->sink_opts.utc = 1;
		return 0;
	case OPT_PACED:
		a->m->paced = true;
		return 0;
	case 'q':
		a->m->quiet = true;
		return 0;
	case OPT_REDACT:
		a->redact[a->n_redact++] = arg;
		return 0;
	case OPT_TI:
	case ARGP_KEY_ARG:
		a->files[a->n++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->n)
			argp_error(state, "no LOG is named");
		/* Before the times are conditions of the filter, too. */
		choose_view(a, state);
		check_times(a->m, state);
		make_redact(a, state);
		if (inv_look_records(&a->look, &a->m->wanted.records))
			argp_failure(state, INV_EXIT_FAILED, 0, "no memory");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &inv_filter_argp, 0, NULL, 0 },
	{ &inv_pick_argp, 0, NULL, 0 },
	{ &inv_look_argp, 0, NULL, 0 },
	{ &inv_request_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[NODE=]LOG...",
	.doc = doc,
	.children = children,
	.help_filter = help_filter,
};

static int exec_merge(int argc, char **argv)
{
	struct merge m = { .format = inv_sinks[0] };
	struct args a = { .m = &m };
	int status;

	a.files = calloc((size_t)argc + 1, sizeof(*a.files));
	a.redact = calloc((size_t)argc + 1, sizeof(*a.redact));
	if (!a.files || !a.redact || inv_filter_opts_init(&m.wanted) ||
	    inv_pick_init(&m.pick)) {
		fputs("inviso merge: no memory\n", stderr);
		status = INV_EXIT_FAILED;
	} else if (argp_parse(&argp, argc, argv, 0, NULL, &a)) {
		status = INV_EXIT_USAGE;
	} else {
		status = merge(&m, a.files, a.n);
	}
	inv_look_release(&a.look);
	inv_pick_release(&m.pick);
	inv_filter_opts_release(&m.wanted);
	inv_redact_events_free(m.redact);
	free(a.redact);
	free(a.files);
	return status;
}

const struct inv_cmd inv_cmd_merge = {
	.name = "merge",
	.summary = "merge logs into one timeline",
	.exec = exec_merge,
};
