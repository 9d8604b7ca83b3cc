/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/tallying.h"
#include "cli/units.h"

#define EVERY_MIN_MS 100

enum {
	OPT_EVERY = 0x3000,
	OPT_TOP,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Output:", 6 },
	{ "every", OPT_EVERY, "TIME", 0,
	  "also print the results so far, every TIME (at least 100ms)", 6 },
	{ "top", OPT_TOP, "N", 0,
	  "print the first N rows (30; with --json all; 0: all)", 6 },
	{ "output", 'o', "FILE", 0,
	  "also write the log to FILE, for `inviso merge'; with several nodes "
	  "a file for each, F.log becomes F-NODE.log",
	  6 },
	{ "json", 'j', NULL, 0,
	  "print one JSON object in each line; at the end a summary as JSON on "
	  "standard error",
	  6 },
	{ "quiet", 'q', NULL, 0, "print only results and errors", 6 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_tallying *c = state->input;

	switch (key) {
	case OPT_EVERY:
		if (inv_units_ms(arg, &c->every_ms) ||
		    c->every_ms < EVERY_MIN_MS || c->every_ms > 3600000)
			argp_error(state,
				   "--every %s: not a time from 100ms to 1h",
				   arg);
		return 0;
	case OPT_TOP:
		if (inv_units_count(arg, &c->top))
			argp_error(state, "--top %s: not " INV_UNITS_COUNT_HELP,
				   arg);
		c->top_given = true;
		return 0;
	case 'o':
		if (!*arg)
			argp_error(state, "-o: the name is empty");
		c->tee.path = arg;
		return 0;
	case 'j':
		c->json = true;
		return 0;
	case 'q':
		c->quiet = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp inv_tallying_argp = {
	.options = options,
	.parser = parse,
};

static const char *const no_keys[] = { "arg", "args", "label", "name",
				       "value" };

static void only_count(const struct inv_tallying *c, const char *arg,
		       const char *by, struct argp_state *state)
{
	if (c->table.timed)
		argp_error(state, "--by %s: only `inviso count' counts %s", arg,
			   by);
}

static void by_word(struct inv_tallying *c, const char *word, size_t len,
		    const char *arg, struct argp_state *state)
{
	if (len == 4 && !strncmp(word, "node", len)) {
		c->table.rows.by_node = true;
		return;
	}
	if (len == 8 && !strncmp(word, "function", len) && !c->by.by) {
		c->by.by = "function";
		return;
	}
	if (len == 7 && !strncmp(word, "process", len) && !c->by.by) {
		c->by.by = "process";
		return;
	}
	if (len == 6 && !strncmp(word, "caller", len) && !c->by.by) {
		only_count(c, arg, "by caller", state);
		c->by.by = "caller";
		return;
	}
	if (len == 6 && !strncmp(word, "result", len) && !c->by.by) {
		only_count(c, arg, "by result", state);
		c->by.by = "result";
		return;
	}
	if (len == 6 && !strncmp(word, "reason", len) && !c->by.by) {
		only_count(c, arg, "by reason", state);
		c->by.by = "reason";
		return;
	}
	if (len == 4 && !strncmp(word, "kind", len) && !c->by.by) {
		c->by.by = "process";
		c->table.rows.kinds = true;
		return;
	}
	for (size_t i = 0; i < sizeof(no_keys) / sizeof(*no_keys); i++)
		if (strlen(no_keys[i]) == len &&
		    !strncmp(word, no_keys[i], len))
			argp_error(state, "--by %s: %.*s is not supported yet",
				   arg, (int)len, word);
	argp_error(state,
		   "--by %s: not one of function, process, kind%s and node; "
		   "node can follow one of the others: function,node",
		   arg,
		   c->table.timed ? ", an expression such as A1" :
				    ", caller, result, reason, an expression "
				    "such as A1");
}

/* Returns true if the text is an expression over arguments, and not a list of
 * words. */
static bool is_expression(const char *text)
{
	const char *p = text;

	while ((p = strchr(p, 'A')) && (p[1] < '1' || p[1] > '9'))
		p++;
	return p || strchr(text, '(');
}

/* Makes the nodes count by the value of the expression. Only the nodes parse
 * the expression. */
static void by_expression(struct inv_tallying *c, const char *text)
{
	c->by.by = "value";
	c->by.key = text;
}

void inv_tallying_by(struct inv_tallying *c, const char *list,
		     struct argp_state *state)
{
	const char *word = list;

	c->by.by = NULL;
	c->by.key = NULL;
	c->table.rows.by_node = false;
	c->table.rows.kinds = false;
	c->table.rows.nodes_only = false;
	if (is_expression(list)) {
		by_expression(c, list);
		return;
	}
	for (;;) {
		size_t len = strcspn(word, ",");

		by_word(c, word, len, list, state);
		if (!word[len])
			break;
		word += len + 1;
	}
	c->table.rows.nodes_only = !c->by.by;
	if (!c->by.by)
		c->by.by = "function";
}

void inv_tallying_check(const struct inv_tallying *c, struct argp_state *state)
{
	if (!c->what.n_specs)
		argp_error(state, "no SPEC is given");
	if (inv_trace_opts_has_actions(&c->what))
		argp_error(state,
			   "a SPEC has an action (->), but events are not "
			   "recorded: leave it out, or use `inviso trace'");
}

int inv_tallying_exec(struct inv_tallying *c, const struct argp *argp, int argc,
		      char **argv)
{
	int status;

	if (!inv_trace_opts_init(&c->what, argc)) {
		fprintf(stderr, "%s: no memory\n", c->program);
		status = INV_EXIT_FAILED;
	} else if (argp_parse(argp, argc, argv, 0, NULL, c)) {
		status = INV_EXIT_USAGE;
	} else {
		status = inv__tallying_run(c);
	}
	inv_trace_opts_release(&c->what);
	inv_node_opts_release(&c->nodes);
	return status;
}
