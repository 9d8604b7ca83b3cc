/* SPDX-License-Identifier: Apache-2.0 */

/* inviso record: records on nodes and fetches the logs at the end. */

#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/count.h"
#include "cli/download.h"
#include "cli/dry.h"
#include "cli/left.h"
#include "cli/members.h"
#include "cli/report.h"
#include "cli/seq_opts.h"
#include "cli/session_name.h"
#include "cli/trace_opts.h"
#include "cli/units.h"
#include "cli/watch.h"

#define FOR_MS 60000
#define BYTES (UINT64_C(256) << 20)
/* How long nodes keep a log that was not fetched. */
#define HOLD_MS (24 * 3600 * 1000)
#define STATUS_MS 500
/* How often a session writes notes about its clock. A flight recorder writes
 * them less often, because each note takes a packet of the ring, which then has
 * less room for events. */
#define CLOCK_MS 2000
#define CLOCK_NEWEST_MS 60000

struct record {
	struct inv_node_opts nodes;
	struct inv_trace_opts what;
	struct inv_seq_opts requests;
	bool seq;	 /* the SPECs begin requests */
	const char *dir; /* NULL: a directory with the recording's name */
	const char *name;
	bool detach;
	bool newest;
	bool compress;
	bool json;
	bool quiet;
	/* the state of the running command */
	char made_up[64];
	struct inv_cluster cluster;
	struct inv_members members;
	struct inv_download download;
	struct inv_count count;
};

/* --- the status line ------------------------------------------------------ */

static int64_t draw(void *arg)
{
	struct record *r = arg;
	const struct inv_members *ms = &r->members;
	struct inv_buf b = { 0 };
	uint64_t recorded = 0, lost = 0, bytes = 0;

	for (size_t i = 0; i < ms->n; i++) {
		const struct inv_status *s = &ms->v[i].status;

		recorded += s->recorded;
		lost += inv_member_lost(&ms->v[i]);
		bytes += s->log_bytes;
	}
	inv_report_put_arming(&b, ms);
	inv_buf_printf(&b, "%" PRIu64 " events | %" PRIu64 " lost | ", recorded,
		       lost);
	inv_units_put_bytes(&b, bytes);
	inv_report_put_left(&b, ms);
	inv_buf_put(&b, "", 1);
	if (!b.error)
		inv_screen_status(r->cluster.screen, (const char *)b.data);
	inv_buf_release(&b);
	return -1;
}

/* --- how it ends ---------------------------------------------------------- */

static void say_summary(struct record *r)
{
	struct inv_buf b = { 0 };

	if (r->quiet)
		return;
	if (r->json) {
		inv_download_put_json(&r->download, &r->members, &r->count, &b);
	} else {
		inv_count_put_text(&r->count, &b);
		inv_download_put_text(&r->download, &r->members, &b);
	}
	inv_screen_put(r->cluster.screen, &b);
}

/* Reports that the sessions continue to record after this command has ended. */
static int detach(struct record *r)
{
	const struct inv_node_names *names = &r->nodes.names;
	struct inv_buf b = { 0 };
	struct inv_json j = { .out = &b };

	if (r->json) {
		inv_json_open(&j, NULL, '{');
		inv_json_text(&j, "name", r->name);
		inv_json_uint(&j, "ms", r->what.ms);
		inv_json_int(&j, "hold_ms", HOLD_MS);
		inv_json_close(&j, '}');
		inv_json_line(&j);
	} else if (!r->quiet) {
		inv_buf_printf(&b, "%s: recording for ", r->name);
		inv_units_put_ms(&b, r->what.ms);
		inv_buf_puts(&b, "; then its logs are kept for ");
		inv_units_put_ms(&b, HOLD_MS);
		inv_buf_puts(&b, "\nnext: inviso fetch");
		for (size_t i = 0; i < names->n; i++)
			inv_node_opts_put(&names->names[i], &b);
		inv_node_opts_put_rest(&r->nodes, &b);
		inv_buf_printf(&b, "%s %s\n", r->nodes.all ? " -n all" : "",
			       r->name);
	}
	inv_screen_put(r->cluster.screen, &b);
	return inv_members_exit(&r->members);
}

/* Copies the log of a node that died, if the node ran on this machine. */
static void get_left(struct record *r, struct inv_member *m)
{
	struct inv_screen *screen = r->cluster.screen;
	struct inv_err err = { 0 };
	struct inv_left l = { 0 };

	if (!inv_left_find_log(&l, m->name, m->status.log))
		return;
	if (inv_left_copy(&l, r->dir, false, &err) < 0) {
		inv_screen_note_node(screen, m->name, err.text);
	} else {
		inv_screen_note(screen,
				"%s: the node died on this machine; its log is "
				"in %s/%s-%s.log",
				m->name, r->dir, l.node, l.name);
		m->status.log[0] = 0; /* the log is no longer at this path */
	}
	inv_left_release(&l);
}

static void get_all_left(struct record *r)
{
	for (size_t i = 0; i < r->members.n; i++) {
		struct inv_member *m = &r->members.v[i];

		if (!m->there && inv_code_gone(m->code) && *m->status.log)
			get_left(r, m);
	}
}

static int finish(struct record *r)
{
	int status;

	if (inv_trace_opts_has_actions(&r->what))
		inv_count_take(&r->count, &r->members);
	r->download.dir = r->dir;
	status = inv_download_run(&r->download, &r->members);
	inv_download_leave(&r->download, &r->members, r->name);
	get_all_left(r);
	say_summary(r);
	return status ? status : inv_members_exit(&r->members);
}

/* Returns true if every node on which something matched has a session. */
static bool all_there(const struct inv_members *ms)
{
	for (size_t i = 0; i < ms->n; i++)
		if (!ms->v[i].there && ms->v[i].code != INV_ENOTHING)
			return false;
	return true;
}

static int watch(struct record *r)
{
	struct inv_watch w = {
		.ms = &r->members,
		.arg = r,
		.turn = draw,
		.period_ms = STATUS_MS,
		.clock_ms = r->newest ? CLOCK_NEWEST_MS : CLOCK_MS,
		.quiet = r->quiet || r->json,
		.until_armed = r->detach,
	};

	if (!r->quiet && !r->json && !r->detach)
		inv_screen_note(r->cluster.screen, "%s: Ctrl-C ends it",
				r->name);
	inv_members_clocks(&r->members);
	inv_watch_run(&w);
	if (!r->detach)
		return finish(r);
	if (w.interrupted || !all_there(&r->members)) {
		inv_members_remove(&r->members);
		return w.interrupted ? INV_EXIT_FAILED :
				       inv_members_exit(&r->members);
	}
	return detach(r);
}

static void fill_opts(struct record *r, struct inv_session_opts *o,
		      struct inv_session_seq *seq)
{
	inv_trace_opts_session(&r->what, o);
	if (r->seq) {
		inv_seq_opts_session(&r->requests, seq);
		o->seq = seq;
	}
	o->name = r->name;
	o->owner = r->cluster.owner;
	o->mode = r->detach ? INV_MODE_DETACHED : INV_MODE_RECORD;
	o->keep = r->newest ? INV_KEEP_NEWEST : INV_KEEP_OLDEST;
	o->compress = r->compress ? "zstd" : NULL;
	o->number[INV_OPT_HOLD_MS] = HOLD_MS;
}

static int record(struct record *r)
{
	struct inv_session_opts o;
	struct inv_session_seq seq;
	int status = INV_EXIT_DONE;

	/* Check the local directory first, before anything happens on the
	 * nodes. */
	if (!r->what.dry_run && !r->detach &&
	    !inv_download_dir(&r->cluster, r->dir))
		return INV_EXIT_FAILED;
	status = inv_members_reach(&r->members, &r->cluster, !r->what.dry_run,
				   r->what.remote_dir);
	if (!status && !r->what.dry_run && !r->detach &&
	    !inv_download_room(&r->members, r->dir, r->name))
		status = INV_EXIT_FAILED;
	if (!status) {
		fill_opts(r, &o, &seq);
		status = inv_members_start(&r->members, &o);
	}
	if (!status && r->seq)
		status = inv_members_matched(&r->members, r->what.n_specs);
	if (!status && r->seq && !r->what.dry_run)
		status = inv_members_begin(&r->members);
	if (!status && r->what.dry_run) {
		status = inv_dry_run(&r->members, r->json, r->quiet);
		inv_members_remove(&r->members);
	} else if (!status) {
		status = watch(r);
	}
	inv_cluster_leave(&r->cluster);
	return status;
}

static int run(struct record *r)
{
	int status;

	if (!r->name) {
		inv_session_name_make(r->made_up, sizeof(r->made_up), "record");
		r->name = r->made_up;
	}
	if (!r->dir)
		r->dir = r->name;
	status = inv_cluster_open(&r->cluster, "inviso record", &r->nodes,
				  inv_screen_is_terminal() && !r->quiet);
	if (status)
		return status;
	status = record(r);
	inv_download_release(&r->download);
	inv_count_release(&r->count);
	inv_members_release(&r->members);
	return inv_cluster_close(&r->cluster, status);
}

/* --- options -------------------------------------------------------------- */

enum {
	OPT_NAME = 256,
	OPT_DETACH,
	OPT_KEEP,
	OPT_COMPRESS,
	OPT_SEQ,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "The recording:", 6 },
	{ "seq", OPT_SEQ, NULL, 0,
	  "record requests, as `inviso seq' does: what begins with a call or "
	  "message of the SPEC, on all nodes",
	  6 },
	{ "output", 'o', "DIR", 0,
	  "write the logs to DIR (default: the name of the recording)", 6 },
	{ "name", OPT_NAME, "NAME", 0,
	  "name the recording (default: a new name)", 6 },
	{ "detach", OPT_DETACH, NULL, 0,
	  "keep recording without the command; needs --for; `inviso fetch' "
	  "gets the logs later",
	  6 },
	{ "keep", OPT_KEEP, "WHICH", 0,
	  "when the buffer is full, keep the oldest events (default) or the "
	  "newest (a flight recorder)",
	  6 },
	{ "compress", OPT_COMPRESS, NULL, 0, "compress the log on the node",
	  6 },
	{ "json", 'j', NULL, 0, "print the summary as JSON", 6 },
	{ "quiet", 'q', NULL, 0, "print only errors", 6 },
	{ 0 },
};

static const char doc[] =
	"Records what running nodes do, each into a log on its own machine, "
	"and fetches the logs at the end: by default after 60s, 256M on a "
	"node, or Ctrl-C. Nothing needs to be installed on the nodes, and "
	"inviso removes its files and code from them; its code may stay "
	"loaded for 3 s."
	"\v"
	"SPEC is as for `inviso trace'; see inviso-trace(1). Without an action "
	"only calls are recorded; 'lists:seq/2 -> return' also records what "
	"they return, which slow calls, flame graphs and spans need. If a "
	"buffer was full, so that events were lost, use fewer functions, "
	"--max-term 200, --args none or a larger --buffer.\n"
	"\n"
	"Examples:\n"
	"  inviso record -n shop@web1,shop@web2 -o slow 'shop_cart -> return'\n"
	"  inviso merge slow/*.log\n"
	"  inviso report slow/ -o slow.html\n"
	"  inviso record -n shop@web1 --detach --for 1h --name night "
	"'lists:seq/2'\n"
	"  inviso record -n shop@web1 --keep newest --for 1h procs send\n"
	"  inviso record -n web@h1,db@h3 --seq --requests 100 shop:checkout/2\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached or "
	"was lost, 4 refused, 5 nothing matched, 6 stopped by a protection, "
	"7 done, but events were lost.";

static void check(struct record *r, struct argp_state *state)
{
	inv_node_opts_check(&r->nodes, state);
	if (!r->what.n_specs)
		argp_error(state, "no SPEC is given");
	if (r->seq)
		inv_seq_opts_check(&r->what, state);
	else if (r->requests.any)
		argp_error(state, "options of requests, such as --requests and "
				  "--calls, need --seq");
	if (r->detach && !r->what.dry_run && (!r->what.ms_given || !r->what.ms))
		argp_error(state,
			   "--detach needs --for TIME, because the command "
			   "does not stay to end the recording");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record *r = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &r->nodes;
		state->child_inputs[1] = &r->requests;
		state->child_inputs[2] = &r->what;
		return 0;
	case 'o':
		if (!*arg)
			argp_error(state, "-o: the name is empty");
		r->dir = arg;
		return 0;
	case OPT_NAME:
		if (!inv_session_name_good(arg))
			argp_error(state,
				   "--name %s: up to 64 of a-z, 0-9, _ . -",
				   arg);
		r->name = arg;
		return 0;
	case OPT_DETACH:
		r->detach = true;
		return 0;
	case OPT_KEEP:
		r->newest = !strcmp(arg, "newest");
		if (!r->newest && strcmp(arg, "oldest") != 0)
			argp_error(state, "--keep %s: not oldest or newest",
				   arg);
		return 0;
	case OPT_SEQ:
		r->seq = true;
		return 0;
	case OPT_COMPRESS:
		r->compress = true;
		return 0;
	case 'j':
		r->json = true;
		return 0;
	case 'q':
		r->quiet = true;
		return 0;
	case ARGP_KEY_END:
		check(r, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &inv_node_argp, 0, NULL, 0 },
	/* These options come after the options for nodes, as a group with its
	 * own heading. */
	{ &inv_seq_argp, 0, NULL, 1 },
	{ &inv_trace_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SPEC...",
	.doc = doc,
	.children = children,
};

static int exec_record(int argc, char **argv)
{
	struct record r = { .what = { .ms = FOR_MS, .bytes = BYTES } };
	int status;

	if (!inv_trace_opts_init(&r.what, argc) ||
	    !inv_seq_opts_init(&r.requests, argc)) {
		fputs("inviso record: no memory\n", stderr);
		status = INV_EXIT_FAILED;
	} else if (argp_parse(&argp, argc, argv, 0, NULL, &r)) {
		status = INV_EXIT_USAGE;
	} else {
		status = run(&r);
	}
	inv_seq_opts_release(&r.requests);
	inv_trace_opts_release(&r.what);
	inv_node_opts_release(&r.nodes);
	return status;
}

const struct inv_cmd inv_cmd_record = {
	.name = "record",
	.summary = "record what running nodes do into logs",
	.exec = exec_record,
};
