/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/program.h"

#include <argp.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"
#include "cli/cleanup.h"
#include "cli/helper.h"

/* The commands of this program; NULL ends the list. */
static const struct inv_cmd *const *commands;

static const struct inv_cmd *find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static int unknown(const char *name)
{
	fprintf(stderr,
		"inviso: '%s' is not a command; `inviso --help` lists them\n",
		name);
	return INV_EXIT_USAGE;
}

static char *help_filter(int key, const char *text, void *input)
{
	char *out = NULL;
	size_t len = 0;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)(uintptr_t)text;
	f = open_memstream(&out, &len);
	if (!f)
		return NULL;
	fprintf(f, "Commands:\n");
	for (size_t i = 0; commands[i]; i++)
		fprintf(f, "  %-10s %s\n", commands[i]->name,
			commands[i]->summary);
	fprintf(f, "\n`inviso help COMMAND` or `inviso COMMAND --help` "
		   "describes each.");
	if (fclose(f)) {
		free(out);
		return NULL;
	}
	return out;
}

static int first, n_args;

static void print_version(void)
{
	printf("inviso %s\n", INV_VERSION);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case 'V':
		print_version();
		exit(INV_EXIT_DONE);
	case ARGP_KEY_ARG:
		first = state->next - 1;
		n_args = state->argc - first;
		state->next = state->argc; /* argp skips the other arguments;
					      they belong to the command */
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_state_help(state, stderr,
				ARGP_HELP_STD_ERR | ARGP_HELP_POST_DOC);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "version", 'V', NULL, 0, "print the version", -1 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "COMMAND [ARGUMENT...]",
	.doc = "Traces live Erlang nodes, and merges their logs."
	       "\vCommands",
	.help_filter = help_filter,
};

/*
 * Opens descriptors 0 to 2 if they are closed, so that connections do not get
 * these numbers. Descriptor 0 is opened only for writing, 1 and 2 only for
 * reading, so that using them fails.
 */
static void fill_closed(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

static int exec_cmd(const struct inv_cmd *cmd, int argc, char **argv)
{
	char name[64];

	if (cmd->helper)
		return inv_helper_exec(cmd->helper, cmd->name, argc, argv);
	snprintf(name, sizeof(name), "inviso %s", cmd->name);
	argv[0] = name;
	return cmd->exec(argc, argv);
}

/* Handles `inviso help [COMMAND]'. */
static int help(int argc, char **argv)
{
	char name[] = "inviso";
	char option[] = "--help";
	char *with[] = { name, option, NULL };
	const struct inv_cmd *cmd;

	/* argp prints the help and ends the program. */
	if (argc < 2 || argv[1][0] == '-' || !strcmp(argv[1], "help"))
		return (int)argp_parse(&argp, 2, with, 0, NULL, NULL);
	cmd = find(argv[1]);
	return cmd ? exec_cmd(cmd, 2, with) : unknown(argv[1]);
}

int inv_program_run(const struct inv_cmd *const *cmds, int argc, char **argv)
{
	const struct inv_cmd *cmd;

	commands = cmds;
	fill_closed();
	/* Without these signals, a failed write returns an error, and the
	 * command can clean up. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	inv_cleanup_init();
	argp_err_exit_status = INV_EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, NULL))
		return INV_EXIT_USAGE;
	if (!strcmp(argv[first], "help"))
		return help(n_args, argv + first);
	if (!strcmp(argv[first], "version")) {
		print_version();
		return INV_EXIT_DONE;
	}
	cmd = find(argv[first]);
	return cmd ? exec_cmd(cmd, n_args, argv + first) : unknown(argv[first]);
}
