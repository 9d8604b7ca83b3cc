/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/seq_opts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "cli/units.h"

enum {
	OPT_REQUESTS = 0x5000,
	OPT_SAMPLE,
	OPT_LABEL,
	OPT_CALLS,
	OPT_RAW_LABEL,
	OPT_RESET,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Requests:", 1 },
	{ "requests", OPT_REQUESTS, "N", 0,
	  "begin at most N requests on a node (0: no limit)", 1 },
	{ "sample", OPT_SAMPLE, "1/N", 0, "begin one in N of the requests", 1 },
	{ "label", OPT_LABEL, "VARIABLE", 0,
	  "name a request by the value of this variable of the SPEC; can be "
	  "repeated",
	  1 },
	{ "calls", OPT_CALLS, "SPEC", 0,
	  "also record calls of these functions, and their returns, but only "
	  "within requests; can be repeated",
	  1 },
	{ "raw-label", OPT_RAW_LABEL, "N", 0,
	  "give all tokens the label N, for programs that compare it, as with "
	  "seq_trace:print/2 (default: a number that no program uses)",
	  1 },
	{ "reset-all-tokens", OPT_RESET, NULL, 0,
	  "at the end remove the tokens of all processes, also those of other "
	  "tools (seq_trace:reset_trace/0)",
	  1 },
	{ 0 },
};

static void count(struct argp_state *state, const char *option, const char *arg,
		  uint64_t most, uint64_t *n)
{
	if (inv_units_count(arg, n) || *n > most)
		argp_error(state, "%s %s: not a number up to %llu", option, arg,
			   (unsigned long long)most);
}

static void sample(struct argp_state *state, const char *arg, uint64_t *n)
{
	if (strncmp(arg, "1/", 2) != 0 || inv_units_count(arg + 2, n) || !*n ||
	    *n > UINT32_MAX)
		argp_error(state, "--sample %s: not a part such as 1/100", arg);
}

/* The most variables whose values the node can show as labels (VALUE_MAX in
 * c_src/nif/starts.c, without the two other elements of the value). */
#define LABELS_MAX 62u

static unsigned n_labels(const char *names)
{
	unsigned n = 1;

	while ((names = strchr(names, ',')) != NULL) {
		names++;
		n++;
	}
	return n;
}

/* Appends a name to o->label, after a comma. */
static error_t add_label(struct inv_seq_opts *o, const char *name)
{
	size_t len = o->label ? strlen(o->label) : 0;
	size_t added = strlen(name) + 1;
	char *more = realloc(o->label, len + added + 1);

	if (!more)
		return ENOMEM;
	if (len)
		more[len++] = ',';
	memcpy(more + len, name, added);
	o->label = more;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_seq_opts *o = state->input;
	uint64_t n = 0;

	if (key >= OPT_REQUESTS && key <= OPT_RESET)
		o->any = true;
	switch (key) {
	case OPT_REQUESTS:
		count(state, "--requests", arg, UINT32_MAX, &o->requests);
		return 0;
	case OPT_SAMPLE:
		sample(state, arg, &o->one_in);
		return 0;
	case OPT_LABEL:
		if (!*arg)
			argp_error(state, "--label: the name is empty");
		if (add_label(o, arg))
			return ENOMEM;
		if (n_labels(o->label) > LABELS_MAX)
			argp_error(state, "--label: at most %u variables",
				   LABELS_MAX);
		return 0;
	case OPT_CALLS:
		if (!*arg)
			argp_error(state, "--calls: the SPEC is empty");
		o->calls[o->n_calls++] = arg;
		return 0;
	case OPT_RAW_LABEL:
		count(state, "--raw-label", arg, INV_SEQ_LABEL_LAST, &n);
		o->raw_label = (int64_t)n;
		return 0;
	case OPT_RESET:
		o->reset = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp inv_seq_argp = { .options = options, .parser = parse };

bool inv_seq_opts_init(struct inv_seq_opts *o, int argc)
{
	o->calls = calloc((size_t)argc + 1, sizeof(*o->calls));
	o->raw_label = INV_UNSET;
	return o->calls;
}

void inv_seq_opts_release(struct inv_seq_opts *o)
{
	free(o->calls);
	free(o->label);
}

void inv_seq_opts_check(const struct inv_trace_opts *what,
			struct argp_state *state)
{
	if (what->filter)
		argp_error(state,
			   "--filter: events of requests are not filtered on "
			   "the nodes, because those that follow from them "
			   "would lose their cause; use `inviso merge "
			   "--filter'");
}

/* Returns a label that other sessions and programs probably do not use. */
static int64_t new_label(void)
{
	uint32_t n;

	if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
		n = (uint32_t)inv_real_ns();
	return INV_SEQ_LABEL_FIRST +
	       n % (INV_SEQ_LABEL_LAST - INV_SEQ_LABEL_FIRST + 1);
}

void inv_seq_opts_session(struct inv_seq_opts *o, struct inv_session_seq *out)
{
	*out = (struct inv_session_seq){
		.label = o->raw_label != INV_UNSET ? o->raw_label : new_label(),
		.requests = o->requests,
		.one_in = o->one_in ? o->one_in : 1,
		.variable = o->label,
		.calls = { o->calls, o->n_calls },
		.reset = o->reset,
	};
}
