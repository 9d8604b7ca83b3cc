/* SPDX-License-Identifier: Apache-2.0 */

/* inviso hist: histograms of times, made inside the nodes. */

#include <argp.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/tallying.h"
#include "cli/units.h"

enum {
	OPT_BY = 256,
	OPT_OF,
	OPT_SORT,
	OPT_DRAW,
	OPT_OPEN_CALLS,
};

/* The maximum depth of a stack of open calls: INV_SPANS_DEPTH in vm/spans.h. */
#define OPEN_CALLS_MAX 1024

static const struct argp_option options[] = {
	{ "by", OPT_BY, "KEY", 0,
	  "a histogram for each function (default), process, kind of process "
	  "(its name, or the function that it was spawned to run) or node; "
	  "also function,node. Or an expression as in guards, over the "
	  "arguments A1, A2, ...: a histogram for each of its values",
	  2 },
	{ "of", OPT_OF, "EXPR", 0,
	  "instead of times, the values of an expression over the arguments "
	  "A1, A2, ... that are integers from 0 on, such as 'byte_size(A2)'",
	  2 },
	{ "open-calls", OPT_OPEN_CALLS, "N", 0,
	  "time no more calls of a function when a process has N timed calls "
	  "that have not returned, because each takes stack (1000; at most "
	  "1024)",
	  5 },
	{ "sort", OPT_SORT, "WHAT", 0,
	  "the highest p50, p90, p99 (default), p999, max, sum or count first",
	  6 },
	{ "draw", OPT_DRAW, "N", 0,
	  "draw the histograms of the first N rows (3; with --every 1 until "
	  "the end)",
	  6 },
	{ 0 },
};

static const char doc[] =
	"Measures how long calls take, inside the nodes, and records none of "
	"them: each call is added to a histogram when it ends. Prints "
	"quantiles, which are at most 1.6 % wrong, and draws histograms. "
	"Memory is fixed. Stops after 10s."
	"\v"
	"SPEC is a function of `inviso trace', with arguments and conditions, "
	"without actions; or gc, for garbage collections; or running, for how "
	"long processes run and wait. Times are wall-clock times, which "
	"include waiting. p99 is the time that 99 % of the calls did not "
	"exceed. A call without an end is unpaired: it is still open, or its "
	"process had too many open calls. On a node each thread has a histogram "
	"for each of up to 4096 keys (the functions, or what --by selects). All "
	"calls with other keys have one common histogram, `others'.\n"
	"\n"
	"With --of EXPR, a SPEC can also be send or receive, as for `inviso "
	"count --by EXPR'.\n"
	"\n"
	"Examples:\n"
	"  inviso hist -n shop@h1 'shop_cart:_/_'\n"
	"  inviso hist -n shop@h1 --sort sum --top 10 'app(shop)'\n"
	"  inviso hist -n a@h1,b@h2 --by node 'shop:pay(_, _)'\n"
	"  inviso hist -n shop@h1 --by kind gc\n"
	"  inviso hist -n shop@h1 --by 'map_get(type, A1)' 'shop:order/2'\n"
	"  inviso hist -n shop@h1 --of 'byte_size(A2)' 'shop_db:put/2'\n"
	"  inviso hist -n shop@h1 --of 'length(A1)' 'lists:sort/1'\n"
	"  inviso hist -n shop@h1 --every 1s 'shop:pay(Sum, _) when Sum > "
	"100'\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached or "
	"was lost, 4 refused, 5 nothing matched, or no event, 6 stopped by a "
	"protection, 7 done, but events were not counted.";

static const struct {
	const char *name;
	enum inv_rank_by by;
} orders[] = {
	{ "count", INV_RANK_COUNT }, { "p50", INV_RANK_P50 },
	{ "p90", INV_RANK_P90 },     { "p99", INV_RANK_P99 },
	{ "p999", INV_RANK_P999 },   { "max", INV_RANK_MAX },
	{ "sum", INV_RANK_SUM },
};

static void sort(struct inv_tallying *c, const char *arg,
		 struct argp_state *state)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		if (!strcmp(arg, orders[i].name)) {
			c->table.rows.by = orders[i].by;
			return;
		}
	}
	argp_error(state,
		   "--sort %s: not one of p50, p90, p99, p999, max, sum and "
		   "count",
		   arg);
}

static void open_calls(struct inv_tallying *c, const char *arg,
		       struct argp_state *state)
{
	uint64_t n;

	if (inv_units_count(arg, &n) || n < 1 || n > OPEN_CALLS_MAX)
		argp_error(state, "--open-calls %s: not a number from 1 to %d",
			   arg, OPEN_CALLS_MAX);
	c->what.open_calls = (int64_t)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_tallying *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &c->nodes;
		state->child_inputs[1] = &c->what;
		state->child_inputs[2] = c;
		return 0;
	case OPT_BY:
		inv_tallying_by(c, arg, state);
		return 0;
	case OPT_OF:
		c->by.of = "values";
		c->by.expr = arg;
		return 0;
	case OPT_SORT:
		sort(c, arg, state);
		return 0;
	case OPT_DRAW:
		if (inv_units_count(arg, &c->table.drawn))
			argp_error(state,
				   "--draw %s: not " INV_UNITS_COUNT_HELP, arg);
		return 0;
	case OPT_OPEN_CALLS:
		open_calls(c, arg, state);
		return 0;
	case ARGP_KEY_END:
		inv_node_opts_check(&c->nodes, state);
		inv_tallying_check(c, state);
		if (c->by.expr && c->what.open_calls != INV_UNSET)
			argp_error(state, "--open-calls is for times, and --of "
					  "measures none");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &inv_node_argp, 0, NULL, 0 },
	{ &inv_count_argp, 0, NULL, 0 },
	{ &inv_tallying_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SPEC...",
	.doc = doc,
	.children = children,
};

static int exec_hist(int argc, char **argv)
{
	struct inv_tallying c = {
		.command = "hist",
		.program = "inviso hist",
		.table = { .rows = { .by = INV_RANK_P99 },
			   .timed = true,
			   .drawn = INV_TIMES_DRAWN },
		.what = { .ms = INV_TALLYING_MS },
		.by = { .of = "times", .by = "function" },
	};

	return inv_tallying_exec(&c, &argp, argc, argv);
}

const struct inv_cmd inv_cmd_hist = {
	.name = "hist",
	.summary = "histograms of times, or of other values, made inside nodes",
	.exec = exec_hist,
};
