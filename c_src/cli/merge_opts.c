/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/merge_opts.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/redact_opts.h"
#include "cli/screen.h"
#include "cli/units.h"
#include "sink/formats.h"

#define REQUEST_MEMORY_MIN ((uint64_t)64 << 10)

enum {
	OPT_SUMMARY = 256,
	OPT_UTC,
	OPT_PACED,
	OPT_TI,
	OPT_TOTALS,
	OPT_ORDER,
	OPT_REQUEST_MEMORY,
	OPT_REDACT,
	OPT_BY,
	OPT_PARTITION,
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0,
	  "write to FILE, which appears when it is complete, and print a "
	  "summary",
	  0 },
	{ "format", 'f', "FORMAT", 0, "", 0 },
	{ "json", 'j', NULL, 0, "the same as --format json", 0 },
	{ "by", OPT_BY, "KEY", 0,
	  "formats that show where time went: begin each path with the kind of "
	  "the process (its name, or what it runs), its node or its label; "
	  "the default is nothing",
	  0 },
	{ "partition", OPT_PARTITION, "KEYS", 0,
	  "parquet: write the large tables into many files, each with the rows "
	  "of one node, of one hour (UTC), or with node,hour of both",
	  0 },
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
	"ti files in it. NODE= overrides the name of the node. Otherwise the "
	"name is taken from the log or, if the file is not a log, from the "
	"pids in it.\n"
	"\n"
	"Formats: perfetto is a timeline for ui.perfetto.dev, ctf one for "
	"babeltrace2 and Trace Compass; svg, speedscope (speedscope.app), "
	"folded, pprof and callgrind (KCachegrind) show where time went; "
	"mermaid, shiviz and sequence show requests; sqlite and parquet are "
	"tables for SQL; otlp (JSON) and otlp-proto are spans of "
	"OpenTelemetry; classic and etf are for programs in Erlang. If a "
	"timeline is too large for a browser, shorten its terms with "
	"--print-depth 2, or select events with --from, --mfa or "
	"--min-duration.\n"
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
	"  inviso merge -f perfetto -o box.pftrace box/\n"
	"  inviso merge -f svg -o flame.svg slow.log\n"
	"  inviso merge -f parquet --partition node,hour -o tables box/\n"
	"  inviso merge -f classic -o out.txt node1@host=t1.log t1.ti\n"
	"\n"
	"Lost events are always shown in their place and counted at the end. "
	"Exit status: 0 done, 1 failed, 2 usage, 5 the options select no "
	"event, 7 done, but events were lost.";

static int set_summary(struct inv_merge_opts *o, const char *arg)
{
	static const char *const forms[] = { "text", "json", "none" };

	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(arg, forms[i])) {
			o->summary = (enum inv_merge_summary)i;
			return 0;
		}
	return -1;
}

static void make_redaction(struct inv_merge_opts *o,
			   const struct argp_state *state)
{
	const struct inv_records *records = &o->wanted.records;
	struct inv_redact_opts rules = { .n = 0 };
	struct inv_err err = { 0 };
	int rc = 0;

	for (unsigned i = 0; !rc && i < o->n_redact_texts; i++)
		rc = inv_redact_opts_add(&rules, o->redact_texts[i], records,
					 &err);
	if (!rc && inv_redact_opts_end(&rules))
		rc = inv_err_set(&err, INV_ENOMEM, "no memory");
	if (!rc)
		rc = inv_redact_events_new(&o->redact, rules.rules, rules.n,
					   records, &err);
	inv_redact_opts_release(&rules);
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

static void set_format(struct inv_merge_opts *o, const char *name,
		       const struct argp_state *state)
{
	struct inv_buf b = { 0 };

	o->format = inv_sink_find(name);
	if (o->format)
		return;
	list_formats(&b);
	argp_error(state, "--format %s: not one of %s", name,
		   b.error ? "them" : (const char *)b.data);
	inv_buf_release(&b);
}

void inv_merge_opts_end(struct inv_merge_opts *o,
			const struct argp_state *state)
{
	struct inv_err err = { 0 };

	if (inv_filter_opts_dated(&o->wanted) &&
	    inv_filter_opts_resolve(&o->wanted, o->sink.utc, 0, &err))
		argp_error(state, "%s", err.text);
	make_redaction(o, state);
	if (inv_look_records(&o->look, &o->wanted.records))
		argp_failure(state, INV_EXIT_FAILED, 0, "no memory");
}

/* If the options choose a view of requests, replaces the format by this
 * view. */
static void choose_view(struct inv_merge_opts *o,
			const struct argp_state *state)
{
	const struct inv_sink_ops *view;

	o->by_request = inv_request_opts_active(&o->requests, o->format);
	if (!o->by_request)
		return;
	view = inv_request_opts_view(&o->requests, o->format, &o->sink);
	if (!view)
		argp_error(state, "--format %s has no such view of requests",
			   o->format->name);
	if (o->by_time)
		argp_error(state, "requests need --order cause");
	if (inv_pick_active(&o->pick))
		argp_error(state, "--min-duration and --failed select calls, "
				  "but requests consist of messages");
	if (o->wanted.filter.by_tag || o->wanted.filter.n_mfas ||
	    (o->wanted.spec && !inv_spec_filter_messages(o->wanted.spec)))
		argp_error(state,
			   "requests consist of messages: select them with "
			   "--pid or --filter 'send(Receiver, Message)'");
	if ((o->wanted.filter.active || o->wanted.spec) &&
	    view == &inv_sink_shiviz)
		argp_error(state, "--format shiviz needs all events of a "
				  "request: ShiViz itself can search them");
	o->format = view;
	o->by_cause = true;
	o->sink.request_memory = o->request_memory;
	if (!o->look.has_width && !o->output && isatty(STDOUT_FILENO))
		o->sink.width = inv_screen_width();
}

static void set_by(struct inv_merge_opts *o, const char *arg,
		   const struct argp_state *state)
{
	if (!inv_paths_by(arg, &o->profile_by))
		argp_error(state,
			   "--by %s: not one of kind, node, label and nothing",
			   arg);
}

static void set_partition(struct inv_merge_opts *o, const char *arg,
			  const struct argp_state *state)
{
	if (!strcmp(arg, "node"))
		o->sink.partition = INV_SINK_BY_NODE;
	else if (!strcmp(arg, "hour"))
		o->sink.partition = INV_SINK_BY_HOUR;
	else if (!strcmp(arg, "node,hour") || !strcmp(arg, "hour,node"))
		o->sink.partition = INV_SINK_BY_NODE | INV_SINK_BY_HOUR;
	else
		argp_error(
			state,
			"--partition %s: not one of node, hour and node,hour",
			arg);
}

static void set_order(struct inv_merge_opts *o, const char *arg,
		      const struct argp_state *state)
{
	o->by_time = !strcmp(arg, "time");
	o->by_cause = !strcmp(arg, "cause");
	if (!o->by_time && !o->by_cause)
		argp_error(state, "--order %s: not one of cause and time", arg);
}

static void check_format_options(const struct inv_merge_opts *o,
				 const struct argp_state *state)
{
	if (o->profile_by && !o->format->profile)
		argp_error(state, "--by needs a format that shows where time "
				  "went, such as folded or svg");
	if (o->sink.partition && strcmp(o->format->name, "parquet") != 0)
		argp_error(state, "--partition needs --format parquet");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_merge_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->wanted;
		state->child_inputs[1] = &o->pick;
		state->child_inputs[2] = &o->look;
		state->child_inputs[3] = &o->requests;
		return 0;
	case 'o':
		if (!*arg)
			argp_error(state, "-o: the name of the file is empty");
		o->output = arg;
		return 0;
	case 'j':
		set_format(o, "json", state);
		return 0;
	case 'f':
		set_format(o, arg, state);
		return 0;
	case OPT_SUMMARY:
		if (set_summary(o, arg))
			argp_error(state,
				   "--summary %s: not one of text, json "
				   "and none",
				   arg);
		return 0;
	case OPT_TOTALS:
		o->want_totals = true;
		return 0;
	case OPT_ORDER:
		set_order(o, arg, state);
		return 0;
	case OPT_REQUEST_MEMORY:
		if (inv_units_bytes(arg, &o->request_memory) ||
		    o->request_memory < REQUEST_MEMORY_MIN)
			argp_error(state,
				   "--request-memory %s: not %s, or less than "
				   "64k",
				   arg, INV_UNITS_BYTES_HELP);
		return 0;
	case OPT_BY:
		set_by(o, arg, state);
		return 0;
	case OPT_PARTITION:
		set_partition(o, arg, state);
		return 0;
	case OPT_UTC:
		o->sink.utc = 1;
		return 0;
	case OPT_PACED:
		o->paced = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case OPT_REDACT:
		o->redact_texts[o->n_redact_texts++] = arg;
		return 0;
	case OPT_TI:
	case ARGP_KEY_ARG:
		o->files[o->n_files++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->n_files)
			argp_error(state, "no LOG is named");
		if ((o->format->open || o->format->program) && !o->output)
			argp_error(state, "--format %s needs -o %s",
				   o->format->name,
				   o->format->directory ? "DIR" : "FILE");
		/* choose_view is called first, because it must not see the
		 * times that inv_merge_opts_end adds to the filter. */
		choose_view(o, state);
		if (o->format->binary && !o->output && isatty(STDOUT_FILENO))
			argp_error(state,
				   "--format %s is no text for a terminal: "
				   "write it into a file with -o FILE",
				   o->format->name);
		inv_merge_opts_end(o, state);
		check_format_options(o, state);
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

int inv_merge_opts_init(struct inv_merge_opts *o, const char *program, int argc)
{
	*o = (struct inv_merge_opts){ .format = inv_sinks[0],
				      .program = program,
				      .look.opts = &o->sink };
	o->files = calloc((size_t)argc + 1, sizeof(*o->files));
	o->redact_texts = calloc((size_t)argc + 1, sizeof(*o->redact_texts));
	if (!o->files || !o->redact_texts || inv_filter_opts_init(&o->wanted) ||
	    inv_pick_init(&o->pick)) {
		fprintf(stderr, "%s: no memory\n", program);
		return INV_EXIT_FAILED;
	}
	return 0;
}

int inv_merge_opts_parse(struct inv_merge_opts *o, int argc, char **argv)
{
	int status = inv_merge_opts_init(o, "inviso merge", argc);

	if (status)
		return status;
	return argp_parse(&argp, argc, argv, 0, NULL, o) ? INV_EXIT_USAGE : 0;
}

void inv_merge_opts_release(struct inv_merge_opts *o)
{
	inv_look_release(&o->look);
	inv_pick_release(&o->pick);
	inv_filter_opts_release(&o->wanted);
	inv_redact_events_free(o->redact);
	free(o->redact_texts);
	free(o->files);
}
