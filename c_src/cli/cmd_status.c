/* SPDX-License-Identifier: Apache-2.0 */

/* inviso status: what is traced on nodes, and by whom. */

#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cmd.h"
#include "cli/facts.h"
#include "cli/units.h"
#include "node/node_status.h"

struct status {
	struct inv_node_opts nodes;
	bool json;
	struct inv_cluster cluster;
};

/* --- text ----------------------------------------------------------------- */

static void put_since(struct inv_buf *b, int64_t since)
{
	time_t t = (time_t)since;
	char text[64];
	struct tm tm;

	if (!localtime_r(&t, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(text, sizeof(text), "%" PRId64, since);
	inv_buf_puts(b, text);
}

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
		if (s->ms_left >= 0 && (s->state == INV_STATE_ARMING ||
					s->state == INV_STATE_TRACING)) {
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

	inv_buf_printf(b, "  %-24s %s, %s, since ", s->name,
		       inv_facts_state(s->state), s->mode);
	put_since(b, s->since);
	inv_buf_printf(b, "\n    owner   %s\n    specs  ", s->owner);
	for (size_t i = 0; i < s->specs.n; i++)
		inv_buf_printf(b, " %s", s->specs.v[i]);
	if (*s->filter)
		inv_buf_printf(b, "\n    filter  %s", s->filter);
	inv_buf_puts(b, "\n    limits  ");
	put_limits(b, s);
	inv_buf_puts(b, "\n    so far  ");
	inv_facts_put_counts(b, &m);
	inv_buf_puts(b, ", ");
	inv_units_put_bytes(b, s->log_bytes);
	if (*s->log)
		inv_buf_printf(b, "\n    log     %s", s->log);
	if (s->why != INV_WHY_NONE) {
		inv_buf_puts(b, "\n    stopped ");
		inv_facts_put_why(b, &m);
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

static void json_texts(struct inv_buf *b, const char *name,
		       const struct inv_texts *list)
{
	inv_buf_printf(b, ",\"%s\":[", name);
	for (size_t i = 0; i < list->n; i++) {
		if (i)
			inv_buf_putc(b, ',');
		inv_facts_json_text(b, list->v[i]);
	}
	inv_buf_putc(b, ']');
}

static void put_json(struct inv_buf *b, const char *node,
		     const struct inv_node_status *s)
{
	inv_buf_puts(b, "{\"node\":");
	inv_facts_json_text(b, node);
	inv_buf_puts(b, ",\"otp\":");
	inv_facts_json_text(b, s->otp);
	inv_buf_printf(b, ",\"os_pid\":%" PRId64 ",\"sessions\":[", s->os_pid);
	for (size_t i = 0; i < s->n_sessions; i++) {
		inv_buf_puts(b, i ? ",{" : "{");
		inv_facts_json_status(b, &s->sessions[i]);
		inv_buf_putc(b, '}');
	}
	inv_buf_putc(b, ']');
	json_texts(b, "attached", &s->clients);
	json_texts(b, "others", &s->others);
	inv_buf_puts(b, "}\n");
}

/* --- the work ------------------------------------------------------------- */

/* We are attached, too. */
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
		put_json(&b, name, &status);
	else
		put_text(&b, name, &status);
	if (!b.error)
		inv_screen_out(s->cluster.screen, b.data, b.len);
	inv_buf_release(&b);
	inv_node_status_release(&status);
	return inv_exit_of(rc);
}

static int show(struct status *s)
{
	int status = inv_cluster_join(&s->cluster);
	int rc = inv_cluster_ask(&s->cluster, ask_status, got_status, s);

	return status ? status : rc;
}

static int run(struct status *s)
{
	int status = inv_cluster_open(&s->cluster, "inviso status", &s->nodes,
				      false);

	if (status)
		return status;
	status = show(s);
	inv_cluster_leave(&s->cluster);
	return inv_cluster_close(&s->cluster, status);
}

/* --- options -------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Output:", 5 },
	{ "json", 'j', NULL, 0, "print JSON, an object a node", 5 },
	{ 0 },
};

static const char doc[] =
	"Shows of each node its OTP release, the sessions of inviso on it, "
	"with their owners, limits, events and losses, and who else traces "
	"there."
	"\v"
	"Examples:\n"
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
	case ARGP_KEY_ARG:
		argp_error(state, "%s: nodes are named with -n", arg);
		return 0;
	case ARGP_KEY_END:
		inv_node_opts_check(&s->nodes, state);
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
	.summary = "what is traced on nodes, and by whom",
	.exec = exec_status,
};
