/* SPDX-License-Identifier: Apache-2.0 */

/* inviso autostart: shows and changes what is traced when nodes start. */

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cluster.h"
#include "cli/cmd.h"
#include "cli/report.h"
#include "cli/units.h"
#include "node/autostart.h"

#define LOG "inviso_autostart.log"
#define MAX_BYTES (1 << 20)

struct autostart {
	struct inv_node_opts nodes;
	const char *what; /* the subcommand: show, write or remove */
	const char *file; /* path of the trace case */
	char **names;	  /* names of variables, copied; n_values of them */
	const char **values;
	size_t n_values;
	int64_t starts;
	const char *log;
	bool json;
	bool quiet;
	struct inv_buf text;
	struct inv_cluster cluster;
};

/* --- output --------------------------------------------------------------- */

static void put_text(struct inv_buf *b, const char *node,
		     const struct inv_autostart *a)
{
	inv_buf_printf(b, "%s: ", node);
	if (!a->starts)
		inv_buf_puts(b, "no start is traced");
	else if (a->starts == INV_STARTS_ALWAYS)
		inv_buf_puts(b, "each start is traced");
	else if (a->starts == 1)
		inv_buf_puts(b, "the next start is traced");
	else
		inv_buf_printf(b, "the next %" PRId64 " starts are traced",
			       a->starts);
	inv_buf_printf(b, "; %s%s\n", a->file,
		       a->lines.n ? "" : " does not exist");
	for (size_t i = 0; i < a->lines.n; i++)
		inv_buf_printf(b, "  %s\n", a->lines.v[i]);
}

static void put_json(struct inv_buf *b, const char *node,
		     const struct inv_autostart *a)
{
	struct inv_json j = { .out = b };

	inv_json_open(&j, NULL, '{');
	inv_json_text(&j, "node", node);
	inv_json_text(&j, "file", a->file);
	if (a->starts == INV_STARTS_ALWAYS)
		inv_json_text(&j, "starts", "always");
	else
		inv_json_int(&j, "starts", a->starts);
	inv_json_bool(&j, "started", a->started);
	inv_report_json_texts(&j, "lines", &a->lines);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

static void say(struct autostart *s, const char *node,
		const struct inv_autostart *a)
{
	struct inv_buf b = { 0 };

	if (s->json)
		put_json(&b, node, a);
	else if (!s->quiet)
		put_text(&b, node, a);
	inv_screen_put(s->cluster.screen, &b);
	if (a->starts && !a->started)
		inv_screen_note_node(s->cluster.screen, node,
				     "the application inviso was not started "
				     "with this node: add it to the node's "
				     "boot script");
}

/* --- the work ------------------------------------------------------------- */

static void ask(void *arg, struct inv_ask *out, struct inv_conn *conn)
{
	const struct autostart *s = arg;
	int ms = inv_cluster_ms(&s->cluster);
	const struct inv_autostart_case what = {
		.text = (const char *)s->text.data,
		.len = s->text.len,
		.names = (const char *const *)s->names,
		.values = s->values,
		.n = s->n_values,
		.starts = s->starts,
		.log = s->log,
	};

	if (!strcmp(s->what, "write"))
		inv_autostart_write(out, conn, &what, ms);
	else if (!strcmp(s->what, "remove"))
		inv_autostart_remove(out, conn, ms);
	else
		inv_autostart_show(out, conn, ms);
}

static int got(void *arg, size_t i, const struct inv_ask *answer)
{
	struct autostart *s = arg;
	const char *name = inv_cluster_name(&s->cluster, i);
	struct inv_autostart a = { 0 };
	struct inv_err err = { 0 };
	int rc = inv_autostart_got(answer, &a, &err);

	if (rc)
		inv_screen_note_node(s->cluster.screen, name, err.text);
	else
		say(s, name, &a);
	inv_autostart_release(&a);
	return inv_exit_of(rc);
}

static int on_nodes(struct autostart *s)
{
	int status = inv_cluster_connect(&s->cluster);
	int rc = inv_cluster_ask(&s->cluster, ask, got, s);

	return status ? status : rc;
}

static int read_case(struct autostart *s)
{
	FILE *f = fopen(s->file, "re");
	uint8_t *w;
	size_t n;
	int bad;

	if (!f) {
		fprintf(stderr, "inviso autostart: %s: %m\n", s->file);
		return INV_EXIT_FAILED;
	}
	w = inv_buf_reserve(&s->text, MAX_BYTES);
	n = w ? fread(w, 1, MAX_BYTES, f) : 0;
	bad = !w || ferror(f);
	fclose(f);
	if (bad) {
		fprintf(stderr, "inviso autostart: %s: cannot be read\n",
			s->file);
		return INV_EXIT_FAILED;
	}
	if (n == MAX_BYTES) {
		fprintf(stderr, "inviso autostart: %s: too large\n", s->file);
		return INV_EXIT_FAILED;
	}
	inv_buf_commit(&s->text, n);
	return INV_EXIT_DONE;
}

static int run(struct autostart *s)
{
	int status = s->file ? read_case(s) : INV_EXIT_DONE;

	if (!status)
		status = inv_cluster_open(&s->cluster, "inviso autostart",
					  &s->nodes, false);
	if (!status) {
		status = on_nodes(s);
		inv_cluster_leave(&s->cluster);
		status = inv_cluster_close(&s->cluster, status);
	}
	inv_buf_release(&s->text);
	return status;
}

/* --- options -------------------------------------------------------------- */

enum {
	OPT_STARTS = 256,
	OPT_LOG,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Options of write:", 5 },
	{ "starts", OPT_STARTS, "N", 0,
	  "trace the next N starts of the node (default: 1), or always", 5 },
	{ "log", OPT_LOG, "FILE", 0,
	  "write the log to FILE on the node (default: " LOG ", in the "
	  "directory in which the node is started)",
	  5 },
	{ NULL, 0, NULL, 0, "Output:", 6 },
	{ "json", 'j', NULL, 0, "print one JSON object for each node", 6 },
	{ "quiet", 'q', NULL, 0, "print only errors", 6 },
	{ 0 },
};

static const char doc[] =
	"Shows or sets what is traced when nodes start. The releases of the "
	"nodes must contain inviso."
	"\v"
	"show prints what will be traced, write makes the nodes run the trace "
	"case CASE when they start, and remove cancels this. CASE is a file "
	"with calls of functions of inviso or inviso_rt; a full stop ends each "
	"call. NAME=VALUE gives a variable its value, an Erlang term; a "
	"variable for a list of nodes needs no value.\n"
	"\n"
	"Examples:\n"
	"  inviso autostart show -n shop@web1,shop@web2\n"
	"  inviso autostart write -n shop@web1 calls.txt Module=shop_cart\n"
	"  inviso autostart remove -n shop@web1\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached, "
	"4 refused.";

static void take_value(struct autostart *s, char *arg, struct argp_state *state)
{
	char *equals = strchr(arg, '=');

	if (!equals || equals == arg)
		argp_error(state, "%s: not NAME=VALUE", arg);
	s->names[s->n_values] = strndup(arg, (size_t)(equals - arg));
	if (!s->names[s->n_values])
		argp_failure(state, INV_EXIT_FAILED, ENOMEM, "%s", arg);
	s->values[s->n_values++] = equals + 1;
}

static void take_arg(struct autostart *s, char *arg, struct argp_state *state)
{
	if (!s->what) {
		if (strcmp(arg, "show") != 0 && strcmp(arg, "write") != 0 &&
		    strcmp(arg, "remove") != 0)
			argp_error(state, "%s: not show, write or remove", arg);
		s->what = arg;
	} else if (strcmp(s->what, "write") != 0) {
		argp_error(state, "%s: nodes are named with -n", arg);
	} else if (!s->file) {
		s->file = arg;
	} else {
		take_value(s, arg, state);
	}
}

static void check(struct autostart *s, struct argp_state *state)
{
	if (!s->what) {
		argp_error(state, "show, write or remove?");
		return;
	}
	inv_node_opts_check(&s->nodes, state);
	if (!strcmp(s->what, "write") && !s->file)
		argp_error(state, "which trace case?");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct autostart *s = state->input;
	uint64_t n;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &s->nodes;
		return 0;
	case OPT_STARTS:
		if (!strcmp(arg, "always"))
			s->starts = INV_STARTS_ALWAYS;
		else if (inv_units_count(arg, &n) || !n || n > 1000000)
			argp_error(state,
				   "--starts %s: not 1 to 1000000, or always",
				   arg);
		else
			s->starts = (int64_t)n;
		return 0;
	case OPT_LOG:
		if (!*arg)
			argp_error(state, "--log: the name is empty");
		s->log = arg;
		return 0;
	case 'j':
		s->json = true;
		return 0;
	case 'q':
		s->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		take_arg(s, arg, state);
		return 0;
	case ARGP_KEY_END:
		check(s, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "show\nwrite CASE [NAME=VALUE...]\nremove",
	.doc = doc,
	.children = inv_node_children,
};

static int exec_autostart(int argc, char **argv)
{
	struct autostart s = { .starts = 1, .log = LOG };
	int status;

	s.names = calloc((size_t)argc, sizeof(*s.names));
	s.values = calloc((size_t)argc, sizeof(*s.values));
	if (!s.names || !s.values) {
		fputs("inviso autostart: no memory\n", stderr);
		status = INV_EXIT_FAILED;
	} else if (argp_parse(&argp, argc, argv, 0, NULL, &s)) {
		status = INV_EXIT_USAGE;
	} else {
		status = run(&s);
	}
	for (size_t i = 0; i < s.n_values; i++)
		free(s.names[i]);
	free(s.names);
	free(s.values);
	inv_node_opts_release(&s.nodes);
	return status;
}

const struct inv_cmd inv_cmd_autostart = {
	.name = "autostart",
	.summary = "trace nodes from their start: show, write, remove",
	.exec = exec_autostart,
};
