/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_opts.h"

#include <stdlib.h>
#include <string.h>

#include "cli/filter_opts.h"
#include "cli/units.h"
#include "match/event_match.h"

/* What inviso_tracer:open/2 takes.  A packet holds eight of the longest terms,
 * so those that are longer than usual need larger packets. */
#define TERM_MIN 16
#define TERM_MAX 65536
#define TERM_USUAL 8192
#define PACKET_UNIT 4096
#define DEPTH_MAX 128

enum {
	OPT_PROCS = 0x2000,
	OPT_SPAWNED,
	OPT_LINKED,
	OPT_FILTER,
	OPT_DRY_RUN,
	OPT_EVENTS,
	OPT_FOR,
	OPT_RATE,
	OPT_BYTES,
	OPT_MAX_TERM,
	OPT_DEPTH,
	OPT_BUFFER,
	OPT_REMOTE_DIR,
	OPT_RUN_QUEUE,
	OPT_MEMORY,
};

/* What the command's own help says of the defaults of --events, --for and
 * --bytes. */
static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What is traced:", 2 },
	{ "procs", OPT_PROCS, "PROCS", 0,
	  "of these processes: all (default), new, existing, <0.1.2>, or a "
	  "registered name; may be given several times",
	  2 },
	{ "spawned", OPT_SPAWNED, NULL, 0,
	  "also of processes that these will spawn", 2 },
	{ "linked", OPT_LINKED, NULL, 0,
	  "also of processes that these will link to", 2 },
	{ "filter", OPT_FILTER, "SPEC", 0,
	  "of all these events only those that a match spec matches, whose "
	  "arguments are the process, the tag and what follows: "
	  "'[{[_,send,stop,_],[],[]}]'; or calls, written like "
	  "'shop:order(N, _) when N > 9'",
	  2 },
	{ "dry-run", OPT_DRY_RUN, NULL, 0,
	  "trace nothing: say what it matches, and how many events a second "
	  "to expect",
	  2 },
	{ NULL, 0, NULL, 0,
	  "Limits, of which the first ends it (0: none):", 3 },
	{ "events", OPT_EVENTS, "N", 0, "so many events", 3 },
	{ "for", OPT_FOR, "TIME", 0, "so long: 500ms, 15s, 2m, 1h", 3 },
	{ "rate", OPT_RATE, "N", 0,
	  "more events than this within a second, of a node", 3 },
	{ "bytes", OPT_BYTES, "SIZE", 0,
	  "a log of so many bytes on a node: 64k, 256M, 1G", 3 },
	{ "max-run-queue", OPT_RUN_QUEUE, "N", 0,
	  "a node where so many processes wait to be run (64 for each "
	  "scheduler, or four times what it was)",
	  3 },
	{ "max-memory", OPT_MEMORY, "PERCENT", 0,
	  "a machine with so much of its memory in use (95)", 3 },
	{ NULL, 0, NULL, 0, "What is recorded of an event:", 4 },
	{ "max-term", OPT_MAX_TERM, "SIZE", 0,
	  "bytes of a term (4k, at most 64k); the rest is left out, and said "
	  "to be",
	  4 },
	{ "depth", OPT_DEPTH, "N", 0, "levels of nested terms (32)", 4 },
	{ "buffer", OPT_BUFFER, "SIZE", 0,
	  "shared memory on a node, for all its threads", 4 },
	{ NULL, 0, NULL, 0, "On the nodes:", 5 },
	{ "remote-dir", OPT_REMOTE_DIR, "DIR", 0,
	  "where to make the private directory for what is needed there "
	  "(default: the node's own choice, usually /tmp)",
	  5 },
	{ 0 },
};

static void count(struct argp_state *state, const char *option, const char *arg,
		  uint64_t *n)
{
	if (inv_units_count(arg, n))
		argp_error(state, "%s %s: not " INV_UNITS_COUNT_HELP, option,
			   arg);
}

static void bytes(struct argp_state *state, const char *option, const char *arg,
		  uint64_t *n)
{
	if (inv_units_bytes(arg, n))
		argp_error(state, "%s %s: not " INV_UNITS_BYTES_HELP, option,
			   arg);
}

/* `0' is off. */
static void protection(struct argp_state *state, const char *option,
		       const char *arg, uint64_t max, int64_t *n)
{
	uint64_t value;

	count(state, option, arg, &value);
	if (value > max)
		argp_error(state, "%s %s: at most %u", option, arg,
			   (unsigned)max);
	*n = (int64_t)value;
}

/* Compiled here for its errors alone: every node compiles it for itself. */
static void check_filter(struct argp_state *state, const char *arg)
{
	struct inv_event_match m;
	struct inv_err err;

	if (inv_event_match_text(&m, arg, &err))
		argp_error(state, "--filter: %s", err.text);
	inv_filter_odd_tag(state, m.odd);
	inv_event_match_release(&m);
}

/* What a shell leaves of an arrow: it takes the > for itself. */
static void check_arrow(const struct inv_trace_opts *o, const char *arg,
			struct argp_state *state)
{
	int len = (int)strlen(arg) - 1;

	if (arg[len] != '-')
		return;
	if (len == 0 && o->n_specs > 0) {
		arg = o->specs[o->n_specs - 1];
		len = (int)strlen(arg);
	}
	argp_error(state,
		   "the shell took the > of -> and wrote to a file: quote the "
		   "SPEC: '%.*s -> ...'",
		   len, arg);
}

static error_t parse_what(struct inv_trace_opts *o, int key, char *arg,
			  struct argp_state *state)
{
	switch (key) {
	case OPT_PROCS:
		if (!*arg)
			argp_error(state, "--procs: the name is empty");
		o->procs[o->n_procs++] = arg;
		return 0;
	case OPT_SPAWNED:
		o->spawned = true;
		return 0;
	case OPT_LINKED:
		o->linked = true;
		return 0;
	case OPT_FILTER:
		check_filter(state, arg);
		o->filter = arg;
		return 0;
	case OPT_DRY_RUN:
		o->dry_run = true;
		return 0;
	case OPT_MAX_TERM:
		bytes(state, "--max-term", arg, &o->max_term);
		if (o->max_term < TERM_MIN || o->max_term > TERM_MAX)
			argp_error(state, "--max-term %s: from %d bytes to %dk",
				   arg, TERM_MIN, TERM_MAX / 1024);
		return 0;
	case OPT_DEPTH:
		count(state, "--depth", arg, &o->depth);
		if (!o->depth || o->depth > DEPTH_MAX)
			argp_error(state, "--depth %s: from 1 to %d", arg,
				   DEPTH_MAX);
		return 0;
	case OPT_BUFFER:
		bytes(state, "--buffer", arg, &o->buffer);
		return 0;
	case OPT_REMOTE_DIR:
		if (*arg != '/')
			argp_error(state,
				   "--remote-dir %s: a directory of the node, "
				   "which begins with /",
				   arg);
		o->remote_dir = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (!*arg)
			argp_error(state, "a SPEC is empty");
		check_arrow(o, arg, state);
		o->specs[o->n_specs++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_trace_opts *o = state->input;

	switch (key) {
	case OPT_EVENTS:
		count(state, "--events", arg, &o->events);
		return 0;
	case OPT_FOR:
		if (inv_units_ms(arg, &o->ms) || o->ms > UINT32_MAX)
			argp_error(state, "--for %s: not " INV_UNITS_MS_HELP,
				   arg);
		o->ms_given = true;
		return 0;
	case OPT_RATE:
		count(state, "--rate", arg, &o->rate);
		return 0;
	case OPT_BYTES:
		bytes(state, "--bytes", arg, &o->bytes);
		return 0;
	case OPT_RUN_QUEUE:
		protection(state, "--max-run-queue", arg, 1000000,
			   &o->run_queue);
		return 0;
	case OPT_MEMORY:
		protection(state, "--max-memory", arg, 100, &o->memory_percent);
		return 0;
	default:
		return parse_what(o, key, arg, state);
	}
}

const struct argp inv_trace_argp = { .options = options, .parser = parse };

bool inv_trace_opts_init(struct inv_trace_opts *o, int argc)
{
	o->specs = calloc((size_t)argc + 1, sizeof(*o->specs));
	o->procs = calloc((size_t)argc + 1, sizeof(*o->procs));
	o->run_queue = -1;
	o->memory_percent = -1;
	return o->specs && o->procs;
}

void inv_trace_opts_release(struct inv_trace_opts *o)
{
	free(o->specs);
	free(o->procs);
}

static int64_t packet_bytes(uint64_t max_term)
{
	uint64_t units = (8 * max_term + PACKET_UNIT - 1) / PACKET_UNIT;

	return max_term > TERM_USUAL ? (int64_t)(units * PACKET_UNIT) :
				       INV_UNSET;
}

static int64_t or_unset(uint64_t n)
{
	return n ? (int64_t)n : INV_UNSET;
}

void inv_trace_opts_session(const struct inv_trace_opts *o,
			    struct inv_session_opts *out)
{
	out->specs = (struct inv_strings){ o->specs, o->n_specs };
	out->procs = (struct inv_strings){ o->procs, o->n_procs };
	out->spawned = o->spawned;
	out->linked = o->linked;
	out->dry_run = o->dry_run;
	out->filter = o->filter;
	out->events = (int64_t)o->events;
	out->for_ms = (int64_t)o->ms;
	out->rate = (int64_t)o->rate;
	out->bytes = (int64_t)o->bytes;
	out->max_term_bytes = or_unset(o->max_term);
	out->packet_bytes = packet_bytes(o->max_term);
	out->max_depth = or_unset(o->depth);
	out->buffer_bytes = or_unset(o->buffer);
	out->run_queue = o->run_queue;
	out->memory_percent = o->memory_percent;
}

bool inv_trace_opts_count(const struct inv_trace_opts *o)
{
	for (unsigned i = 0; i < o->n_specs; i++)
		if (strstr(o->specs[i], "->"))
			return true;
	return false;
}
