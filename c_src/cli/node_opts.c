/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/node_opts.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/units.h"

#define TIMEOUT_MS 30000
#define TIMEOUT_MAX_MS 3600000 /* fits where milliseconds are an int */

enum {
	OPT_COOKIE_FILE = 0x1000,
	OPT_TIMEOUT,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Nodes:", 1 },
	{ "node", 'n', "NODE", 0,
	  "a node, name@host, or name for one on this machine; may be given "
	  "several times, or NODE,NODE; `all': also every node that these are "
	  "connected to",
	  1 },
	{ "cookie", 'c', "COOKIE", 0,
	  "their cookie; others on this machine can see it: better in "
	  "INVISO_COOKIE or a file",
	  1 },
	{ "cookie-file", OPT_COOKIE_FILE, "FILE", 0,
	  "the file that has it (default: INVISO_COOKIE, or "
	  "~/.erlang.cookie)",
	  1 },
	{ "timeout", OPT_TIMEOUT, "TIME", 0,
	  "for connecting to a node, and for an answer of it (30s)", 1 },
	{ 0 },
};

/* `a,all,b': the names, and the word that is none. */
static int add(struct inv_node_opts *o, const char *text, struct inv_err *err)
{
	char *copy = strdup(text);
	char *rest = copy;
	char *name;
	int rc = 0;

	if (!copy)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	while (!rc && (name = strsep(&rest, ","))) {
		if (!strcmp(name, "all"))
			o->all = true;
		else
			rc = inv_node_names_add(&o->names, name, err);
	}
	free(copy);
	return rc;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_node_opts *o = state->input;
	struct inv_err err = { 0 };

	switch (key) {
	case ARGP_KEY_INIT:
		o->timeout_ms = TIMEOUT_MS;
		return 0;
	case 'n':
		if (add(o, arg, &err))
			argp_error(state, "-n %s: %s", arg, err.text);
		return 0;
	case 'c':
		o->cookie = arg;
		return 0;
	case OPT_COOKIE_FILE:
		o->cookie_file = arg;
		return 0;
	case OPT_TIMEOUT:
		if (inv_units_ms(arg, &o->timeout_ms) || !o->timeout_ms ||
		    o->timeout_ms > TIMEOUT_MAX_MS)
			argp_error(state,
				   "--timeout %s: not " INV_UNITS_MS_HELP, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp inv_node_argp = { .options = options, .parser = parse };

const struct argp_child inv_node_children[] = {
	{ &inv_node_argp, 0, NULL, 0 },
	{ 0 },
};

void inv_node_opts_release(struct inv_node_opts *o)
{
	inv_node_names_release(&o->names);
}

void inv_node_opts_check(const struct inv_node_opts *o,
			 struct argp_state *state)
{
	if (o->names.n)
		return;
	if (o->all)
		argp_error(state, "-n all: name one of the nodes, too: "
				  "-n NODE -n all");
	else
		argp_error(state, "no node is named: -n NODE");
}
