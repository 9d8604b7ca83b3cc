/* SPDX-License-Identifier: Apache-2.0 */

/* inviso trace: shows live what nodes do. */

#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/count.h"
#include "cli/dry.h"
#include "cli/look.h"
#include "cli/members.h"
#include "cli/pick.h"
#include "cli/report.h"
#include "cli/session_name.h"
#include "cli/tee.h"
#include "cli/trace_opts.h"
#include "cli/units.h"
#include "cli/view.h"
#include "cli/watch.h"

#define EVENTS 100
#define FOR_MS 15000
#define BYTES (UINT64_C(64) << 20)

/* Time after which a spooler takes events from a packet that is not full. */
#define FLUSH_MS 50
#define STATUS_MS 1000
/* By default, an event on a terminal has at most this many lines. */
#define LINES 12
/* With --events N, a node's session stops by itself after N + SLACK events. */
#define SLACK 4096

enum color {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER,
};

struct trace {
	struct inv_node_opts nodes;
	struct inv_trace_opts what;
	struct inv_pick pick;
	bool json;
	bool quiet;
	enum color color;
	struct inv_sink_opts sink_opts;
	struct inv_look look;
	/* the state of the running command */
	struct inv_cluster cluster;
	struct inv_members members;
	struct inv_watch watch;
	struct inv_view view;
	struct inv_count count;
	struct inv_tee tee;
	char enough[64]; /* why the sessions stop after --events events */
};

/* --- while it runs -------------------------------------------------------- */

static bool wants(void *arg, struct inv_member *m)
{
	struct trace *t = arg;

	/* After --events events, the rest of the log is still fetched for the
	 * file of -o, but not shown. Without -o, the rest is not fetched:
	 * `discard' of the watch is set. */
	return t->view.enough || inv_view_wants(&t->view, m);
}

static void took(void *arg, struct inv_member *m, const struct inv_followed *f)
{
	struct trace *t = arg;

	if (!inv_tee_put(&t->tee, m, f)) {
		t->watch.discard = true;
		inv_watch_stop(&t->watch, "the log could not be written");
	}
	if (!t->view.enough)
		inv_view_took(&t->view, m, f);
}

static void ended(void *arg, struct inv_member *m)
{
	inv_view_ended(&((struct trace *)arg)->view, m);
}

static void put_silent(struct inv_buf *b, const struct inv_members *ms)
{
	for (size_t i = 0; i < ms->n; i++)
		if (ms->v[i].there && ms->v[i].silent)
			inv_buf_printf(b, " | %s is silent", ms->v[i].name);
}

static void draw(struct trace *t)
{
	const struct inv_members *ms = &t->members;
	struct inv_buf b = { 0 };
	uint64_t lost = 0;

	for (size_t i = 0; i < ms->n; i++)
		lost += inv_member_lost(&ms->v[i]);
	inv_report_put_arming(&b, ms);
	inv_buf_printf(&b, "%" PRIu64, inv_summary_shown(&t->view.sink->sum));
	if (t->what.events)
		inv_buf_printf(&b, " of %" PRIu64, t->what.events);
	inv_buf_printf(&b, " events | %" PRIu64 " lost", lost);
	inv_report_put_left(&b, ms);
	put_silent(&b, ms);
	inv_buf_put(&b, "", 1);
	if (!b.error)
		inv_screen_status(t->cluster.screen, (const char *)b.data);
	inv_buf_release(&b);
}

static int64_t turn(void *arg)
{
	struct trace *t = arg;
	int64_t wait = inv_view_print(&t->view);

	if (t->view.enough || t->view.failed) {
		t->watch.discard |= !t->tee.path || t->view.failed;
		inv_watch_stop(&t->watch,
			       t->view.enough ? t->enough : "no memory");
	}
	draw(t);
	return wait;
}

/* --- the end -------------------------------------------------------------- */

/* Prints the remaining events, as fast as the reader accepts them. At this time
 * the command has already left the nodes. */
static void print_rest(struct trace *t)
{
	struct inv_cluster *c = &t->cluster;
	int sys;

	while (!t->watch.discard) {
		inv_view_print(&t->view);
		if (inv_view_done(&t->view) ||
		    inv_screen_broken(c->screen, &sys))
			break;
		inv_screen_wait(c->screen, c->stop.fd);
		if (inv_stop_take(&c->stop))
			break;
	}
	inv_view_flush(&t->view);
}

static void put_reason(const struct trace *t, struct inv_buf *b)
{
	if (t->view.enough)
		inv_buf_puts(b, t->enough);
	else
		inv_report_put_stopped(b, &t->members, t->watch.interrupted);
}

static void put_end_text(struct trace *t, struct inv_buf *b)
{
	const struct inv_members *ms = &t->members;
	uint64_t unreadable = t->view.sink->sum.lost[INV_LOST_UNREADABLE];

	for (size_t i = 0; ms->n > 1 && i < ms->n; i++) {
		if (ms->v[i].code == INV_ENOTHING)
			continue;
		inv_buf_printf(b, "-- %s: ", ms->v[i].name);
		inv_report_put_counts(b, &ms->v[i]);
		inv_buf_puts(b, "; ");
		inv_report_put_why(b, &ms->v[i]);
		inv_buf_putc(b, '\n');
	}
	inv_buf_printf(b, "-- %" PRIu64 " shown; ",
		       inv_summary_shown(&t->view.sink->sum));
	inv_report_put_sum(b, ms);
	if (unreadable)
		inv_buf_printf(b, ", %" PRIu64 " unreadable", unreadable);
	inv_buf_puts(b, "; stopped: ");
	put_reason(t, b);
	inv_buf_putc(b, '\n');
}

static void put_end_json(struct trace *t, struct inv_buf *b)
{
	const struct inv_members *ms = &t->members;
	struct inv_json j = { .out = b };
	size_t begin;

	inv_json_open(&j, NULL, '{');
	inv_json_uint(&j, "shown", inv_summary_shown(&t->view.sink->sum));
	inv_report_json_sum(&j, ms);
	inv_json_uint(&j, "unreadable",
		      t->view.sink->sum.lost[INV_LOST_UNREADABLE]);
	begin = inv_json_begin(&j, "stopped");
	put_reason(t, b);
	inv_json_end(&j, begin);
	inv_report_json_nodes(&j, ms);
	inv_count_put_json(&t->count, &j);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

/* With --quiet: prints counts, and reports only sessions that a protection has
 * stopped. */
static void say_little(struct trace *t)
{
	const struct inv_members *ms = &t->members;
	struct inv_buf b = { 0 };

	for (size_t i = 0; i < ms->n; i++) {
		const struct inv_member *m = &ms->v[i];

		if (inv_status_protected(&m->status))
			inv_screen_note(t->cluster.screen, "%s: stopped: %s",
					m->name, m->status.text);
	}
	if (t->json)
		return;
	inv_count_put_text(&t->count, &b);
	inv_screen_put(t->cluster.screen, &b);
}

static void say_cut(struct trace *t)
{
	const struct inv_sink *s = t->view.sink;

	if (s->cut && s->opts.lines)
		inv_screen_note(t->cluster.screen,
				"%" PRIu64 " event%s shortened to %u lines: "
				"--pretty and --wrap show %s whole",
				s->cut, s->cut == 1 ? " was" : "s were",
				s->opts.lines, s->cut == 1 ? "it" : "them");
	else if (s->cut)
		inv_screen_note(t->cluster.screen,
				"%" PRIu64 " line%s cut at %u columns: "
				"--wrap and --pretty show %s whole",
				s->cut, s->cut == 1 ? " was" : "s were",
				s->opts.width, s->cut == 1 ? "it" : "them");
}

static void say_end(struct trace *t)
{
	uint64_t forgotten = t->view.flow.processes.forgotten_calls;
	uint64_t undecided = inv_pick_undecided(&t->pick);
	struct inv_buf b = { 0 };

	if (t->watch.broken)
		return;
	if (forgotten && !t->quiet)
		inv_screen_note(t->cluster.screen,
				"%" PRIu64 " open call(s) were forgotten, "
				"because there were too many; their ends have "
				"no duration",
				forgotten);
	if (undecided && !t->quiet)
		inv_screen_note(t->cluster.screen,
				"--failed could not decide on %" PRIu64
				" return(s), which are left out: the values "
				"that it tests were not recorded",
				undecided);
	if (!t->quiet)
		say_cut(t);
	if (t->quiet && !(t->json && t->count.n)) {
		say_little(t);
		return;
	}
	if (t->json) {
		put_end_json(t, &b);
		inv_screen_put_err(t->cluster.screen, &b);
	} else {
		inv_count_put_text(&t->count, &b);
		put_end_text(t, &b);
		inv_screen_put(t->cluster.screen, &b);
	}
}

/* Returns true if there were no events, and nothing interrupted the trace. */
static bool saw_nothing(const struct trace *t)
{
	return !inv_summary_shown(&t->view.sink->sum) &&
	       !inv_count_any(&t->count) && !t->watch.interrupted &&
	       !t->watch.broken;
}

static bool time_was_up(const struct inv_members *ms)
{
	for (size_t i = 0; i < ms->n; i++)
		if (inv_status_stopped_by(&ms->v[i].status, "time"))
			return true;
	return false;
}

static void say_nothing_seen(struct trace *t)
{
	struct inv_buf b = { 0 };

	if (inv_pick_active(&t->pick) && inv_report_forgotten(&t->members))
		inv_buf_printf(&b,
			       "no slow or failed call among %" PRIu64 " calls",
			       inv_report_forgotten(&t->members));
	else
		inv_buf_puts(&b, t->what.filter ?
					 "no event that matches --filter" :
					 "no event");
	if (time_was_up(&t->members)) {
		inv_buf_puts(&b, " in ");
		inv_units_put_ms(&b, t->what.ms);
	}
	if (!b.error)
		inv_screen_note(t->cluster.screen, "%.*s", (int)b.len,
				(const char *)b.data);
	inv_buf_release(&b);
}

static int exit_status(struct trace *t)
{
	int status = inv_members_exit(&t->members);

	if (t->view.failed || t->tee.failed)
		return INV_EXIT_FAILED;
	if (!status && t->view.sink->sum.lost[INV_LOST_UNREADABLE])
		status = INV_EXIT_LOST;
	if (!status && saw_nothing(t)) {
		say_nothing_seen(t);
		status = INV_EXIT_NOTHING;
	}
	return status;
}

/* --- from the beginning --------------------------------------------------- */

static void fill_opts(struct trace *t, struct inv_session_opts *o, char *name,
		      size_t size)
{
	inv_trace_opts_session(&t->what, o);
	inv_session_name_make(name, size, "trace");
	o->name = name;
	o->owner = t->cluster.owner;
	o->mode = INV_MODE_LIVE;
	o->number[INV_OPT_FLUSH_MS] = FLUSH_MS;
	o->decide = inv_pick_decide(&t->pick);
	/* --events limits what is printed. The node's own limit is higher: each
	 * thread of the node takes a part of this limit in advance, and does
	 * not always use all of it. If the command picks calls, the node cannot
	 * know how many calls are shown. */
	if (inv_pick_active(&t->pick))
		o->number[INV_OPT_LIMIT_EVENTS] = INV_UNSET;
	else if (t->what.events)
		o->number[INV_OPT_LIMIT_EVENTS] += SLACK;
}

static int watch(struct trace *t)
{
	t->watch = (struct inv_watch){
		.ms = &t->members,
		.arg = t,
		.wants = wants,
		.took = took,
		.ended = ended,
		.turn = turn,
		.period_ms = STATUS_MS,
		.quiet = t->quiet || t->json,
		.output = true,
		.together = true,
	};
	snprintf(t->enough, sizeof(t->enough), "%" PRIu64 " event%s (--events)",
		 t->what.events, t->what.events == 1 ? "" : "s");
	t->view.screen = t->cluster.screen;
	t->view.ms = &t->members;
	t->view.events = t->what.events;
	t->view.pick = &t->pick;
	t->view.fit = !t->json && inv_screen_is_terminal() &&
		      inv_look_fits(&t->look);
	if (t->view.fit && !t->sink_opts.wrap && !t->sink_opts.pretty) {
		t->sink_opts.pretty = true;
		t->sink_opts.lines = LINES;
	}
	t->sink_opts.one_node = t->members.n == 1;
	if (inv_view_init(&t->view, inv_sink_find(t->json ? "json" : "text"),
			  &t->sink_opts)) {
		inv_screen_note(t->cluster.screen, "no memory");
		return INV_EXIT_FAILED;
	}
	inv_watch_run(&t->watch);
	if (inv_trace_opts_has_actions(&t->what))
		inv_count_take(&t->count, &t->members);
	return INV_EXIT_DONE;
}

static int trace(struct trace *t)
{
	struct inv_session_opts o;
	char name[64];
	int status = inv_members_reach(&t->members, &t->cluster,
				       !t->what.dry_run, t->what.remote_dir);

	if (!status && !t->what.dry_run)
		status = inv_tee_open(&t->tee, &t->members);
	if (!status) {
		fill_opts(t, &o, name, sizeof(name));
		status = inv_members_start(&t->members, &o);
	}
	if (status) {
		inv_cluster_leave(&t->cluster);
		return status;
	}
	if (t->what.dry_run) {
		status = inv_dry_run(&t->members, t->json, t->quiet);
		inv_members_remove(&t->members);
		inv_cluster_leave(&t->cluster);
		return status;
	}
	status = watch(t);
	(void)inv_tee_close(&t->tee);
	inv_members_remove(&t->members);
	inv_cluster_leave(&t->cluster);
	if (!status) {
		print_rest(t);
		say_end(t);
		status = exit_status(t);
	}
	return status;
}

static int run(struct trace *t)
{
	bool terminal = inv_screen_is_terminal();
	const char *no_color = getenv("NO_COLOR");
	int status;

	t->sink_opts.color = t->color == COLOR_ALWAYS ||
			     (t->color == COLOR_AUTO && terminal &&
			      !(no_color && *no_color));
	status = inv_cluster_open(&t->cluster, "inviso trace", &t->nodes,
				  terminal && !t->quiet);
	if (status)
		return status;
	status = trace(t);
	if (t->view.ms)
		inv_view_release(&t->view);
	(void)inv_tee_close(&t->tee);
	inv_count_release(&t->count);
	inv_members_release(&t->members);
	return inv_cluster_close(&t->cluster, status);
}

/* --- options -------------------------------------------------------------- */

enum {
	OPT_COLOR = 256,
	OPT_UTC,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Output:", 7 },
	{ "output", 'o', "FILE", 0,
	  "also write the log to FILE, for `inviso merge'; with several nodes "
	  "a file for each, F.log becomes F-NODE.log",
	  7 },
	{ "json", 'j', NULL, 0,
	  "print one JSON object in each line; at the end a summary as JSON on "
	  "standard error",
	  7 },
	{ "color", OPT_COLOR, "WHEN", 0,
	  "use colours: auto (default), always "
	  "or never",
	  7 },
	{ "utc", OPT_UTC, NULL, 0, "print times in UTC, not local times", 7 },
	{ "quiet", 'q', NULL, 0, "print only events and errors", 7 },
	{ 0 },
};

static const char doc[] =
	"Shows what running nodes do, as it happens, in the order of time. "
	"Stops after 100 events, 15s or 64M of log by default. Nothing needs "
	"to be installed on the nodes, and inviso removes its files and code "
	"from them at the end; its code may stay loaded for 3 s."
	"\v"
	"SPEC is a function: lists, lists:seq, lists:seq/2, Enum.map/2, "
	"'lists:seq(1, X) when X > 3 -> return;caller'; or a kind of event: "
	"send, 'receive({reply, _})', procs, ports, running, gc. See "
	"inviso-trace(1).\n"
	"\n"
	"Examples:\n"
	"  inviso trace -n shop@web1 'lists:seq/2'\n"
	"  inviso trace -n shop@web1,shop@web2 --events 10 "
	"'ets:lookup(sessions, _)'\n"
	"  inviso trace -n shop@web1 --procs cart --for 1m --events 0 receive\n"
	"  inviso trace -n shop@web1 -n all --dry-run 'Enum.map/2'\n"
	"  inviso trace -n shop@web1 --for 1m 'long_gc(50ms)' busy_port\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached or "
	"was lost, 4 refused, 5 nothing matched, 6 stopped by a protection, "
	"7 done, but events were lost.";

static int set_color(struct trace *t, const char *arg)
{
	static const char *const words[] = { "auto", "always", "never" };

	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(arg, words[i])) {
			t->color = (enum color)i;
			return 0;
		}
	return -1;
}

/* Finds the actions slow and failed in the SPECs, and adds them to t->pick. */
static void pick_specs(struct trace *t, const struct argp_state *state)
{
	struct inv_err err = { 0 };

	for (unsigned i = 0; i < t->what.n_specs; i++)
		if (inv_pick_add_spec(&t->pick, t->what.specs[i], &err))
			argp_error(state, "%s: %s", t->what.specs[i], err.text);
	if (t->pick.group && t->what.n_specs > 1)
		argp_error(state,
			   "slow and failed of app(...) or behaviour(...) need "
			   "a command without another SPEC; for all SPECs use "
			   "--min-duration and --failed");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct trace *t = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &t->nodes;
		state->child_inputs[1] = &t->what;
		state->child_inputs[2] = &t->pick;
		t->look.opts = &t->sink_opts;
		state->child_inputs[3] = &t->look;
		return 0;
	case 'o':
		if (!*arg)
			argp_error(state, "-o: the name is empty");
		t->tee.path = arg;
		return 0;
	case 'j':
		t->json = true;
		return 0;
	case 'q':
		t->quiet = true;
		return 0;
	case OPT_UTC:
		t->sink_opts.utc = 1;
		return 0;
	case OPT_COLOR:
		if (set_color(t, arg))
			argp_error(state,
				   "--color %s: not one of auto, always and "
				   "never",
				   arg);
		return 0;
	case ARGP_KEY_END:
		inv_node_opts_check(&t->nodes, state);
		t->pick.decided = !t->pick.returns;
		if (!t->what.n_specs)
			argp_error(state, "no SPEC is given");
		pick_specs(t, state);
		if (inv_look_records(&t->look, &t->what.records))
			argp_failure(state, INV_EXIT_FAILED, 0, "no memory");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &inv_node_argp, 0, NULL, 0 },
	{ &inv_trace_argp, 0, NULL, 0 },
	{ &inv_pick_argp, 0, NULL, 0 },
	{ &inv_look_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SPEC...",
	.doc = doc,
	.children = children,
};

static int exec_trace(int argc, char **argv)
{
	struct trace t = {
		.what = { .events = EVENTS, .ms = FOR_MS, .bytes = BYTES }
	};
	int status;

	if (!inv_trace_opts_init(&t.what, argc) || inv_pick_init(&t.pick)) {
		fputs("inviso trace: no memory\n", stderr);
		status = INV_EXIT_FAILED;
	} else if (argp_parse(&argp, argc, argv, 0, NULL, &t)) {
		status = INV_EXIT_USAGE;
	} else {
		status = run(&t);
	}
	inv_look_release(&t.look);
	inv_pick_release(&t.pick);
	inv_trace_opts_release(&t.what);
	inv_node_opts_release(&t.nodes);
	return status;
}

const struct inv_cmd inv_cmd_trace = {
	.name = "trace",
	.summary = "watch calls and messages of running nodes",
	.exec = exec_trace,
};
