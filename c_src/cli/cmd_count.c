/* SPDX-License-Identifier: Apache-2.0 */

/* inviso count: counts events inside the nodes. */

#include <argp.h>

#include "cli/cmd.h"
#include "cli/tallying.h"

enum {
	OPT_BY = 256,
};

static const struct argp_option options[] = {
	{ "by", OPT_BY, "KEY", 0,
	  "a count for each function (default; an event that is no call is "
	  "counted by what it is: send, receive, spawn), process, kind of "
	  "process (its name, or the function that it was spawned to run), "
	  "caller (the function that called), result (calls when they end, with "
	  "their result or exception), reason (exits of processes; the SPEC is "
	  "procs) or node; also function,node. Or an "
	  "expression as in guards, over the arguments A1, A2, ...: a count for "
	  "each of its values",
	  2 },
	{ 0 },
};

static const char doc[] =
	"Counts calls, messages and other events inside the nodes, without "
	"recording them. An event takes little more time than the VM needs to "
	"report it, and memory is fixed. Stops after 10s."
	"\v"
	"SPEC is what `inviso trace' accepts, without actions: functions, with "
	"arguments and conditions, messages, procs, garbage_collection, ... "
	"On a node each thread has a count for each of up to 4096 keys (the "
	"functions, or what --by selects). All events with other keys have one "
	"common count, `others'.\n"
	"\n"
	"Examples:\n"
	"  inviso count -n shop@h1 'shop_cart:_/_'\n"
	"  inviso count -n a@h1,b@h2 --for 1m --by node 'shop:order(_)'\n"
	"  inviso count -n shop@h1 --by process --top 10 receive\n"
	"  inviso count -n a@h1,b@h2 --by kind receive\n"
	"  inviso count -n shop@h1 --by caller 'shop_db:read/1'\n"
	"  inviso count -n shop@h1 --by result 'shop:pay/2'\n"
	"  inviso count -n shop@h1 --by reason procs\n"
	"  inviso count -n shop@h1 --by 'map_get(type, A1)' 'shop:order/2'\n"
	"  inviso count -n shop@h1 --every 1s 'shop:pay(Sum, _) when Sum > "
	"100'\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached or "
	"was lost, 4 refused, 5 nothing matched, or no event, 6 stopped by a "
	"protection, 7 done, but events were not counted.";

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
	case ARGP_KEY_END:
		inv_node_opts_check(&c->nodes, state);
		inv_tallying_check(c, state);
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

static int exec_count(int argc, char **argv)
{
	struct inv_tallying c = {
		.command = "count",
		.program = "inviso count",
		.what = { .ms = INV_TALLYING_MS },
		.by = { .of = "events", .by = "function" },
	};

	return inv_tallying_exec(&c, &argp, argc, argv);
}

const struct inv_cmd inv_cmd_count = {
	.name = "count",
	.summary = "count events inside nodes, by function or process",
	.exec = exec_count,
};
