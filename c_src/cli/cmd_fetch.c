/* SPDX-License-Identifier: Apache-2.0 */

/* inviso fetch: fetches the logs of a detached recording. */

#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/download.h"
#include "cli/left.h"
#include "cli/members.h"
#include "cli/report.h"
#include "cli/session_name.h"
#include "cli/shell_word.h"
#include "cli/units.h"

struct fetch {
	struct inv_node_opts nodes;
	const char *name;
	const char *dir; /* NULL: a directory with the recording's name */
	bool stop;
	bool keep;
	bool json;
	bool quiet;
	const char *remote_dir;
	const char *place; /* the value of --place; NULL: not given */
	struct inv_lefts left;
	struct inv_cluster cluster;
	struct inv_members members;
	struct inv_download download;
};

static void say(struct fetch *f)
{
	struct inv_buf b = { 0 };

	if (f->quiet)
		return;
	if (f->json)
		inv_download_put_json(&f->download, &f->members, NULL, &b);
	else
		inv_download_put_text(&f->download, &f->members, &b);
	inv_screen_put(f->cluster.screen, &b);
}

/* Returns true if all sessions have stopped. Reports the nodes that still
 * record. */
static bool over(struct fetch *f)
{
	bool all = true;

	inv_members_status(&f->members);
	for (size_t i = 0; i < f->members.n; i++) {
		const struct inv_member *m = &f->members.v[i];

		if (!m->there || inv_status_ended(&m->status))
			continue;
		inv_screen_note(f->cluster.screen,
				"%s: %s is still recording: wait, or stop it "
				"with --stop",
				m->name, f->name);
		all = false;
	}
	return all;
}

/* Removes the sessions whose logs were fetched. */
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
	if (f->stop) {
		inv_members_clocks(&f->members);
		inv_members_stop(&f->members);
	} else if (!over(f)) {
		return INV_EXIT_FAILED;
	}
	if (!inv_download_dir(&f->cluster, f->dir))
		return INV_EXIT_FAILED;
	f->download.dir = f->dir;
	status = inv_download_run(&f->download, &f->members);
	if (!f->keep && !f->download.cancelled)
		remove_got(f);
	say(f);
	return status ? status : inv_members_exit(&f->members);
}

/* --- recordings of dead nodes --------------------------------------------- */

static bool is_wanted(const struct fetch *f, const struct inv_left *l)
{
	return !strcmp(l->name, f->name) &&
	       (!f->place || !strcmp(l->place, f->place));
}

static size_t n_left(const struct fetch *f, const struct inv_node_name *node)
{
	size_t n = 0;

	for (size_t i = 0; i < f->left.n; i++)
		n += is_wanted(f, &f->left.v[i]) &&
		     inv_left_is_of(&f->left.v[i], node);
	return n;
}

static bool has_left(void *arg, const struct inv_node_name *node)
{
	return n_left(arg, node) > 0;
}

/* The present state of the node that left a recording. */
enum now {
	NOW_GONE,     /* the node does not run */
	NOW_ANOTHER,  /* the node was restarted, and does not have this
			 recording */
	NOW_RECORDED, /* the node was restarted, and has a recording of the same
			 name */
	NOW_UNKNOWN,  /* the node may run, and may have a recording of the same
			 name */
	NOW_CHOSEN,   /* the state does not matter: --place was given */
};

/* Returns true if `name' is the name of the node that the user gave as
 * `node'. */
static bool is_node(const char *name, const struct inv_node_name *node)
{
	size_t n = strlen(node->alive);

	return !strcmp(name, node->full) ||
	       (node->any_host && !strncmp(name, node->alive, n) &&
		name[n] == '@');
}

static enum now now(const struct fetch *f, const struct inv_node_name *node)
{
	const struct inv_cluster *c = &f->cluster;

	if (f->place)
		return NOW_CHOSEN;
	for (size_t i = 0; i < c->n; i++)
		if (is_node(inv_cluster_name(c, i), node) &&
		    inv_cluster_does_without(c, i))
			return NOW_GONE;
	for (size_t i = 0; i < f->members.n; i++) {
		const struct inv_member *m = &f->members.v[i];

		if (!is_node(m->name, node))
			continue;
		return m->code == INV_ENOTHING ? NOW_ANOTHER :
		       m->code		       ? NOW_UNKNOWN :
						 NOW_RECORDED;
	}
	return NOW_UNKNOWN;
}

static void put_ring(const struct inv_left *l, struct inv_buf *b)
{
	inv_buf_puts(b, "its ring file may have more events, so nothing was "
			"removed: run inviso recover ");
	inv_shell_word_put(b, l->ring);
	inv_buf_puts(b, ", then fetch again\n");
}

static void say_left(struct fetch *f, const struct inv_left *l, enum now how)
{
	struct inv_buf b = { 0 };
	struct inv_buf path = { 0 };
	struct inv_json j = { .out = &b };

	inv_buf_printf(&path, "%s/%s-%s.log", f->dir, l->node, l->name);
	inv_buf_put(&path, "", 1);
	if (path.error || f->quiet) {
		inv_buf_release(&path);
		return;
	}
	if (f->json) {
		inv_json_open(&j, NULL, '{');
		inv_json_text(&j, "node", l->node);
		inv_left_put_json(&j, "left", l);
		inv_json_open(&j, "files", '[');
		inv_json_text(&j, NULL, (const char *)path.data);
		inv_json_close(&j, ']');
		inv_json_close(&j, '}');
		inv_json_line(&j);
	} else {
		inv_buf_printf(&b,
			       "%s %sthis recording was left on this "
			       "machine by the node of os pid %" PRId32
			       ", which died after ",
			       l->node,
			       how == NOW_GONE ? "is not running; " : ": ",
			       l->os_pid);
		inv_left_put_time(&b, l->written);
		inv_buf_puts(&b, "; ");
		inv_units_put_bytes(&b, l->bytes);
		inv_buf_printf(&b, " in %s\n", (const char *)path.data);
		if (l->ring)
			put_ring(l, &b);
		inv_download_put_next(f->dir, &b);
	}
	inv_screen_put(f->cluster.screen, &b);
	inv_buf_release(&path);
}

/* Lists the recordings that the node left. For each recording, prints the
 * option that selects it. */
static void list(struct fetch *f, const struct inv_node_name *node)
{
	for (size_t i = 0; i < f->left.n; i++) {
		const struct inv_left *l = &f->left.v[i];
		struct inv_buf b = { 0 };

		if (!is_wanted(f, l) || !inv_left_is_of(l, node))
			continue;
		inv_left_put_time(&b, l->written);
		inv_buf_put(&b, "", 1);
		if (!b.error)
			inv_screen_note(f->cluster.screen,
					"os pid %" PRId32
					", until %s: --place %s",
					l->os_pid, (const char *)b.data,
					l->place);
		inv_buf_release(&b);
	}
}

static int several(struct fetch *f, const struct inv_node_name *node, size_t n)
{
	inv_screen_note(f->cluster.screen,
			"%s left %zu recordings called %s; choose one:",
			node->full, n, f->name);
	list(f, node);
	return INV_EXIT_FAILED;
}

/*
 * Refuses to fetch a recording that a dead node left, because a running node
 * may have a recording of the same name, and the user could mistake one for the
 * other.
 */
static int spare(struct fetch *f, const struct inv_node_name *node)
{
	inv_screen_note(f->cluster.screen,
			"%s may still run and have a recording called %s; to "
			"fetch one that an earlier run left on this machine, "
			"name it with --place:",
			node->full, f->name);
	list(f, node);
	return INV_EXIT_UNREACHABLE;
}

/* Fetches the recording that an earlier run of the node left. Does not fetch it
 * if a running node has, or may have, a recording of the same name. */
static int get_left_of(struct fetch *f, const struct inv_node_name *node)
{
	size_t n = n_left(f, node);
	enum now how = now(f, node);
	struct inv_err err = { 0 };

	if (n == 0)
		return INV_EXIT_DONE;
	if (how == NOW_UNKNOWN)
		return spare(f, node);
	if (how == NOW_RECORDED) {
		inv_screen_note(f->cluster.screen,
				"%s: an earlier run of the node also left a "
				"recording called %s: see inviso status",
				node->full, f->name);
		return INV_EXIT_DONE;
	}
	if (n > 1)
		return several(f, node, n);
	if (!inv_download_dir(&f->cluster, f->dir))
		return INV_EXIT_FAILED;
	for (size_t i = 0; i < f->left.n; i++) {
		const struct inv_left *l = &f->left.v[i];

		if (!is_wanted(f, l) || !inv_left_is_of(l, node))
			continue;
		if (inv_left_copy(l, f->dir, f->keep, &err) < 0) {
			inv_screen_note_node(f->cluster.screen, l->node,
					     err.text);
			return INV_EXIT_FAILED;
		}
		say_left(f, l, how);
	}
	return INV_EXIT_DONE;
}

static int get_left(struct fetch *f)
{
	int status = INV_EXIT_DONE;

	for (size_t i = 0; i < f->nodes.names.n; i++) {
		int rc = get_left_of(f, &f->nodes.names.names[i]);

		status = status ? status : rc;
	}
	return status;
}

static bool any_left(const struct fetch *f)
{
	for (size_t i = 0; i < f->nodes.names.n; i++)
		if (n_left(f, &f->nodes.names.names[i]))
			return true;
	return false;
}

/* Fetches the recording in the directory of --place. Connects to no node. */
static int fetch_place(struct fetch *f)
{
	if (any_left(f))
		return get_left(f);
	inv_screen_note(f->cluster.screen,
			"no dead node of that name left a recording called %s "
			"in %s; inviso status lists them",
			f->name, f->place);
	return INV_EXIT_NOTHING;
}

static int fetch(struct fetch *f)
{
	int unreachable, status, left;

	f->cluster.dispensable = has_left;
	f->cluster.dispensable_arg = f;
	unreachable = inv_cluster_join(&f->cluster);
	if (f->cluster.stopped || !f->cluster.n)
		return unreachable;
	status = inv_members_init(&f->members, &f->cluster);
	if (!status && f->members.n)
		status = get(f);
	if (f->cluster.stopped)
		return status ? status : INV_EXIT_FAILED;
	left = get_left(f);
	/* It is no failure that no running node had the recording, if a dead
	 * node left it. */
	if (status == INV_EXIT_NOTHING && any_left(f))
		status = INV_EXIT_DONE;
	status = status ? status : left;
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
	if (inv_lefts_find(&f->left, f->remote_dir)) {
		inv_screen_note(f->cluster.screen, "no memory");
		status = INV_EXIT_FAILED;
	} else {
		status = f->place ? fetch_place(f) : fetch(f);
	}
	inv_cluster_leave(&f->cluster);
	inv_download_release(&f->download);
	inv_members_release(&f->members);
	inv_lefts_release(&f->left);
	return inv_cluster_close(&f->cluster, status);
}

/* --- options -------------------------------------------------------------- */

enum {
	OPT_STOP = 256,
	OPT_KEEP,
	OPT_REMOTE_DIR,
	OPT_PLACE,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What is fetched:", 5 },
	{ "output", 'o', "DIR", 0, "write the logs to DIR (default: NAME)", 5 },
	{ "stop", OPT_STOP, NULL, 0,
	  "end the recording first, if it still "
	  "runs",
	  5 },
	{ "keep", OPT_KEEP, NULL, 0, "keep the logs on the nodes, too", 5 },
	{ "remote-dir", OPT_REMOTE_DIR, "DIR", 0,
	  "also look in DIR for recordings of dead nodes (default: only "
	  "TMPDIR, /tmp and /var/tmp)",
	  5 },
	{ "place", OPT_PLACE, "DIR", 0,
	  "fetch the recording that a dead node left in DIR; `inviso status' "
	  "lists these directories",
	  5 },
	{ "json", 'j', NULL, 0, "print the summary as JSON", 5 },
	{ "quiet", 'q', NULL, 0, "print only errors", 5 },
	{ 0 },
};

static const char doc[] =
	"Gets the logs of the recording NAME from nodes, and removes them "
	"there. Continues an interrupted fetch. If a node has died on this "
	"machine, gets the logs that the node left here."
	"\v"
	"Examples:\n"
	"  inviso fetch -n shop@web1,shop@web2 night -o night\n"
	"  inviso merge night/*.log\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached or "
	"was lost, 4 refused, 5 there is no such recording on any node, 6 a "
	"protection had stopped the recording, 7 done, but events were lost.";

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
	case OPT_REMOTE_DIR:
		f->remote_dir = arg;
		return 0;
	case OPT_PLACE:
		f->place = arg;
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
