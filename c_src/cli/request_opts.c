/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/request_opts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/facts.h"
#include "sink/formats.h"

enum {
	OPT_REQUESTS = 0x600,
	OPT_REQUEST,
	OPT_COMPARE,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0,
	  "Requests (sequential traces) instead of events:", 3 },
	{ "requests", OPT_REQUESTS, NULL, 0,
	  "list the requests: how many processes, nodes and messages each has, "
	  "and how long it took",
	  3 },
	{ "request", OPT_REQUEST, "N", 0,
	  "show request N of the list as a tree: which process received what, "
	  "how long it waited in the mailbox, and how long its handler took",
	  3 },
	{ "compare", OPT_COMPARE, "A B", 0,
	  "show how requests A and B differ: the paths that only one of them "
	  "took, and what took ten times longer",
	  3 },
	{ 0 },
};

static bool set_number(uint64_t *n, const char *text)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	return !errno && *text >= '0' && *text <= '9' && !*end && *n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_request_opts *o = state->input;

	switch (key) {
	case OPT_REQUESTS:
		o->list = true;
		return 0;
	case OPT_REQUEST:
		if (!set_number(&o->ids[0], arg))
			argp_error(state,
				   "--request %s: give the number of a "
				   "request, as --requests lists it",
				   arg);
		o->n = 1;
		return 0;
	case OPT_COMPARE:
		/* The second number of --compare A B is the next word of the
		 * command line. */
		if (state->next >= state->argc ||
		    !set_number(&o->ids[0], arg) ||
		    !set_number(&o->ids[1], state->argv[state->next]) ||
		    o->ids[0] == o->ids[1])
			argp_error(state, "--compare: give the numbers of two "
					  "requests, as --requests lists them: "
					  "--compare 1 7");
		state->next++;
		o->n = 2;
		o->compare = true;
		return 0;
	case ARGP_KEY_END:
		if (o->list && o->n)
			argp_error(state, "give either --requests, or "
					  "--request, or --compare");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp inv_request_argp = { .options = options, .parser = parse };

/* Returns true if the format is a diagram: diagrams show nothing but
 * requests. */
static bool is_diagram(const struct inv_sink_ops *format)
{
	return format == &inv_sink_mermaid || format == &inv_sink_shiviz ||
	       format == &inv_sink_sequence;
}

bool inv_request_opts_active(const struct inv_request_opts *o,
			     const struct inv_sink_ops *format)
{
	return o->list || o->n || is_diagram(format);
}

const struct inv_sink_ops *inv_request_opts_view(
	const struct inv_request_opts *o, const struct inv_sink_ops *format,
	struct inv_sink_opts *sink)
{
	if (is_diagram(format))
		return o->list || o->compare ? NULL : format;
	if (format != &inv_sink_json && format != &inv_sink_text)
		return NULL;
	sink->json = format == &inv_sink_json;
	sink->requests[0] = o->ids[0];
	sink->requests[1] = o->ids[1];
	if (o->compare)
		return &inv_sink_compare;
	return o->list ? &inv_sink_requests : &inv_sink_tree;
}

bool inv_request_opts_wants(struct inv_request_opts *o,
			    const struct inv_item *item)
{
	if (item->kind != INV_ITEM_EVENT)
		return true;
	if (!item->facts || !item->facts->cause)
		return false;
	for (unsigned i = 0; i < o->n; i++) {
		if (item->facts->cause->request != o->ids[i])
			continue;
		o->found[i] = true;
		return true;
	}
	return !o->n;
}

uint64_t inv_request_opts_missing(const struct inv_request_opts *o)
{
	for (unsigned i = 0; i < o->n; i++)
		if (!o->found[i])
			return o->ids[i];
	return 0;
}
