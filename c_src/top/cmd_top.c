/* SPDX-License-Identifier: Apache-2.0 */

/* inviso top: a screen of nodes, their processes and their functions. */
#include "top/cmd_top.h"

#include <argp.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/units.h"
#include "top/run.h"

#define EVERY_MS 2000
#define EVERY_MIN_MS 200
#define EVERY_MAX_MS 60000
#define FOR_MS 3600000
#define TOP 20

enum {
	OPT_EVERY = 0x3000,
	OPT_ONCE,
	OPT_MESSAGES,
	OPT_TOP,
	OPT_SORT,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What is shown:", 6 },
	{ "messages", OPT_MESSAGES, NULL, 0,
	  "count the messages that processes receive; this traces each "
	  "message",
	  6 },
	{ "every", OPT_EVERY, "TIME", 0,
	  "measure every TIME, from 200ms to 1m (2s)", 6 },
	{ "sort", OPT_SORT, "WHAT", 0,
	  "sort processes by mailbox, memory, reductions (default) or "
	  "messages, or functions by calls (in a second, default), count, "
	  "p50, p99, max or sum; can be given for both",
	  6 },
	{ NULL, 0, NULL, 0, "For scripts:", 7 },
	{ "once", OPT_ONCE, NULL, 0,
	  "measure for --every, or for --for, print the tables, and end", 7 },
	{ "json", 'j', NULL, 0,
	  "with --once: print one JSON object in each line", 7 },
	{ "top", OPT_TOP, "N", 0,
	  "with --once: print the first N rows of each table (20; with --json "
	  "all; 0: all)",
	  7 },
	{ "quiet", 'q', NULL, 0, "with --once: print only tables and errors",
	  7 },
	{ 0 },
};

static const char doc[] =
	"Shows nodes and what is busy on them, on a screen that is updated: "
	"run queue, memory and reductions of each node; the processes with the "
	"longest mailboxes, the most memory and the most work; and with SPEC "
	"the busiest functions, with quantiles of how long their calls take."
	"\v"
	"SPEC is a function of `inviso trace', with arguments and conditions, "
	"without actions. Its calls are timed inside the nodes, as `inviso "
	"hist' does. Without SPEC and --messages nothing is traced. Examining "
	"processes takes at most 1 % of the time of a node's schedulers. If a "
	"node has very many processes, examining all of them once takes "
	"several seconds; the screen says how many.\n"
	"\n"
	"Keys: arrows choose a row and the column to sort by, Enter traces the "
	"chosen row, f freezes the screen, Tab changes the table, ? lists all "
	"keys, q ends.\n"
	"\n"
	"Examples:\n"
	"  inviso top -n shop@h1\n"
	"  inviso top -n a@h1,b@h2 'shop_cart:_/_' 'shop_stock:_/_'\n"
	"  inviso top -n shop@h1 --messages\n"
	"  inviso top -n shop@h1 --once --json | jq 'select(.mailbox > 1000)'\n"
	"  inviso top -n shop@h1 --once --for 10s --sort p99 'app(shop)'\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached or "
	"was lost, 4 refused, 5 nothing matched, 6 a session was stopped by a "
	"protection, 7 done, but events were not counted.";

/* For each table, the value of --sort by which its rows are sorted.
 * INV_TOP_BYS: --sort was not given for this table. */
static enum inv_top_by by_options[INV_TOP_TABLES];

static void sort(const char *arg, struct argp_state *state)
{
	static const struct {
		const char *name;
		enum inv_top_by by;
	} orders[] = {
		{ "mailbox", INV_TOP_BY_MAILBOX },
		{ "memory", INV_TOP_BY_MEMORY },
		{ "reductions", INV_TOP_BY_REDUCTIONS },
		{ "messages", INV_TOP_BY_MESSAGES },
		{ "calls", INV_TOP_BY_CALLS },
		{ "count", INV_TOP_BY_COUNT },
		{ "p50", INV_TOP_BY_P50 },
		{ "p99", INV_TOP_BY_P99 },
		{ "max", INV_TOP_BY_MAX },
		{ "sum", INV_TOP_BY_SUM },
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (!strcmp(arg, orders[i].name)) {
			by_options[orders[i].by < INV_TOP_BY_CALLS ?
					   INV_TOP_PROCESSES :
					   INV_TOP_FUNCTIONS] = orders[i].by;
			return;
		}
	argp_error(state,
		   "--sort %s: not one of mailbox, memory, reductions, "
		   "messages, calls, count, p50, p99, max and sum",
		   arg);
}

static void check(struct inv_top_run *r, bool has_top, struct argp_state *state)
{
	if (inv_trace_opts_has_actions(&r->what))
		argp_error(state, "a SPEC has an action (->), but events are "
				  "not recorded: leave it out, or use `inviso "
				  "trace'");
	if (r->what.dry_run)
		argp_error(state, "--dry-run: use `inviso hist --dry-run'");
	if (!r->once && (r->json || has_top || r->quiet))
		argp_error(state, "--json, --top and --quiet need --once");
	if (r->what.n_procs && !r->what.n_specs && !r->messages)
		argp_error(state, "--procs needs a SPEC or --messages");
	if (!r->once && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		argp_error(state, "standard input and output are no terminal: "
				  "use --once");
	if (r->json && !has_top)
		r->top = 0;
	if (by_options[INV_TOP_PROCESSES] == INV_TOP_BY_MESSAGES &&
	    !r->messages)
		argp_error(state, "--sort messages needs --messages");
	if (by_options[INV_TOP_FUNCTIONS] != INV_TOP_BYS && !r->what.n_specs)
		argp_error(state, "functions are sorted only if there is a "
				  "SPEC");
	memcpy(r->by, by_options, sizeof(r->by));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static bool has_top;
	struct inv_top_run *r = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &r->nodes;
		state->child_inputs[1] = &r->what;
		return 0;
	case OPT_EVERY:
		if (inv_units_ms(arg, &r->every_ms) ||
		    r->every_ms < EVERY_MIN_MS || r->every_ms > EVERY_MAX_MS)
			argp_error(state,
				   "--every %s: not a time from 200ms to 1m",
				   arg);
		return 0;
	case OPT_ONCE:
		r->once = true;
		return 0;
	case OPT_MESSAGES:
		r->messages = true;
		return 0;
	case OPT_SORT:
		sort(arg, state);
		return 0;
	case OPT_TOP:
		if (inv_units_count(arg, &r->top))
			argp_error(state, "--top %s: not " INV_UNITS_COUNT_HELP,
				   arg);
		has_top = true;
		return 0;
	case 'j':
		r->json = true;
		return 0;
	case 'q':
		r->quiet = true;
		return 0;
	case ARGP_KEY_END:
		inv_node_opts_check(&r->nodes, state);
		check(r, has_top, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &inv_node_argp, 0, NULL, 0 },
	{ &inv_count_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[SPEC...]",
	.doc = doc,
	.children = children,
};

/* Sets the locale. If the environment has none, uses UTF-8: the other commands
 * print names as UTF-8, too. */
static void set_locale(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	bool given = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		// NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
		const char *v = getenv(names[i]);

		given = given || (v && *v);
	}
	if (!given || !setlocale(LC_CTYPE, ""))
		(void)setlocale(LC_CTYPE, "C.UTF-8");
}

static int exec_top(int argc, char **argv)
{
	struct inv_top_run r = {
		.what = { .ms = FOR_MS },
		.every_ms = EVERY_MS,
		.top = TOP,
	};
	int status;

	by_options[INV_TOP_PROCESSES] = INV_TOP_BYS;
	by_options[INV_TOP_FUNCTIONS] = INV_TOP_BYS;
	set_locale();
	if (!inv_trace_opts_init(&r.what, argc)) {
		fputs("inviso top: no memory\n", stderr);
		status = INV_EXIT_FAILED;
	} else if (argp_parse(&argp, argc, argv, 0, NULL, &r)) {
		status = INV_EXIT_USAGE;
	} else {
		status = inv_top_run(&r);
	}
	inv_trace_opts_release(&r.what);
	inv_node_opts_release(&r.nodes);
	return status;
}

const struct inv_cmd inv_cmd_top = {
	.name = "top",
	.summary = INV_CMD_TOP_SUMMARY,
	.exec = exec_top,
};
