/* SPDX-License-Identifier: Apache-2.0 */

/* inviso recover: a log out of a ring file whose node and spooler are dead. */

#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmd.h"
#include "spool/recover.h"

struct args {
	const char *ring;
	const char *out;
	int json;
	bool force;
};

static const struct argp_option options[] = {
	{ "output", 'o', "LOG", 0,
	  "write a new file, instead of going on "
	  "with the log that the node was writing",
	  0 },
	{ "json", 'j', NULL, 0, "print the summary as JSON", 0 },
	{ "force", 'f', NULL, 0,
	  "the node is dead, though that cannot be seen from here: it ran in "
	  "another pid namespace",
	  0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'o':
		a->out = arg;
		return 0;
	case 'j':
		a->json = 1;
		return 0;
	case 'f':
		a->force = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->ring)
			argp_error(state, "one ring file at a time");
		a->ring = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which ring file?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "RINGFILE",
	.doc = "Puts what is left in a ring file into a log, after the node "
	       "and its spooler died together."
	       "\vThe log that the node was writing is continued where it "
	       "ended. Doing it again does no harm: what is in the log is "
	       "not put there twice.",
};

static const char *const loss_names[] = {
#define LOSS_NAME(name, number, text) [number] = text,
	INV_LOSSES(LOSS_NAME)
#undef LOSS_NAME
};

static uint64_t lost(const struct inv_recovered *done)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < INV_LOSS_COUNT; i++)
		sum += done->dropped[i];
	return sum;
}

static void print_text(const struct inv_recovered *done)
{
	unsigned i;

	printf("%s: %" PRIu64 " events recovered to %s\n", done->node,
	       done->n_events, done->path);
	printf("in all: %" PRIu64 " produced, %" PRIu64 " recorded, %" PRIu64
	       " lost\n",
	       done->produced, done->recorded, lost(done));
	for (i = 0; i < INV_LOSS_COUNT; i++)
		if (done->dropped[i])
			printf("  %-12s %" PRIu64 "\n", loss_names[i],
			       done->dropped[i]);
}

static void print_json_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_json(const struct inv_recovered *done)
{
	const char *sep = "";
	unsigned i;

	printf("{\"node\":");
	print_json_text(done->node);
	printf(",\"log\":");
	print_json_text(done->path);
	printf(",\"recovered\":%" PRIu64 ",\"produced\":%" PRIu64
	       ",\"recorded\":%" PRIu64 ",\"dropped\":{",
	       done->n_events, done->produced, done->recorded);
	for (i = 0; i < INV_LOSS_COUNT; i++) {
		if (!done->dropped[i])
			continue;
		printf("%s\"%s\":%" PRIu64, sep, loss_names[i],
		       done->dropped[i]);
		sep = ",";
	}
	printf("}}\n");
}

static int recover(int argc, char **argv)
{
	struct args a = { 0 };
	struct inv_recovered done;
	struct inv_err err = { 0 };

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return INV_EXIT_USAGE;
	if (inv_recover(a.ring, a.out, a.force, &done, &err) < 0) {
		fprintf(stderr, "%s: %s\n", argv[0], err.text);
		return INV_EXIT_FAILED;
	}
	if (a.json)
		print_json(&done);
	else
		print_text(&done);
	if (fflush(stdout) || ferror(stdout))
		return INV_EXIT_FAILED;
	return lost(&done) ? INV_EXIT_LOST : INV_EXIT_DONE;
}

const struct inv_cmd inv_cmd_recover = {
	.name = "recover",
	.summary = "a log out of the ring file of a dead node",
	.exec = recover,
};
