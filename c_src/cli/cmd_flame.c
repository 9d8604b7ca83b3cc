/* SPDX-License-Identifier: Apache-2.0 */

/* inviso flame: shows where nodes spend their time. */

#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/flame_run.h"
#include "cli/units.h"
#include "sink/formats.h"

#define FOR_MS 10000
#define HZ 100
#define MOST_HZ 1000
/* Each time that a node samples, it takes the stacks of at most this many
 * processes of each kind: running, recently running, and waiting processes. */
#define MOST_STACKS 32
#define TOP 20
/* The default of --rate: how many events of traced calls a node may record in a
 * second. */
#define RATE 1000000

enum {
	OPT_RATE = 256,
	OPT_WAITING,
	OPT_BY,
	OPT_TOP,
	OPT_LOG,
};

static const struct argp_option sample_options[] = {
	{ NULL, 0, NULL, 0, "Samples of stacks, if there is no SPEC:", 1 },
	{ "rate", OPT_RATE, "N", 0, "take samples N times a second (100)", 1 },
	{ "waiting", OPT_WAITING, NULL, 0,
	  "sample waiting processes, too, and show for whose answer they wait",
	  1 },
	{ 0 },
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Output:", 6 },
	{ "by", OPT_BY, "KEY", 0,
	  "begin each path with the kind of the process (its name, or what it "
	  "runs), its node or its label; the default is kind with --waiting, "
	  "otherwise nothing",
	  6 },
	{ "format", 'f', "FORMAT", 0,
	  "text (default: the functions and paths with the most time), folded, "
	  "speedscope, pprof, callgrind or svg; the default with -o is what "
	  "the name ends with: .svg, .pb.gz, .json (speedscope), .callgrind, "
	  ".folded",
	  6 },
	{ "output", 'o', "FILE", 0,
	  "write to FILE, which appears when it is complete", 6 },
	{ "log", OPT_LOG, "FILE", 0,
	  "also write the log to FILE, for `inviso merge'; with several nodes "
	  "a file for each, F.log becomes F-NODE.log",
	  6 },
	{ "top", OPT_TOP, "N", 0, "text: list N functions (20; 0: all)", 6 },
	{ "json", 'j', NULL, 0, "print one JSON object for each path", 6 },
	{ "quiet", 'q', NULL, 0, "print only the profile and errors", 6 },
	{ 0 },
};

static const char doc[] =
	"Shows where the time of nodes goes, by call path. Without SPEC, nodes "
	"sample the stacks of processes that run. With SPEC, the calls of "
	"these functions are traced, and their wall-clock time is shown. "
	"Stops after 10s."
	"\v"
	"SPEC is what `inviso trace' accepts for functions, without actions. "
	"Several nodes are added up unless --by node is given. A process "
	"answers only when it yields, so samples are not exact. The last lines "
	"say how many stacks show where a process waited, the achieved rate, "
	"and the cost of sampling.\n"
	"\n"
	"Examples:\n"
	"  inviso flame -n shop@h1\n"
	"  inviso flame -n shop@h1 -o flame.svg\n"
	"  inviso flame -n a@h1,b@h2 --for 30s --by node -o cluster.json\n"
	"  inviso flame -n shop@h1 --waiting\n"
	"  inviso flame -n shop@h1 'shop_cart:_/_' 'shop_stock:_/_'\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached or "
	"was lost, 4 refused, 5 nothing matched, or nothing ran, 6 stopped by "
	"a protection, 7 done, but samples or events were lost.";

static void set_format(struct inv_flame *c, const char *name,
		       const struct argp_state *state)
{
	c->format = inv_sink_find(name);
	if (!strcmp(name, "text")) {
		c->format = NULL;
		return;
	}
	if (!c->format || !c->format->profile)
		argp_error(state,
			   "--format %s: not one of text, folded, speedscope, "
			   "pprof, callgrind and svg",
			   name);
}

/* Chooses the format by the extension of the output file. */
static void guess_format(struct inv_flame *c)
{
	static const struct {
		const char *end;
		const struct inv_sink_ops *format;
	} known[] = {
		{ ".svg", &inv_sink_svg },
		{ ".pb.gz", &inv_sink_pprof },
		{ ".pprof", &inv_sink_pprof },
		{ ".json", &inv_sink_speedscope },
		{ ".speedscope", &inv_sink_speedscope },
		{ ".callgrind", &inv_sink_callgrind },
		{ ".folded", &inv_sink_folded },
	};
	size_t len = strlen(c->output);

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t n = strlen(known[i].end);

		if (len >= n && !strcmp(c->output + len - n, known[i].end))
			c->format = known[i].format;
	}
}

static void check(struct inv_flame *c, bool has_format, bool has_by,
		  struct argp_state *state)
{
	if (inv_trace_opts_has_actions(&c->what))
		argp_error(state, "a SPEC has an action (->): leave it out, or "
				  "use `inviso trace'");
	if (c->what.n_specs && c->sample.waiting)
		argp_error(state, "--waiting is for samples: leave SPEC out");
	if (!c->what.n_specs && c->what.n_procs)
		argp_error(state, "--procs needs a SPEC: samples are of all "
				  "processes");
	if (!c->what.n_specs && c->what.dry_run)
		argp_error(state, "--dry-run needs a SPEC");
	if (c->json && (has_format || c->output))
		argp_error(state, "--json is a format, for standard output");
	if (c->output && !has_format)
		guess_format(c);
	if (c->format == &inv_sink_pprof && !c->output && isatty(STDOUT_FILENO))
		argp_error(state, "--format pprof is not for a terminal: name "
				  "a file with -o");
	if (!has_by && c->sample.waiting)
		c->by = INV_PATHS_BY_KIND;
}

static error_t parse_sample(int key, char *arg, struct argp_state *state)
{
	struct inv_flame *c = state->input;
	uint64_t n;

	switch (key) {
	case OPT_RATE:
		if (inv_units_count(arg, &n) || !n || n > MOST_HZ)
			argp_error(state, "--rate %s: not from 1 to 1000", arg);
		c->sample.hz = (int64_t)n;
		return 0;
	case OPT_WAITING:
		c->sample.waiting = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static bool has_format, has_by;
	struct inv_flame *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &c->nodes;
		state->child_inputs[1] = &c->what;
		state->child_inputs[2] = c;
		return 0;
	case OPT_BY:
		has_by = true;
		if (!inv_paths_by(arg, &c->by))
			argp_error(state,
				   "--by %s: not one of kind, node, label and "
				   "nothing",
				   arg);
		return 0;
	case OPT_TOP:
		if (inv_units_count(arg, &c->top))
			argp_error(state, "--top %s: not " INV_UNITS_COUNT_HELP,
				   arg);
		return 0;
	case OPT_LOG:
		if (!*arg)
			argp_error(state, "--log: the name is empty");
		c->tee.path = arg;
		return 0;
	case 'o':
		if (!*arg)
			argp_error(state, "-o: the name is empty");
		c->output = arg;
		return 0;
	case 'f':
		has_format = true;
		set_format(c, arg, state);
		return 0;
	case 'j':
		c->json = true;
		return 0;
	case 'q':
		c->quiet = true;
		return 0;
	case ARGP_KEY_END:
		inv_node_opts_check(&c->nodes, state);
		check(c, has_format, has_by, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp sample_argp = {
	.options = sample_options,
	.parser = parse_sample,
};

static const struct argp_child children[] = {
	{ &inv_node_argp, 0, NULL, 0 },
	{ &inv_flame_argp, 0, NULL, 0 },
	/* These options come after the options for nodes, as a group with its
	 * own heading. */
	{ &sample_argp, 0, NULL, 1 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[SPEC...]",
	.doc = doc,
	.children = children,
};

static int exec_flame(int argc, char **argv)
{
	struct inv_flame c = {
		.what = { .ms = FOR_MS, .rate = RATE, .no_args = true },
		.sample = { .hz = HZ, .most = MOST_STACKS },
		.top = TOP,
	};
	int status;

	if (!inv_trace_opts_init(&c.what, argc)) {
		fputs("inviso flame: no memory\n", stderr);
		status = INV_EXIT_FAILED;
	} else if (argp_parse(&argp, argc, argv, 0, NULL, &c)) {
		status = INV_EXIT_USAGE;
	} else {
		status = inv_flame_run(&c);
	}
	inv_trace_opts_release(&c.what);
	inv_node_opts_release(&c.nodes);
	return status;
}

const struct inv_cmd inv_cmd_flame = {
	.name = "flame",
	.summary = "show where the time of nodes goes, by call path",
	.exec = exec_flame,
};
