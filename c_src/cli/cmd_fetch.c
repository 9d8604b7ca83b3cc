/* SPDX-License-Identifier: Apache-2.0 */

/* inviso fetch: gets the logs of a recording that was left running. */

#include <argp.h>
#include <stdbool.h>

#include "cli/cmd.h"
#include "cli/getting.h"
#include "cli/members.h"
#include "cli/session_name.h"

struct fetch {
	struct inv_node_opts nodes;
	const char *name;
	const char *dir; /* NULL: the name */
	bool stop;
	bool keep;
	bool json;
	bool quiet;
	struct inv_cluster cluster;
	struct inv_members members;
	struct inv_getting getting;
};

static void say(struct fetch *f)
{
	struct inv_buf b = { 0 };

	if (f->quiet)
		return;
	if (f->json)
		inv_getting_put_json(&f->getting, &f->members, &b);
	else
		inv_getting_put_text(&f->getting, &f->members, &b);
	if (!b.error)
		inv_screen_out(f->cluster.screen, b.data, b.len);
	inv_buf_release(&b);
}

/* Those that still record are not disturbed, unless it was asked for. */
static bool over(struct fetch *f)
{
	bool all = true;

	inv_members_status(&f->members);
	for (size_t i = 0; i < f->members.n; i++) {
		const struct inv_member *m = &f->members.v[i];

		if (!m->there || m->status.state == INV_STATE_STOPPED ||
		    m->status.state == INV_STATE_FAILED)
			continue;
		inv_screen_note(f->cluster.screen,
				"%s: %s still runs; wait, or --stop ends it",
				m->name, f->name);
		all = false;
	}
	return all;
}

/* What was got is not needed there any more. */
static void remove_got(struct fetch *f)
{
	for (size_t i = 0; i < f->members.n; i++)
		if (f->members.v[i].code)
			f->members.v[i].there = false;
	inv_members_remove(&f->members);
}

static int get(struct fetch *f)
{
	int status = inv_members_find(&f->members, f->name);

	if (status)
		return status;
	if (f->stop)
		inv_members_stop(&f->members);
	else if (!over(f))
		return INV_EXIT_FAILED;
	if (!inv_getting_dir(&f->cluster, f->dir))
		return INV_EXIT_FAILED;
	f->getting.dir = f->dir;
	status = inv_getting_run(&f->getting, &f->members);
	if (!f->keep && !f->getting.cancelled)
		remove_got(f);
	say(f);
	return status ? status : inv_members_exit(&f->members);
}

static int fetch(struct fetch *f)
{
	int unreachable = inv_cluster_join(&f->cluster);
	int status;

	if (f->cluster.stopped || !f->cluster.n)
		return unreachable;
	status = inv_members_init(&f->members, &f->cluster);
	if (!status && f->members.n)
		status = get(f);
	return unreachable ? unreachable : status;
}

static int run(struct fetch *f)
{
	int status;

	if (!f->dir)
		f->dir = f->name;
	status = inv_cluster_open(&f->cluster, "inviso fetch", &f->nodes,
				  inv_screen_is_terminal() && !f->quiet);
	if (status)
		return status;
	status = fetch(f);
	inv_cluster_leave(&f->cluster);
	inv_getting_release(&f->getting);
	inv_members_release(&f->members);
	return inv_cluster_close(&f->cluster, status);
}

/* --- options -------------------------------------------------------------- */

enum {
	OPT_STOP = 256,
	OPT_KEEP,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What is fetched:", 5 },
	{ "output", 'o', "DIR", 0, "the directory for the logs (default: NAME)",
	  5 },
	{ "stop", OPT_STOP, NULL, 0, "end the recording first, if it runs", 5 },
	{ "keep", OPT_KEEP, NULL, 0, "leave the logs on the nodes, too", 5 },
	{ "json", 'j', NULL, 0, "print the summary as JSON", 5 },
	{ "quiet", 'q', NULL, 0, "say only what went wrong", 5 },
	{ 0 },
};

static const char doc[] =
	"Gets the logs of the recording NAME from nodes, and removes them "
	"there. What was interrupted is continued."
	"\v"
	"Examples:\n"
	"  inviso fetch -n shop@web1,shop@web2 night -o night\n"
	"  inviso merge night/*.log\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached or "
	"was lost, 4 refused, 5 there is no such recording on any node, 6 it "
	"had been stopped by a protection, 7 done, but events were lost.";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct fetch *f = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &f->nodes;
		return 0;
	case 'o':
		if (!*arg)
			argp_error(state, "-o: the name is empty");
		f->dir = arg;
		return 0;
	case OPT_STOP:
		f->stop = true;
		return 0;
	case OPT_KEEP:
		f->keep = true;
		return 0;
	case 'j':
		f->json = true;
		return 0;
	case 'q':
		f->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		inv_session_name_take(&f->name, arg, state);
		return 0;
	case ARGP_KEY_END:
		inv_node_opts_check(&f->nodes, state);
		inv_session_name_need(f->name, state);
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

static int exec_fetch(int argc, char **argv)
{
	struct fetch f = { 0 };
	int status;

	if (argp_parse(&argp, argc, argv, 0, NULL, &f))
		status = INV_EXIT_USAGE;
	else
		status = run(&f);
	inv_node_opts_release(&f.nodes);
	return status;
}

const struct inv_cmd inv_cmd_fetch = {
	.name = "fetch",
	.summary = "get the logs of a recording",
	.exec = exec_fetch,
};
