/* SPDX-License-Identifier: Apache-2.0 */

/* inviso stop: ends recordings. */

#include <argp.h>
#include <stdbool.h>

#include "cli/cmd.h"
#include "cli/members.h"
#include "cli/report.h"
#include "cli/session_name.h"

struct stop {
	struct inv_node_opts nodes;
	const char *name;
	bool remove;
	bool json;
	bool quiet;
	struct inv_cluster cluster;
	struct inv_members members;
};

static void say(struct stop *s)
{
	struct inv_buf b = { 0 };

	for (size_t i = 0; i < s->members.n; i++) {
		const struct inv_member *m = &s->members.v[i];

		if (m->code || !m->final)
			continue;
		if (s->json) {
			struct inv_json j = { .out = &b };

			inv_json_open(&j, NULL, '{');
			inv_report_json_member(&j, m);
			inv_json_close(&j, '}');
		} else {
			inv_buf_printf(&b, "%s: ", m->name);
			inv_report_put_counts(&b, m);
			inv_buf_puts(&b, "; ");
			inv_report_put_why(&b, m);
		}
		inv_buf_putc(&b, '\n');
	}
	if (!s->remove && !s->json && b.len) {
		inv_buf_puts(&b, "next: inviso fetch");
		for (size_t i = 0; i < s->members.n; i++)
			if (s->members.v[i].there)
				inv_members_put_target(&s->members, i, &b);
		inv_node_opts_put_rest(&s->nodes, &b);
		inv_buf_printf(&b, " %s\n", s->name);
	}
	if (!b.error && !s->quiet)
		inv_screen_out(s->cluster.screen, b.data, b.len);
	inv_buf_release(&b);
}

/* Returns the exit status. A recording that a protection had stopped before
 * this command counts as done. */
static int stop_exit(const struct inv_members *ms)
{
	int status = inv_members_exit(ms);

	return status == INV_EXIT_PROTECTED ? INV_EXIT_DONE : status;
}

static int stop(struct stop *s)
{
	int unreachable = inv_cluster_join(&s->cluster);
	int status;

	if (s->cluster.stopped || !s->cluster.n)
		return unreachable;
	status = inv_members_init(&s->members, &s->cluster);
	if (!status && s->members.n)
		status = inv_members_find(&s->members, s->name);
	if (!status && s->members.n) {
		inv_members_clocks(&s->members);
		inv_members_stop(&s->members);
		say(s);
		if (s->remove)
			inv_members_remove(&s->members);
		status = stop_exit(&s->members);
	}
	return unreachable ? unreachable : status;
}

static int run(struct stop *s)
{
	int status =
		inv_cluster_open(&s->cluster, "inviso stop", &s->nodes, false);

	if (status)
		return status;
	status = stop(s);
	inv_cluster_leave(&s->cluster);
	inv_members_release(&s->members);
	return inv_cluster_close(&s->cluster, status);
}

/* --- options -------------------------------------------------------------- */

enum {
	OPT_REMOVE = 256,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "The logs:", 5 },
	{ "remove", OPT_REMOVE, NULL, 0,
	  "remove the logs from the nodes (default: keep them for `inviso "
	  "fetch')",
	  5 },
	{ "json", 'j', NULL, 0, "print one JSON object for each node", 5 },
	{ "quiet", 'q', NULL, 0, "print only errors", 5 },
	{ 0 },
};

static const char doc[] =
	"Ends the recording NAME on nodes, even if another user began it."
	"\v"
	"Examples:\n"
	"  inviso stop -n shop@web1,shop@web2 night\n"
	"  inviso stop -n shop@web1 -n all --remove night\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached, "
	"4 refused, 5 there is no such recording on any node, 7 done, but "
	"events were lost.";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stop *s = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &s->nodes;
		return 0;
	case OPT_REMOVE:
		s->remove = true;
		return 0;
	case 'j':
		s->json = true;
		return 0;
	case 'q':
		s->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		inv_session_name_take(&s->name, arg, state);
		return 0;
	case ARGP_KEY_END:
		inv_node_opts_check(&s->nodes, state);
		inv_session_name_need(s->name, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "NAME",
	.doc = doc,
	.children = inv_node_children,
};

static int exec_stop(int argc, char **argv)
{
	struct stop s = { 0 };
	int status;

	if (argp_parse(&argp, argc, argv, 0, NULL, &s))
		status = INV_EXIT_USAGE;
	else
		status = run(&s);
	inv_node_opts_release(&s.nodes);
	return status;
}

const struct inv_cmd inv_cmd_stop = {
	.name = "stop",
	.summary = "end a recording",
	.exec = exec_stop,
};
