/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_opts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/filter_opts.h"
#include "cli/record_files.h"
#include "cli/units.h"
#include "match/event_match.h"
#include "term/tree_print.h"

static const struct inv_option numbers[] = { INV_OPTIONS(INV_OPTION_ROW) };

enum {
	OPT_PROCS = 0x2000,
	OPT_SPAWNED,
	OPT_LINKED,
	OPT_FILTER,
	OPT_RECORDS,
	OPT_DRY_RUN,
	OPT_YES,
	OPT_EVENTS,
	OPT_FOR,
	OPT_RATE,
	OPT_BYTES,
	OPT_ARGS,
	OPT_REDACT,
	OPT_MAX_TERM,
	OPT_DEPTH,
	OPT_BUFFER,
	OPT_REMOTE_DIR,
	OPT_RUN_QUEUE,
	OPT_MEMORY,
	OPT_OPEN_CALLS,
};

/*
 * Options that trace, record, seq and count have in common. The headings of
 * their groups are in the tables below, because the commands have different
 * headings.
 */
static const struct argp_option common_options[] = {
	{ "procs", OPT_PROCS, "PROCS", 0,
	  "trace only these processes: all (default), new, existing, <0.1.2>, "
	  "or a registered name; can be repeated",
	  2 },
	{ "spawned", OPT_SPAWNED, NULL, 0,
	  "also trace processes that the traced ones spawn", 2 },
	{ "linked", OPT_LINKED, NULL, 0,
	  "also trace processes that the traced ones link to", 2 },
	{ "dry-run", OPT_DRY_RUN, NULL, 0,
	  "trace nothing: list what matches, and print how many events per "
	  "second to expect",
	  2 },
	{ "yes", OPT_YES, NULL, 0,
	  "trace more than 10000 functions, and modules of kernel and stdlib "
	  "that a wildcard selects",
	  2 },
	{ "for", OPT_FOR, "TIME", 0, "stop after TIME: 500ms, 15s, 2m, 1h", 3 },
	{ "max-run-queue", OPT_RUN_QUEUE, "N", 0,
	  "stop when more than N processes of a node wait to run (64 for each "
	  "scheduler, or four times the number at the start if that is more)",
	  3 },
	{ "max-memory", OPT_MEMORY, "PERCENT", 0,
	  "stop when PERCENT of the memory of a node's machine is in use (95)",
	  3 },
	{ "remote-dir", OPT_REMOTE_DIR, "DIR", 0,
	  "create the private directory for inviso's files in DIR (default: "
	  "the node's choice, usually /tmp)",
	  5 },
	{ 0 },
};

static const struct argp_option filter_options[] = {
	{ "filter", OPT_FILTER, "SPEC", 0,
	  "record only events that match SPEC: a call, such as "
	  "'shop:order(N, _) when N > 9', 'send(cart, {add, _})' or procs, or "
	  "a match spec over the process, the tag and the rest of the trace "
	  "message, such as '[{[_,send,stop,_],[],[]}]'",
	  2 },
	{ 0 },
};

/*
 * The options of commands that record events. The defaults of --events, --for
 * and --bytes differ, so each command's help describes them.
 */
static const struct argp_option event_options[] = {
	{ NULL, 0, NULL, 0, "What is traced:", 2 },
	{ "records", OPT_RECORDS, "FILE", 0,
	  "FILE, a .hrl, .erl or .beam file, defines the records in --filter, "
	  "and those in the output that the node's debug information does not "
	  "have; can be repeated",
	  2 },
	{ NULL, 0, NULL, 0,
	  "Limits; the first that is reached ends tracing (0: no limit):", 3 },
	{ "events", OPT_EVENTS, "N", 0, "stop after N events", 3 },
	{ "rate", OPT_RATE, "N", 0,
	  "stop when a node has more than N events in a second", 3 },
	{ "bytes", OPT_BYTES, "SIZE", 0,
	  "stop when a node's log reaches SIZE: 64k, 256M, 1G", 3 },
	{ NULL, 0, NULL, 0, "What is recorded of an event:", 4 },
	{ "args", OPT_ARGS, "WHICH", 0,
	  "all (default), or none: record calls as m:f/1, without arguments "
	  "and results, and messages without their contents; this costs the "
	  "traced processes least",
	  4 },
	{ "redact", OPT_REDACT, "RULES", 0,
	  INV_REDACT_HELP
	  " such as password and authorization, which are always redacted "
	  "unless a rule is none; on the node a mark replaces these values",
	  4 },
	{ "max-term", OPT_MAX_TERM, "SIZE", 0,
	  "cut terms at SIZE bytes (4k, at most 16M), and mark the cut; beyond "
	  "1M only binaries may be larger",
	  4 },
	{ "depth", OPT_DEPTH, "N", 0, "cut terms at N levels of nesting (32)",
	  4 },
	{ "buffer", OPT_BUFFER, "SIZE", 0,
	  "use SIZE bytes of shared memory on a node", 4 },
	{ NULL, 0, NULL, 0, "On the nodes:", 5 },
	{ "open-calls", OPT_OPEN_CALLS, "N", 0,
	  "record no more returns of a function when a process has N traced "
	  "calls that have not returned, because each takes stack (1000; 0: no "
	  "limit)",
	  5 },
	{ 0 },
};

/* Headings for `count', which records no events. */
static const struct argp_option count_options[] = {
	{ NULL, 0, NULL, 0, "What is counted:", 2 },
	{ NULL, 0, NULL, 0,
	  "Limits; the first that is reached ends counting (0: no limit):", 3 },
	{ NULL, 0, NULL, 0, "On the nodes:", 5 },
	{ 0 },
};

static const struct argp_option flame_options[] = {
	{ NULL, 0, NULL, 0, "Calls, if there is a SPEC:", 2 },
	{ NULL, 0, NULL, 0,
	  "Limits; the first that is reached ends it (0: no limit):", 3 },
	{ NULL, 0, NULL, 0, "On the nodes:", 5 },
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

static void args(struct argp_state *state, const char *arg,
		 struct inv_trace_opts *o)
{
	o->no_args = !strcmp(arg, "none");
	if (!o->no_args && strcmp(arg, "all") != 0)
		argp_error(state, "--args %s: not one of all and none", arg);
}

static void at_most(struct argp_state *state, const char *option,
		    const char *arg, uint64_t n, enum inv_option_name name)
{
	uint64_t most = numbers[name].most;

	if (most > INT64_MAX)
		most = INT64_MAX;
	if (n > most)
		argp_error(state, "%s %s: at most %" PRIu64, option, arg, most);
}

/* Parses the value of --max-run-queue or --max-memory; 0 means off. */
static void protection(struct argp_state *state, const char *option,
		       const char *arg, enum inv_option_name name, int64_t *n)
{
	uint64_t value;

	count(state, option, arg, &value);
	at_most(state, option, arg, value, name);
	*n = (int64_t)value;
}

static void max_term(struct argp_state *state, const char *arg, uint64_t *n)
{
	const struct inv_option *o = &numbers[INV_OPT_MAX_TERM_BYTES];

	bytes(state, "--max-term", arg, n);
	if (*n < o->least || *n > o->most)
		argp_error(state,
			   "--max-term %s: from %" PRIu64 " bytes to %" PRIu64
			   "M",
			   arg, o->least, o->most / 1048576);
}

static void depth(struct argp_state *state, const char *arg, uint64_t *n)
{
	const struct inv_option *o = &numbers[INV_OPT_MAX_DEPTH];

	count(state, "--depth", arg, n);
	if (*n < o->least || *n > o->most)
		argp_error(state, "--depth %s: from %" PRIu64 " to %" PRIu64,
			   arg, o->least, o->most);
}

/*
 * Compiles the filter, so that its errors are reported; every node compiles it
 * again. Only the command knows the definitions of --records. If there are any,
 * the nodes get the match spec that was made with them, instead of the text.
 */
static void check_filter(struct inv_trace_opts *o, struct argp_state *state)
{
	const struct inv_print_opts print = { .style = INV_PRINT_W };
	struct inv_event_match m;
	struct inv_err err = { 0 };
	struct inv_buf text = { 0 };
	int rc = inv_event_match_select(&m, o->filter, &o->records, &err);

	if (!rc && o->records.first && (m.module_glob[0] || m.function_glob[0]))
		rc = inv_err_set(&err, INV_EINVAL,
				 "it cannot have a wildcard if --records is "
				 "given: write the wildcard as SPEC");
	if (rc)
		argp_error(state, "--filter: %s", err.text);
	inv_filter_odd_tag(state, m.odd);
	if (!rc && o->records.first) {
		rc = inv_tree_print(m.source, &text, &print);
		inv_buf_putc(&text, 0);
		if (!rc && !text.error)
			o->filter = o->made = strdup((char *)text.data);
		inv_buf_release(&text);
	}
	inv_event_match_release(&m);
}

/* Reads the rules when all options are known, because --records can come after
 * --redact. The well-known keys are added first, so that a rule `none' removes
 * them. */
static void check_redact(struct inv_trace_opts *o, struct argp_state *state)
{
	struct inv_err err = { 0 };
	int rc = inv_redact_opts_add(&o->redact, "default", NULL, &err);

	for (unsigned i = 0; !rc && i < o->n_redact_args; i++)
		rc = inv_redact_opts_add(&o->redact, o->redact_args[i],
					 &o->records, &err);
	if (!rc && inv_redact_opts_end(&o->redact))
		rc = inv_err_set(&err, INV_ENOMEM, "no memory");
	if (rc)
		argp_error(state, "--redact: %s", err.text);
}

/* Detects an unquoted "->": the shell takes the > for a redirection, and the
 * argument ends with "-". */
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

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct inv_trace_opts *o = state->input;

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
	case OPT_DRY_RUN:
		o->dry_run = true;
		return 0;
	case OPT_YES:
		o->yes = true;
		return 0;
	case OPT_FOR:
		if (inv_units_ms(arg, &o->ms) ||
		    o->ms > numbers[INV_OPT_LIMIT_MS].most)
			argp_error(state, "--for %s: not " INV_UNITS_MS_HELP,
				   arg);
		o->ms_given = true;
		return 0;
	case OPT_RUN_QUEUE:
		protection(state, "--max-run-queue", arg, INV_OPT_RUN_QUEUE,
			   &o->run_queue);
		return 0;
	case OPT_MEMORY:
		protection(state, "--max-memory", arg, INV_OPT_MEMORY_PERCENT,
			   &o->memory_percent);
		return 0;
	case OPT_REMOTE_DIR:
		if (*arg != '/')
			argp_error(state,
				   "--remote-dir %s: not an absolute path of a "
				   "directory on the node",
				   arg);
		o->remote_dir = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (!*arg)
			argp_error(state, "a SPEC is empty");
		check_arrow(o, arg, state);
		o->specs[o->n_specs++] = arg;
		return 0;
	case ARGP_KEY_END:
		/* Redaction also applies to `count', because its log contains
		 * names of processes. */
		check_redact(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_event(int key, char *arg, struct argp_state *state)
{
	struct inv_trace_opts *o = state->input;
	struct inv_err err = { 0 };

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		return 0;
	case OPT_RECORDS:
		if (inv_record_file_load(&o->records, arg, &err))
			argp_error(state, "%s", err.text);
		return 0;
	case OPT_EVENTS:
		count(state, "--events", arg, &o->events);
		at_most(state, "--events", arg, o->events,
			INV_OPT_LIMIT_EVENTS);
		return 0;
	case OPT_RATE:
		count(state, "--rate", arg, &o->rate);
		at_most(state, "--rate", arg, o->rate, INV_OPT_LIMIT_RATE);
		return 0;
	case OPT_BYTES:
		bytes(state, "--bytes", arg, &o->bytes);
		at_most(state, "--bytes", arg, o->bytes, INV_OPT_LIMIT_BYTES);
		return 0;
	case OPT_ARGS:
		args(state, arg, o);
		return 0;
	case OPT_REDACT:
		o->redact_args[o->n_redact_args++] = arg;
		return 0;
	case OPT_MAX_TERM:
		max_term(state, arg, &o->max_term);
		return 0;
	case OPT_DEPTH:
		depth(state, arg, &o->depth);
		return 0;
	case OPT_BUFFER:
		bytes(state, "--buffer", arg, &o->buffer);
		at_most(state, "--buffer", arg, o->buffer,
			INV_OPT_BUFFER_BYTES);
		return 0;
	case OPT_OPEN_CALLS:
		protection(state, "--open-calls", arg, INV_OPT_OPEN_CALLS,
			   &o->open_calls);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_filter(int key, char *arg, struct argp_state *state)
{
	struct inv_trace_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		return 0;
	case OPT_FILTER:
		o->filter = arg;
		return 0;
	case ARGP_KEY_END:
		if (o->filter)
			check_filter(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp common_argp = { .options = common_options,
					 .parser = parse_common };

static const struct argp_child children[] = {
	{ &common_argp, 0, NULL, 0 },
	{ 0 },
};

const struct argp inv_trace_unfiltered_argp = {
	.options = event_options,
	.parser = parse_event,
	.children = children,
};

static const struct argp_child unfiltered[] = {
	{ &inv_trace_unfiltered_argp, 0, NULL, 0 },
	{ 0 },
};

const struct argp inv_trace_argp = {
	.options = filter_options,
	.parser = parse_filter,
	.children = unfiltered,
};

/* There is no parser here, so argp passes the input to the child. */
const struct argp inv_count_argp = {
	.options = count_options,
	.children = children,
};

const struct argp inv_flame_argp = {
	.options = flame_options,
	.children = children,
};

bool inv_trace_opts_init(struct inv_trace_opts *o, int argc)
{
	o->specs = calloc((size_t)argc + 1, sizeof(*o->specs));
	o->procs = calloc((size_t)argc + 1, sizeof(*o->procs));
	o->redact_args = calloc((size_t)argc + 1, sizeof(*o->redact_args));
	o->run_queue = INV_UNSET;
	o->memory_percent = INV_UNSET;
	o->open_calls = INV_UNSET;
	return o->specs && o->procs && o->redact_args;
}

void inv_trace_opts_release(struct inv_trace_opts *o)
{
	free(o->specs);
	free(o->procs);
	free(o->made);
	free(o->redact_args);
	inv_redact_opts_release(&o->redact);
	inv_records_release(&o->records);
}

static int64_t or_unset(uint64_t n)
{
	return n ? (int64_t)n : INV_UNSET;
}

void inv_trace_opts_session(const struct inv_trace_opts *o,
			    struct inv_session_opts *out)
{
	int64_t *number = out->number;

	inv_session_opts_init(out);
	out->specs = (struct inv_strings){ o->specs, o->n_specs };
	out->procs = (struct inv_strings){ o->procs, o->n_procs };
	out->spawned = o->spawned;
	out->linked = o->linked;
	out->dry_run = o->dry_run;
	out->yes = o->yes;
	out->filter = o->filter;
	out->redact = (struct inv_strings){ o->redact.rules, o->redact.n };
	out->payload = o->no_args ? "none" : NULL;
	number[INV_OPT_LIMIT_EVENTS] = or_unset(o->events);
	number[INV_OPT_LIMIT_MS] = or_unset(o->ms);
	number[INV_OPT_LIMIT_RATE] = or_unset(o->rate);
	number[INV_OPT_LIMIT_BYTES] = or_unset(o->bytes);
	number[INV_OPT_MAX_TERM_BYTES] = or_unset(o->max_term);
	number[INV_OPT_MAX_DEPTH] = or_unset(o->depth);
	number[INV_OPT_BUFFER_BYTES] = or_unset(o->buffer);
	number[INV_OPT_RUN_QUEUE] = o->run_queue;
	number[INV_OPT_MEMORY_PERCENT] = o->memory_percent;
	number[INV_OPT_OPEN_CALLS] = o->open_calls;
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* Skips a quoted text, a quote as character literal ($" or ?"), or one byte. */
static const char *next_of_spec(const char *p)
{
	char quote = *p++;

	if (quote == '$' || quote == '?')
		return p + (p[0] == '\\' ? 1 + is_quote(p[1]) : is_quote(p[0]));
	if (!is_quote(quote))
		return p;
	for (; *p && *p != quote; p++)
		if (p[0] == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

static bool has_action(const char *p)
{
	for (; *p; p = next_of_spec(p))
		if (!strncmp(p, "->", 2) || !strncmp(p, "::", 2))
			return true;
	return false;
}

bool inv_trace_opts_has_actions(const struct inv_trace_opts *o)
{
	for (unsigned i = 0; i < o->n_specs; i++)
		if (has_action(o->specs[i]))
			return true;
	return false;
}
