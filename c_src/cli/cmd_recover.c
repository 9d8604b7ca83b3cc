/* SPDX-License-Identifier: Apache-2.0 */

/* inviso recover: makes a log from the ring file of a dead node and spooler. */

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cmd.h"
#include "log/item.h"
#include "spool/recover.h"

struct args {
	const char *ring;
	const char *out;
	int json;
	bool force;
};

static const struct argp_option options[] = {
	{ "output", 'o', "LOG", 0,
	  "write a new file LOG, instead of continuing the log that the node "
	  "was writing",
	  0 },
	{ "json", 'j', NULL, 0, "print the summary as JSON", 0 },
	{ "force", 'f', NULL, 0,
	  "treat the node as dead, though it ran in another pid namespace, "
	  "which hides it from here",
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
	.doc = "Writes the events that are left in a ring file into a log, "
	       "after the node and its spooler died together."
	       "\vThe command continues the log that the node was writing. "
	       "Running it twice is harmless: no event is written twice.",
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
			printf("  %-12s %" PRIu64 "\n", inv_lost_text(i),
			       done->dropped[i]);
}

static int print_json(const struct inv_recovered *done)
{
	struct inv_buf b = { 0 };
	struct inv_json j = { .out = &b };
	int rc;

	inv_json_open(&j, NULL, '{');
	inv_json_text(&j, "node", done->node);
	inv_json_text(&j, "log", done->path);
	inv_json_uint(&j, "recovered", done->n_events);
	inv_json_uint(&j, "produced", done->produced);
	inv_json_uint(&j, "recorded", done->recorded);
	inv_json_open(&j, "dropped", '{');
	for (unsigned i = 0; i < INV_LOSS_COUNT; i++)
		if (done->dropped[i])
			inv_json_uint(&j, inv_lost_text(i), done->dropped[i]);
	inv_json_close(&j, '}');
	inv_json_close(&j, '}');
	inv_json_line(&j);
	rc = b.error;
	if (!rc)
		fwrite(b.data, 1, b.len, stdout);
	inv_buf_release(&b);
	return rc;
}

static int no_memory(const char *name)
{
	fprintf(stderr, "%s: no memory\n", name);
	return INV_EXIT_FAILED;
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
	if (!a.json)
		print_text(&done);
	else if (print_json(&done))
		return no_memory(argv[0]);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "%s: write the summary: %s\n", argv[0],
			strerror(errno));
		return INV_EXIT_FAILED;
	}
	return lost(&done) ? INV_EXIT_LOST : INV_EXIT_DONE;
}

const struct inv_cmd inv_cmd_recover = {
	.name = "recover",
	.summary = "make a log from the ring file of a dead node",
	.exec = recover,
};
