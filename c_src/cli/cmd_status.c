/* SPDX-License-Identifier: Apache-2.0 */

/* inviso status: shows sessions on nodes, and tracing by other tools. */

#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/left.h"
#include "cli/report.h"
#include "cli/units.h"
#include "node/node_status.h"

struct status {
	struct inv_node_opts nodes;
	bool json;
	const char *remote_dir;
	struct inv_lefts left;
	struct inv_cluster cluster;
};

/* --- text ----------------------------------------------------------------- */

static void put_limits(struct inv_buf *b, const struct inv_status *s)
{
	const char *sep = "";

	if (s->limit_events > 0) {
		inv_buf_printf(b, "%" PRId64 " events", s->limit_events);
		sep = ", ";
	}
	if (s->limit_ms > 0) {
		inv_buf_puts(b, sep);
		inv_units_put_ms(b, (uint64_t)s->limit_ms);
		if (s->ms_left >= 0 && inv_status_runs(s)) {
			inv_buf_puts(b, " (");
			inv_units_put_ms(b, (uint64_t)s->ms_left);
			inv_buf_puts(b, " left)");
		}
		sep = ", ";
	}
	if (s->limit_bytes > 0) {
		inv_buf_puts(b, sep);
		inv_units_put_bytes(b, (uint64_t)s->limit_bytes);
		sep = ", ";
	}
	if (s->limit_rate > 0) {
		inv_buf_printf(b, "%s%" PRId64 " events/s", sep, s->limit_rate);
		sep = ", ";
	}
	if (!*sep)
		inv_buf_puts(b, "none");
}

static void put_session(struct inv_buf *b, const struct inv_status *s)
{
	struct inv_member m = { .status = *s };

	inv_buf_printf(b, "  %-24s %s, %s, since ", s->name, s->state, s->mode);
	inv_left_put_time(b, s->since);
	inv_buf_printf(b, "\n    owner   %s\n    specs  ", s->owner);
	for (size_t i = 0; i < s->specs.n; i++)
		inv_buf_printf(b, " %s", s->specs.v[i]);
	if (*s->filter)
		inv_buf_printf(b, "\n    filter  %s", s->filter);
	inv_buf_puts(b, "\n    limits  ");
	put_limits(b, s);
	inv_buf_puts(b, "\n    so far  ");
	inv_report_put_counts(b, &m);
	inv_buf_puts(b, ", ");
	inv_units_put_bytes(b, s->log_bytes);
	if (*s->log)
		inv_buf_printf(b, "\n    log     %s", s->log);
	if (inv_status_has_why(s)) {
		inv_buf_puts(b, "\n    stopped ");
		inv_report_put_why(b, &m);
	}
	for (size_t i = 0; i < s->notes.n; i++)
		inv_buf_printf(b, "\n    note    %s", s->notes.v[i]);
	inv_buf_putc(b, '\n');
}

static void put_list(struct inv_buf *b, const char *what,
		     const struct inv_texts *list)
{
	for (size_t i = 0; i < list->n; i++)
		inv_buf_printf(b, "  %s %s\n", what, list->v[i]);
}

static void put_text(struct inv_buf *b, const char *node,
		     const struct inv_node_status *s)
{
	inv_buf_printf(b, "%s: OTP %s", node, s->otp);
	if (s->os_pid > 0)
		inv_buf_printf(b, ", os pid %" PRId64, s->os_pid);
	if (!s->n_sessions)
		inv_buf_puts(b, ", no sessions");
	else
		inv_buf_printf(b, ", %zu session%s", s->n_sessions,
			       s->n_sessions == 1 ? "" : "s");
	inv_buf_putc(b, '\n');
	for (size_t i = 0; i < s->n_sessions; i++)
		put_session(b, &s->sessions[i]);
	put_list(b, "attached:", &s->clients);
	put_list(b, "other tracing:", &s->others);
}

/* --- JSON ----------------------------------------------------------------- */

static void json_left(struct inv_json *j, const char *node,
		      const struct inv_lefts *left)
{
	inv_json_open(j, "left", '[');
	for (size_t i = 0; i < left->n; i++)
		if (!strcmp(left->v[i].node, node))
			inv_left_put_json(j, NULL, &left->v[i]);
	inv_json_close(j, ']');
}

static void put_json(struct inv_buf *b, const char *node,
		     const struct inv_node_status *s,
		     const struct inv_lefts *left)
{
	struct inv_json j = { .out = b };

	inv_json_open(&j, NULL, '{');
	inv_json_text(&j, "node", node);
	inv_json_bool(&j, "running", true);
	inv_json_text(&j, "otp", s->otp);
	inv_json_int(&j, "os_pid", s->os_pid);
	inv_json_open(&j, "sessions", '[');
	for (size_t i = 0; i < s->n_sessions; i++) {
		inv_json_open(&j, NULL, '{');
		inv_report_json_status(&j, &s->sessions[i]);
		inv_json_close(&j, '}');
	}
	inv_json_close(&j, ']');
	inv_report_json_texts(&j, "attached", &s->clients);
	inv_report_json_texts(&j, "others", &s->others);
	json_left(&j, node, left);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

/* Writes the JSON object of a node that has not sent a status: the node did not
 * answer, or the command did not ask it. */
static void put_left_json(struct inv_buf *b, const char *node, bool gone,
			  const struct inv_lefts *left)
{
	static const struct inv_texts none;
	struct inv_json j = { .out = b };

	inv_json_open(&j, NULL, '{');
	inv_json_text(&j, "node", node);
	if (gone)
		inv_json_bool(&j, "running", false);
	else
		inv_json_null(&j, "running");
	inv_report_json_texts(&j, "sessions", &none);
	inv_report_json_texts(&j, "attached", &none);
	inv_report_json_texts(&j, "others", &none);
	json_left(&j, node, left);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

/* --- recordings of dead nodes --------------------------------------------- */

static bool is_answered(const struct status *s, const struct inv_left *l)
{
	for (size_t i = 0; i < s->cluster.n; i++)
		if (!s->cluster.v[i].code &&
		    !strcmp(inv_cluster_name(&s->cluster, i), l->node))
			return true;
	return false;
}

/* Returns true if the node certainly does not run. */
static bool is_gone(const struct status *s, const struct inv_left *l)
{
	const struct inv_cluster *c = &s->cluster;

	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].code == INV_ENONODE &&
		    inv_left_is_of(l, inv_conn_name(c->v[i].conn)))
			return true;
	return false;
}

/*
 * Returns true if the recording is to be shown. If every requested node has
 * answered, only recordings from earlier runs of these nodes are shown;
 * otherwise all recordings are.
 */
static bool is_wanted(const struct status *s, const struct inv_left *l)
{
	bool all = s->cluster.n == 0;

	for (size_t i = 0; i < s->cluster.n; i++)
		all |= s->cluster.v[i].code != 0;
	return all || is_answered(s, l);
}

static bool is_first_of_node(const struct status *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(s->left.v[k].node, s->left.v[i].node))
			return false;
	return true;
}

static void put_left(struct status *s, struct inv_buf *b)
{
	bool any = false;

	for (size_t i = 0; i < s->left.n; i++) {
		const struct inv_left *l = &s->left.v[i];

		if (!is_wanted(s, l))
			continue;
		if (s->json) {
			if (is_first_of_node(s, i) && !is_answered(s, l))
				put_left_json(b, l->node, is_gone(s, l),
					      &s->left);
			continue;
		}
		if (!any)
			inv_buf_puts(b, "recordings of nodes that have died on "
					"this machine:\n");
		any = true;
		inv_left_put_text(b, l, &s->left);
	}
}

/* --- the work ------------------------------------------------------------- */

/* Removes this command from the list of clients. */
static void leave_out(struct inv_texts *list, const char *text)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->v[i], text) != 0)
			list->v[kept++] = list->v[i];
		else
			free(list->v[i]);
	}
	list->n = kept;
}

static void ask_status(void *arg, struct inv_ask *out, struct inv_conn *conn)
{
	const struct status *s = arg;

	inv_node_status_ask(out, conn, inv_cluster_ms(&s->cluster));
}

static int got_status(void *arg, size_t i, const struct inv_ask *ask)
{
	struct status *s = arg;
	const char *name = inv_cluster_name(&s->cluster, i);
	struct inv_node_status status = { 0 };
	struct inv_err err = { 0 };
	struct inv_buf b = { 0 };
	int rc = inv_node_status_got(ask, &status, &err);

	leave_out(&status.clients, s->cluster.owner);
	if (rc)
		inv_screen_note_node(s->cluster.screen, name, err.text);
	else if (s->json)
		put_json(&b, name, &status, &s->left);
	else
		put_text(&b, name, &status);
	inv_screen_put(s->cluster.screen, &b);
	inv_node_status_release(&status);
	return inv_exit_of(rc);
}

static int show(struct status *s)
{
	int status = inv_cluster_join(&s->cluster);
	int rc = inv_cluster_ask(&s->cluster, ask_status, got_status, s);

	return status ? status : rc;
}

static void show_left(struct status *s)
{
	struct inv_buf b = { 0 };

	put_left(s, &b);
	if (!b.len && !s->json && !inv_node_opts_given(&s->nodes))
		inv_buf_puts(&b, "no dead node left a recording on this "
				 "machine; for running nodes: inviso status -n "
				 "NODE\n");
	inv_screen_put(s->cluster.screen, &b);
}

/* If no node is given, shows only the recordings on this machine. */
static int run(struct status *s)
{
	int status = inv_cluster_open(&s->cluster, "inviso status", &s->nodes,
				      false);

	if (status)
		return status;
	if (inv_lefts_find(&s->left, s->remote_dir)) {
		inv_screen_note(s->cluster.screen, "no memory");
		status = INV_EXIT_FAILED;
	} else {
		if (inv_node_opts_given(&s->nodes))
			status = show(s);
		show_left(s);
	}
	inv_cluster_leave(&s->cluster);
	inv_lefts_release(&s->left);
	return inv_cluster_close(&s->cluster, status);
}

/* --- options -------------------------------------------------------------- */

enum {
	OPT_REMOTE_DIR = 256,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Recordings of dead nodes:", 4 },
	{ "remote-dir", OPT_REMOTE_DIR, "DIR", 0,
	  "also look for them in DIR (default: only TMPDIR, /tmp and /var/tmp)",
	  4 },
	{ NULL, 0, NULL, 0, "Output:", 5 },
	{ "json", 'j', NULL, 0, "print one JSON object for each node", 5 },
	{ 0 },
};

static const char doc[] =
	"Shows for each node its OTP release, other tracers, and the sessions "
	"of inviso with their owners, limits, events and losses. Also lists "
	"recordings that dead nodes left on this machine: with -n only those "
	"of the named nodes, if all of these can be reached."
	"\v"
	"Examples:\n"
	"  inviso status\n"
	"  inviso status -n shop@web1 -n all\n"
	"  inviso status -n shop@web1 --json | jq '.sessions[].name'\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached, "
	"4 refused.";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct status *s = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &s->nodes;
		return 0;
	case 'j':
		s->json = true;
		return 0;
	case OPT_REMOTE_DIR:
		s->remote_dir = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: nodes are named with -n", arg);
		return 0;
	case ARGP_KEY_END:
		inv_tls_args_check(&s->nodes.tls, state);
		if (s->nodes.all || s->nodes.has_at || s->nodes.n_dns ||
		    inv_tls_args_given(&s->nodes.tls))
			inv_node_opts_check_given(&s->nodes, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = doc,
	.children = inv_node_children,
};

static int exec_status(int argc, char **argv)
{
	struct status s = { 0 };
	int status;

	if (argp_parse(&argp, argc, argv, 0, NULL, &s))
		status = INV_EXIT_USAGE;
	else
		status = run(&s);
	inv_node_opts_release(&s.nodes);
	return status;
}

const struct inv_cmd inv_cmd_status = {
	.name = "status",
	.summary = "show sessions on nodes, and other tracers",
	.exec = exec_status,
};
