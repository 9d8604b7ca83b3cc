/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/merge_run.h"
#include "cli/redact_opts.h"
#include "cli/screen.h"
#include "report/report.h"

/* How many rows a table of the text has by default. */
#define TOP 10u

#define WIDTH_MIN 40u
#define WIDTH_MAX 100000u

enum {
	OPT_TEXT = 256,
	OPT_TOP,
	OPT_WIDTH,
	OPT_UTC,
	OPT_REDACT,
	OPT_TI,
};

struct report {
	struct inv_merge_opts merge;
	bool has_format;
	bool has_width;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0,
	  "write a page for a browser to FILE, which appears when it is complete",
	  0 },
	{ "text", OPT_TEXT, NULL, 0,
	  "print tables for a terminal; default without -o", 0 },
	{ "json", 'j', NULL, 0, "print one JSON object", 0 },
	{ "top", OPT_TOP, "ROWS", 0,
	  "text: print at most ROWS rows of each table; 0 prints all rows that "
	  "are kept, in most tables 200. The default is 10",
	  0 },
	{ "width", OPT_WIDTH, "COLUMNS", 0,
	  "text: cut longer lines; 0 prints whole lines. The default is the "
	  "width of a terminal, otherwise 120",
	  0 },
	{ "utc", OPT_UTC, NULL, 0,
	  "text: print times in UTC, not local times; also for --from and --to",
	  0 },
	{ "redact", OPT_REDACT, "RULES", 0,
	  INV_REDACT_HELP " such as password and authorization", 0 },
	{ "ti", OPT_TI, "FILE", 0,
	  "read FILE as a ti file (not needed: ti files are detected)", 0 },
	{ "quiet", 'q', NULL, 0, "print nothing about damage and progress", 0 },
	{ 0 },
};

static const char doc[] =
	"Shows slow calls, failures, losses and busy processes of logs, as tables "
	"or as a page for a browser."
	"\v"
	"What was recorded and lost, which functions took the time, the slowest "
	"and the failed calls, abnormal exits, the busiest processes and "
	"mailboxes, which kinds of processes sent each other messages, the "
	"slowest requests and the longest garbage collections. The page also "
	"has sequence charts, a flame graph and a timeline. It is one file, "
	"which needs no network.\n"
	"\n"
	"LOG is as for inviso merge: a log, or a directory with logs. The "
	"numbers are those of `inviso sql'. Memory is bounded, however long "
	"the logs are.\n"
	"\n"
	"Examples:\n"
	"  inviso report box/ -o box.html\n"
	"  inviso report box/\n"
	"  inviso report --top 50 a.log b.log | less\n"
	"  inviso report --from 10:37:44 --to 10:37:45 box/\n"
	"  inviso report --mfa shop:order --failed box/\n"
	"  inviso report --json box/ | jq '.functions[:3]'\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 5 the options select no event, "
	"7 done, but events were lost.";

static uint64_t number(const char *option, const char *arg, uint64_t least,
		       uint64_t most, const struct argp_state *state)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(arg, &end, 10);
	if (errno || end == arg || *end || *arg == '-' ||
	    (n && (n < least || n > most)))
		argp_error(state,
			   "%s %s: not 0, and not a number from %llu to "
			   "%llu",
			   option, arg, (unsigned long long)least,
			   (unsigned long long)most);
	return n;
}

static void set_format(struct report *r, const struct inv_sink_ops *format)
{
	r->merge.format = format;
	r->has_format = true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report *r = state->input;
	struct inv_merge_opts *o = &r->merge;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->wanted;
		state->child_inputs[1] = &o->pick;
		return 0;
	case 'o':
		if (!*arg)
			argp_error(state, "-o: the name of the file is empty");
		o->output = arg;
		return 0;
	case OPT_TEXT:
		set_format(r, &inv_sink_report_text);
		return 0;
	case 'j':
		set_format(r, &inv_sink_report_json);
		return 0;
	case OPT_TOP:
		o->sink.top = number("--top", arg, 1, UINT32_MAX, state);
		return 0;
	case OPT_WIDTH:
		o->sink.width = (unsigned)number("--width", arg, WIDTH_MIN,
						 WIDTH_MAX, state);
		r->has_width = true;
		return 0;
	case OPT_UTC:
		o->sink.utc = 1;
		return 0;
	case OPT_REDACT:
		o->redact_texts[o->n_redact_texts++] = arg;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case OPT_TI:
	case ARGP_KEY_ARG:
		o->files[o->n_files++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->n_files)
			argp_error(state, "no LOG is named");
		inv_merge_opts_end(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &inv_filter_argp, 0, NULL, 0 },
	{ &inv_pick_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[NODE=]LOG...",
	.doc = doc,
	.children = children,
};

/* If the user has chosen no format, an output file gets an HTML page, and
 * standard output gets text. */
static void choose(struct report *r)
{
	struct inv_merge_opts *o = &r->merge;
	unsigned columns =
		isatty(STDOUT_FILENO) && !o->output ? inv_screen_width() : 0;

	if (o->output && !r->has_format)
		o->format = &inv_sink_report_page;
	if (!r->has_width)
		o->sink.width = columns ? columns : 120;
}

static int exec_report(int argc, char **argv)
{
	struct report r = { 0 };
	int status = inv_merge_opts_init(&r.merge, "inviso report", argc);

	r.merge.format = &inv_sink_report_text;
	r.merge.sink.records = true;
	r.merge.sink.top = TOP;
	if (!status && argp_parse(&argp, argc, argv, 0, NULL, &r))
		status = INV_EXIT_USAGE;
	if (!status) {
		choose(&r);
		status = inv_merge_run(&r.merge);
	}
	inv_merge_opts_release(&r.merge);
	return status;
}

const struct inv_cmd inv_cmd_report = {
	.name = "report",
	.summary =
		"show slow calls, failures, losses and busy processes of logs",
	.exec = exec_report,
};
