/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/node_opts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/shell_word.h"
#include "cli/units.h"

#define TIMEOUT_MS 30000
#define TIMEOUT_MAX_MS 3600000 /* an hour; no node needs longer */

enum {
	OPT_COOKIE_FILE = 0x1000,
	OPT_TIMEOUT,
	OPT_AT,
	OPT_DNS,
	OPT_SKIP,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Nodes:", 1 },
	{ "node", 'n', "NODE", 0,
	  "use this node: name@host, or name for a node on this machine; can "
	  "be repeated, or NODE,NODE; `all' adds every node that the named "
	  "nodes are connected to; name@host:PORT for a node without epmd "
	  "(default, but not of `inviso status': INVISO_NODE, or RELEASE_NODE, "
	  "which a release's script sets)",
	  1 },
	{ "dns", OPT_DNS, "[APP@]NAME[:PORT]", 0,
	  "use the nodes at every address of NAME, which DNS knows, such as a "
	  "headless service: all that epmd knows there, or those called "
	  "APP@..., or the one on PORT; can be repeated",
	  1 },
	{ "at", OPT_AT, "HOST:PORT", 0,
	  "connect to this address instead of the host in the node's name, for "
	  "example to a forwarded port; only if one node is named",
	  1 },
	{ "skip-unreachable", OPT_SKIP, NULL, 0,
	  "continue without nodes that cannot be reached; at least one must be "
	  "reached",
	  1 },
	{ "cookie", 'c', "COOKIE", 0,
	  "use this cookie; other users of this machine can see it, so prefer "
	  "INVISO_COOKIE or --cookie-file",
	  1 },
	{ "cookie-file", OPT_COOKIE_FILE, "FILE", 0,
	  "read the cookie from FILE (default: INVISO_COOKIE, RELEASE_COOKIE, "
	  "or ~/.erlang.cookie)",
	  1 },
	{ "timeout", OPT_TIMEOUT, "TIME", 0,
	  "wait at most TIME to connect to a node, and for each of its answers "
	  "(30s)",
	  1 },
	{ 0 },
};

/* Adds the names in `a,all,b'. "all" is not a name: it sets o->all. */
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

static int add_dns(struct inv_node_opts *o, const char *text,
		   struct inv_err *err)
{
	struct inv_dns *more = realloc(o->dns, (o->n_dns + 1) * sizeof(*more));

	if (!more)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	o->dns = more;
	return inv_dns_parse(&more[o->n_dns++], text, err);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_node_opts *o = state->input;
	struct inv_err err = { 0 };

	switch (key) {
	case ARGP_KEY_INIT:
		o->timeout_ms = TIMEOUT_MS;
		state->child_inputs[0] = &o->tls;
		return 0;
	case 'n':
		if (add(o, arg, &err))
			argp_error(state, "-n %s: %s", arg, err.text);
		return 0;
	case OPT_DNS:
		if (add_dns(o, arg, &err))
			argp_error(state, "--dns %s: %s", arg, err.text);
		return 0;
	case OPT_AT:
		if (inv_node_at_parse(&o->at, arg, &err))
			argp_error(state, "--at %s: %s", arg, err.text);
		o->has_at = true;
		return 0;
	case OPT_SKIP:
		o->skip = true;
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

static const struct argp_child children[] = {
	{ &inv_tls_argp, 0, NULL, 2 },
	{ 0 },
};

const struct argp inv_node_argp = {
	.options = options,
	.parser = parse,
	.children = children,
};

const struct argp_child inv_node_children[] = {
	{ &inv_node_argp, 0, NULL, 0 },
	{ 0 },
};

/* Appends " OPTION [alive@]host[:port]". */
static void put_target(struct inv_buf *out, const char *option,
		       const char *alive, const char *host, unsigned port)
{
	char word[3 * INV_NODE_NAME_MAX];
	char ports[16] = "";
	bool brackets = port && strchr(host, ':');

	if (port)
		snprintf(ports, sizeof(ports), ":%u", port);
	snprintf(word, sizeof(word), "%s%s%s%s%s%s", alive, alive[0] ? "@" : "",
		 brackets ? "[" : "", host, brackets ? "]" : "", ports);
	inv_buf_printf(out, " %s ", option);
	inv_shell_word_put(out, word);
}

void inv_node_opts_put(const struct inv_node_name *name, struct inv_buf *out)
{
	if (!name->service[0])
		put_target(out, "-n", name->alive, name->host, name->port);
}

void inv_node_opts_put_rest(const struct inv_node_opts *o, struct inv_buf *out)
{
	for (size_t i = 0; i < o->n_dns; i++)
		put_target(out, "--dns", o->dns[i].alive, o->dns[i].name,
			   o->dns[i].port);
	if (o->has_at)
		put_target(out, "--at", "", o->at.host, o->at.port);
	inv_tls_args_put(&o->tls, out);
}

void inv_node_opts_release(struct inv_node_opts *o)
{
	inv_node_names_release(&o->names);
	free(o->dns);
	inv_tls_args_release(&o->tls);
}

bool inv_node_opts_given(const struct inv_node_opts *o)
{
	return o->names.n > 0 || o->n_dns > 0;
}

static void check_at(const struct inv_node_opts *o, struct argp_state *state)
{
	if (o->names.n != 1 || o->all || o->n_dns)
		argp_error(state, "--at HOST:PORT is the address of one node: "
				  "give exactly one -n NODE, and neither "
				  "-n all nor --dns");
	if (o->names.names[0].port)
		argp_error(state,
			   "--at has the port of the node: -n %s without :%u",
			   o->names.names[0].full, o->names.names[0].port);
}

/* If --dns is given, refuses names without a host: a node with such a name
 * could be on this machine, or be one of the nodes of --dns. */
static void check_dns(const struct inv_node_opts *o, struct argp_state *state)
{
	for (size_t i = 0; i < o->names.n; i++) {
		const struct inv_node_name *name = &o->names.names[i];

		if (name->any_host)
			argp_error(state,
				   "-n %s is a node of this machine; to select "
				   "nodes of --dns: --dns %s@%s (for the node "
				   "of this machine: -n %s)",
				   name->alive, name->alive, o->dns[0].name,
				   name->full);
	}
}

/* Checks that each --plain names a node: if a --plain is misspelt, the command
 * would use TLS for the node that the user meant. With -n all and --dns the
 * nodes are not known yet, so nothing is checked. */
static void check_plain(const struct inv_node_opts *o, struct argp_state *state)
{
	const struct inv_node_names *plain = &o->tls.plain;

	for (size_t i = 0; !o->all && !o->n_dns && i < plain->n; i++)
		if (!inv_node_names_have(&o->names, plain->names[i].full))
			argp_error(state,
				   "--plain %s: this node is not among those "
				   "of -n",
				   plain->names[i].full);
}

/* Adds the nodes of INVISO_NODE. Its value has the form of a value of -n:
 * several names, or all. */
static void take_env(struct inv_node_opts *o, struct argp_state *state)
{
	// NOLINTNEXTLINE(concurrency-mt-unsafe)
	const char *names = getenv("INVISO_NODE");
	struct inv_err err = { 0 };

	if (names && names[0] && add(o, names, &err))
		argp_error(state, "INVISO_NODE: %s", err.text);
}

/*
 * The script of an Elixir release sets RELEASE_NODE and RELEASE_DISTRIBUTION
 * for the programs that it runs. If the name in RELEASE_NODE has no host, the
 * node is on this machine, whether RELEASE_DISTRIBUTION is sname or name.
 */
static void take_release(struct inv_node_opts *o, struct argp_state *state)
{
	// NOLINTBEGIN(concurrency-mt-unsafe)
	const char *name = getenv("RELEASE_NODE");
	const char *how = getenv("RELEASE_DISTRIBUTION");
	// NOLINTEND(concurrency-mt-unsafe)
	struct inv_err err = { 0 };

	if (!name || !name[0])
		return;
	if (how && !strcmp(how, "none"))
		argp_error(state, "no node is given, and the release of "
				  "RELEASE_NODE has no distribution "
				  "(RELEASE_DISTRIBUTION=none): use -n NODE");
	if (inv_node_names_add(&o->names, name, &err))
		argp_error(state, "RELEASE_NODE: %s", err.text);
	o->from_release = true;
}

static void check(struct inv_node_opts *o, struct argp_state *state,
		  const char *also)
{
	if (o->has_at)
		check_at(o, state);
	if (o->n_dns)
		check_dns(o, state);
	inv_tls_args_check(&o->tls, state);
	check_plain(o, state);
	if (inv_node_opts_given(o))
		return;
	if (o->all)
		argp_error(state, "-n all: name one of the nodes as well: "
				  "-n NODE -n all");
	else
		argp_error(state, "no node is given: use -n NODE%s", also);
}

void inv_node_opts_check(struct inv_node_opts *o, struct argp_state *state)
{
	if (!inv_node_opts_given(o))
		take_env(o, state);
	if (!inv_node_opts_given(o))
		take_release(o, state);
	check(o, state, ", or set INVISO_NODE");
}

void inv_node_opts_check_given(struct inv_node_opts *o,
			       struct argp_state *state)
{
	check(o, state, "");
}
