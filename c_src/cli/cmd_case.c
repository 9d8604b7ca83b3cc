/* SPDX-License-Identifier: Apache-2.0 */

/* `inviso case' manages trace cases. A trace case is a file with the command
 * line of a trace that is run often. */

#include <argp.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/casefile.h"
#include "cli/cmd.h"
#include "cli/report.h"
#include "cli/session_name.h"

struct request {
	const char *what; /* the subcommand: list, run or undo */
	const char *dir;  /* the directory to list; NULL: the current
			     directory */
	bool json;
	int argc; /* the arguments after `run' or `undo' */
	char **argv;
};

static int complain(const char *what, const char *text)
{
	fprintf(stderr, "inviso case %s: %s\n", what, text);
	return INV_EXIT_USAGE;
}

/* --- list ----------------------------------------------------------------- */

static void put_text(struct inv_buf *b, const struct inv_casefile *c)
{
	inv_buf_printf(b, "%-16s %s", c->name, c->command);
	for (size_t i = 0; i < c->n_vars; i++) {
		const struct inv_case_var *var = &c->vars[i];

		inv_buf_printf(b, " %s", var->name);
		if (var->otherwise)
			inv_buf_printf(b, "=%s", var->otherwise);
	}
	if (*c->summary)
		inv_buf_printf(b, "\n%17s%s", "", c->summary);
	inv_buf_putc(b, '\n');
}

static void put_json(struct inv_buf *b, const struct inv_casefile *c)
{
	struct inv_json j = { .out = b };

	inv_json_open(&j, NULL, '{');
	inv_json_text(&j, "name", c->name);
	inv_json_text(&j, "file", c->path);
	inv_json_text(&j, "command", c->command);
	inv_json_open(&j, "vars", '[');
	for (size_t i = 0; i < c->n_vars; i++) {
		const struct inv_case_var *var = &c->vars[i];

		inv_json_open(&j, NULL, '{');
		inv_json_text(&j, "name", var->name);
		if (var->otherwise)
			inv_json_text(&j, "default", var->otherwise);
		inv_json_close(&j, '}');
	}
	inv_json_close(&j, ']');
	inv_json_text(&j, "summary", c->summary);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

static int list_file(const char *path, bool json)
{
	struct inv_casefile c = { 0 };
	struct inv_err err = { 0 };
	struct inv_buf b = { 0 };
	int status = INV_EXIT_DONE;

	if (inv_casefile_read(&c, path, &err)) {
		complain("list", err.text);
		status = INV_EXIT_FAILED;
	} else if (json) {
		put_json(&b, &c);
	} else {
		put_text(&b, &c);
	}
	if (b.error || (b.len && fwrite(b.data, 1, b.len, stdout) != b.len))
		status = INV_EXIT_FAILED;
	inv_buf_release(&b);
	inv_casefile_release(&c);
	return status;
}

static int is_case(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return len > 5 && !strcmp(e->d_name + len - 5, ".case");
}

static int list(const struct request *r)
{
	const char *dir = r->dir ? r->dir : ".";
	int status = INV_EXIT_DONE;
	struct dirent **files;
	int n;

	n = scandir(dir, &files, is_case, alphasort);
	if (n < 0) {
		fprintf(stderr, "inviso case list: %s: %m\n", dir);
		return INV_EXIT_FAILED;
	}
	for (int i = 0; i < n; i++) {
		struct inv_buf path = { 0 };

		inv_buf_printf(&path, "%s/%s", dir, files[i]->d_name);
		inv_buf_putc(&path, '\0');
		if (path.error || list_file((const char *)path.data, r->json))
			status = INV_EXIT_FAILED;
		inv_buf_release(&path);
		free(files[i]);
	}
	free(files);
	if (!n) {
		fprintf(stderr, "inviso case list: %s: has no *.case file\n",
			dir);
		status = INV_EXIT_NOTHING;
	}
	return fflush(stdout) ? INV_EXIT_FAILED : status;
}

/* --- run ------------------------------------------------------------------ */

static const struct inv_cmd *command_of(const struct inv_casefile *c)
{
	return !strcmp(c->command, "trace") ? &inv_cmd_trace : &inv_cmd_record;
}

/* Returns true if the recording gets the name of its case, so that `undo' finds
 * it. If the command line has an option --name, that option takes precedence,
 * because it comes later. */
static bool has_name(const struct inv_casefile *c)
{
	return !strcmp(c->command, "record") && inv_session_name_good(c->name);
}

/* Runs the command of the case, trace or record. Its arguments are --name, then
 * the arguments in the case file, and then those of the command line. */
static int run_args(struct inv_casefile *c, const struct request *r,
		    char **args, size_t n)
{
	const struct inv_cmd *cmd = command_of(c);
	char **argv = calloc(n + (size_t)r->argc + 4, sizeof(*argv));
	char name[64], name_option[] = "--name";
	int argc = 0;
	int status;

	if (!argv) {
		complain("run", "no memory");
		return INV_EXIT_FAILED;
	}
	snprintf(name, sizeof(name), "inviso %s", cmd->name);
	argv[argc++] = name;
	if (has_name(c)) {
		argv[argc++] = name_option;
		argv[argc++] = c->name;
	}
	for (size_t i = 0; i < n; i++)
		argv[argc++] = args[i];
	for (int i = 1; i < r->argc; i++)
		if (r->argv[i])
			argv[argc++] = r->argv[i];
	status = cmd->exec(argc, argv);
	free(argv);
	return status;
}

/* Sets the variables from the NAME=VALUE arguments, and removes these
 * arguments. */
static int take_values(struct inv_casefile *c, const struct request *r,
		       struct inv_err *err)
{
	for (int i = 1; i < r->argc; i++) {
		const char *arg = r->argv[i];
		size_t len = strspn(arg, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
					 "0123456789");

		if (!len || arg[len] != '=')
			continue;
		if (inv_casefile_set(c, arg, err))
			return err->code;
		r->argv[i] = NULL;
	}
	return INV_OK;
}

static int run(const struct request *r)
{
	struct inv_casefile c = { 0 };
	struct inv_err err = { 0 };
	char **args = NULL;
	size_t n = 0;
	int status;

	if (!r->argc || *r->argv[0] == '-')
		return complain("run", "which FILE? Write it before "
				       "OPTION and NAME=VALUE");
	if (inv_casefile_read(&c, r->argv[0], &err)) {
		complain("run", err.text);
		status = INV_EXIT_FAILED;
	} else if (take_values(&c, r, &err) ||
		   inv_casefile_args(&c, &args, &n, &err)) {
		status = complain("run", err.text);
	} else {
		status = run_args(&c, r, args, n);
	}
	inv_casefile_args_free(args);
	inv_casefile_release(&c);
	return status;
}

/* --- undo ----------------------------------------------------------------- */

/* Runs `inviso stop' with the name of the case. */
static int undo(const struct request *r)
{
	char program[] = "inviso stop";
	char **argv;
	char *name;
	int argc = 0;
	int status;

	if (!r->argc || *r->argv[0] == '-')
		return complain("undo", "which trace case? Write FILE "
					"before OPTION");
	name = inv_casefile_name(r->argv[0]);
	argv = calloc((size_t)r->argc + 2, sizeof(*argv));
	if (!name || !argv) {
		complain("undo", "no memory");
		free(name);
		free(argv);
		return INV_EXIT_FAILED;
	}
	argv[argc++] = program;
	for (int i = 1; i < r->argc; i++)
		argv[argc++] = r->argv[i];
	argv[argc++] = name;
	status = inv_cmd_stop.exec(argc, argv);
	free(argv);
	free(name);
	return status;
}

/* --- options -------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0,
	  "list: print one JSON object for each trace "
	  "case",
	  0 },
	{ 0 },
};

static const char doc[] =
	"Runs trace cases: files with the arguments of a command, and "
	"variables."
	"\v"
	"list shows the trace cases in DIR (default: the current directory), "
	"files called *.case, each with its variables and their defaults. run "
	"runs FILE on the nodes of -n; OPTION is any option of the command in "
	"FILE (trace or record), and overrides the same option in FILE. undo "
	"ends the recording that FILE began with --detach; OPTION is any "
	"option of `inviso stop'.\n"
	"\n"
	"A file has the arguments of a command, one in each line:\n"
	"\n"
	"\t# What a function is called with, and returns.\n"
	"\trecord\n"
	"\t--for ${TIME:-10m}\n"
	"\t--detach\n"
	"\t$MODULE:${FUNCTION:-_}/_ -> return\n"
	"\n"
	"Examples:\n"
	"  inviso case list cases\n"
	"  inviso case run cases/calls.case -n shop@web1,shop@web2 "
	"MODULE=shop_cart\n"
	"  inviso case undo cases/calls.case -n shop@web1,shop@web2\n"
	"  inviso fetch -n shop@web1,shop@web2 calls\n"
	"\n"
	"Exit status: that of the command that is run; otherwise 0 done, "
	"1 failed, 2 usage, 5 list found no trace case.";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *r = state->input;

	switch (key) {
	case 'j':
		r->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (r->what && r->dir)
			argp_error(state, "one directory at a time");
		if (r->what) {
			r->dir = arg;
			return 0;
		}
		r->what = arg;
		/* After run and undo, all options belong to the command that is
		 * run. */
		if (strcmp(arg, "list") != 0) {
			r->argc = state->argc - state->next;
			r->argv = state->argv + state->next;
			state->next = state->argc;
		}
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "list, run or undo?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "list [DIR]\nrun FILE [OPTION...] [NAME=VALUE...]\n"
		    "undo FILE [OPTION...]",
	.doc = doc,
};

static int exec_case(int argc, char **argv)
{
	struct request r = { 0 };

	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &r))
		return INV_EXIT_USAGE;
	if (!strcmp(r.what, "list"))
		return list(&r);
	if (!strcmp(r.what, "run"))
		return run(&r);
	if (!strcmp(r.what, "undo"))
		return undo(&r);
	return complain(r.what, "not a subcommand; use list, run or undo");
}

const struct inv_cmd inv_cmd_case = {
	.name = "case",
	.summary = "run traces that are described in files: list, run, undo",
	.exec = exec_case,
};
