/* SPDX-License-Identifier: Apache-2.0 */

/* inviso seq: follows requests through processes and nodes. */

#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cmd.h"
#include "cli/dry.h"
#include "cli/look.h"
#include "cli/members.h"
#include "cli/replay.h"
#include "cli/report.h"
#include "cli/seq_opts.h"
#include "cli/session_name.h"
#include "cli/tee.h"
#include "cli/trace_opts.h"
#include "cli/units.h"
#include "cli/watch.h"

#define REQUESTS 10
#define EVENTS 100000
#define FOR_MS 30000
#define BYTES (UINT64_C(64) << 20)
#define IDLE_MS 1000

/* Time after which a spooler takes events from a packet that is not full. */
#define FLUSH_MS 50
#define STATUS_MS 200

struct seq {
	struct inv_node_opts nodes;
	struct inv_trace_opts what;
	struct inv_seq_opts requests;
	uint64_t idle_ms;
	bool json;
	bool quiet;
	struct inv_sink_opts sink_opts;
	struct inv_look look;
	/* the state of the running command */
	struct inv_cluster cluster;
	struct inv_members members;
	struct inv_watch watch;
	struct inv_replay replay;
	struct inv_tee tee;
	bool failed;
	uint64_t recorded;  /* how many events all nodes together had recorded
			     * at the last check */
	int64_t changed_ms; /* when `recorded' changed */
	char enough[64];    /* why the sessions stop */
};

/* --- while it runs -------------------------------------------------------- */

static void took(void *arg, struct inv_member *m, const struct inv_followed *f)
{
	struct seq *s = arg;

	if (!inv_tee_put(&s->tee, m, f)) {
		s->watch.discard = true;
		inv_watch_stop(&s->watch, "the log could not be written");
	}
	if (!s->failed && inv_replay_took(&s->replay, m, f)) {
		s->failed = true;
		s->watch.discard = true;
		inv_watch_stop(&s->watch, "no memory");
	}
}

static uint64_t begun(const struct seq *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->members.n; i++)
		if (s->members.v[i].status.begun > 0)
			n += (uint64_t)s->members.v[i].status.begun;
	return n;
}

static void draw(struct seq *s)
{
	struct inv_buf b = { 0 };
	uint64_t n = begun(s);

	inv_report_put_arming(&b, &s->members);
	if (!n)
		inv_buf_puts(&b, "waiting for the first request");
	else if (s->requests.requests)
		inv_buf_printf(&b,
			       "%" PRIu64 " of %" PRIu64 " requests have begun",
			       n, s->requests.requests);
	else
		inv_buf_printf(&b, "%" PRIu64 " requests have begun", n);
	inv_buf_printf(&b, " | %" PRIu64 " events", s->recorded);
	inv_report_put_left(&b, &s->members);
	inv_buf_put(&b, "", 1);
	if (!b.error)
		inv_screen_status(s->cluster.screen, (const char *)b.data);
	inv_buf_release(&b);
}

/* Ends the sessions if two conditions are true: enough requests have begun; and
 * all requests that are shown have ended, or no event was recorded for idle_ms.
 * Returns the time until the next check, in ms; -1: check after the next answer
 * of a node. */
static int64_t check(struct seq *s)
{
	int64_t now = inv_mono_ms();
	uint64_t recorded = 0;
	int64_t left;

	for (size_t i = 0; i < s->members.n; i++)
		recorded += s->members.v[i].status.recorded;
	if (recorded != s->recorded) {
		s->recorded = recorded;
		s->changed_ms = now;
	}
	draw(s);
	if (!s->requests.requests || begun(s) < s->requests.requests)
		return -1;
	left = s->changed_ms + (int64_t)s->idle_ms - now;
	if (left > 0 && !inv_replay_enough(&s->replay))
		return left;
	inv_watch_stop(&s->watch, s->enough);
	return -1;
}

static int64_t turn(void *arg)
{
	struct seq *s = arg;
	int64_t next = s->failed ? -1 : inv_replay_turn(&s->replay);
	int64_t left = check(s);

	return next >= 0 && (left < 0 || next < left) ? next : left;
}

/* --- the end -------------------------------------------------------------- */

/* Reports how many requests of each node are not shown, and how many processes
 * still have a token. */
static void say_notes(const struct seq *s)
{
	struct inv_screen *screen = s->cluster.screen;

	for (size_t i = 0; i < s->members.n; i++) {
		const struct inv_member *m = &s->members.v[i];
		const struct inv_status *st = &m->status;

		if (st->remote)
			inv_screen_note(screen,
					"%s: %" PRIu64
					" request(s) began with a message to "
					"another node, which does not carry "
					"the token itself, only those after "
					"it do: give a call that sends it",
					m->name, st->remote);
		if (st->beyond)
			inv_screen_note(screen,
					"%s: %" PRIu64
					" further request(s) began and were "
					"not counted (--requests, --sample)",
					m->name, st->beyond);
		if (st->held > 0)
			inv_screen_note(
				screen,
				"%s: %" PRId64
				" process(es) still hold a token of these "
				"requests, until they take a message without "
				"one; it has no effect",
				m->name, st->held);
	}
}

static void say_json(struct seq *s)
{
	const struct inv_members *ms = &s->members;
	struct inv_buf b = { 0 };
	struct inv_json j = { .out = &b };
	size_t begin;

	inv_json_open(&j, NULL, '{');
	inv_json_uint(&j, "requests", s->replay.requests);
	inv_json_uint(&j, "shown", inv_summary_shown(&s->replay.sum));
	inv_report_json_sum(&j, ms);
	begin = inv_json_begin(&j, "stopped");
	inv_report_put_stopped(&b, &s->members, s->watch.interrupted);
	inv_json_end(&j, begin);
	inv_report_json_nodes(&j, ms);
	inv_json_close(&j, '}');
	inv_json_line(&j);
	inv_screen_put_err(s->cluster.screen, &b);
}

static void say_end(struct seq *s)
{
	struct inv_buf b = { 0 };

	if (s->watch.broken || s->quiet)
		return;
	if (s->json) {
		say_json(s);
		return;
	}
	say_notes(s);
	if (s->replay.late)
		inv_screen_note(s->cluster.screen,
				"%" PRIu64
				" event(s) came later, when their requests had "
				"been printed; see a longer --idle, or -o and "
				"`inviso merge'",
				s->replay.late);
	inv_buf_printf(&b, "-- %" PRIu64 " requests; ", s->replay.requests);
	inv_report_put_sum(&b, &s->members);
	inv_buf_puts(&b, "; stopped: ");
	inv_report_put_stopped(&b, &s->members, s->watch.interrupted);
	inv_buf_putc(&b, '\n');
	inv_screen_put(s->cluster.screen, &b);
}

static int show(struct seq *s)
{
	struct inv_err err = { 0 };
	int status;

	if (s->failed) {
		inv_screen_note(s->cluster.screen, "no memory");
		return INV_EXIT_FAILED;
	}
	if (inv_replay_show(&s->replay, &err)) {
		inv_screen_note(s->cluster.screen, "%s", err.text);
		return INV_EXIT_FAILED;
	}
	say_end(s);
	if (s->tee.failed)
		return INV_EXIT_FAILED;
	status = inv_members_exit(&s->members);
	if (!status && s->replay.sum.lost[INV_LOST_UNREADABLE])
		status = INV_EXIT_LOST;
	if (!status && !s->replay.requests && !s->watch.interrupted) {
		inv_screen_note(s->cluster.screen, "no request");
		status = INV_EXIT_NOTHING;
	}
	return status;
}

/* --- from the beginning --------------------------------------------------- */

static void fill_opts(struct seq *s, struct inv_session_opts *o,
		      struct inv_session_seq *seq, char *name, size_t size)
{
	inv_trace_opts_session(&s->what, o);
	inv_seq_opts_session(&s->requests, seq);
	inv_session_name_make(name, size, "seq");
	o->name = name;
	o->owner = s->cluster.owner;
	o->mode = INV_MODE_LIVE;
	o->seq = seq;
	o->number[INV_OPT_FLUSH_MS] = FLUSH_MS;
}

static int watch(struct seq *s)
{
	s->watch = (struct inv_watch){
		.ms = &s->members,
		.arg = s,
		.wants = inv_watch_wants_all,
		.took = took,
		.turn = turn,
		.period_ms = STATUS_MS,
		.quiet = s->quiet || s->json,
		.output = true,
		.together = true,
	};
	snprintf(s->enough, sizeof(s->enough),
		 "%" PRIu64 " request%s (--requests)", s->requests.requests,
		 s->requests.requests == 1 ? "" : "s");
	s->replay.screen = s->cluster.screen;
	s->replay.most = s->requests.requests;
	/* Trees show no calls. So with --calls, events are printed one by
	 * one. */
	s->replay.flat = s->requests.n_calls > 0;
	s->replay.json = s->json;
	s->replay.idle_ms = s->idle_ms;
	if (!s->json && inv_screen_is_terminal() && inv_look_fits(&s->look))
		s->sink_opts.width = inv_screen_width();
	s->replay.opts = s->sink_opts;
	s->changed_ms = inv_mono_ms();
	if (inv_replay_init(&s->replay, &s->members)) {
		inv_screen_note(s->cluster.screen, "no memory");
		return INV_EXIT_FAILED;
	}
	inv_watch_run(&s->watch);
	return INV_EXIT_DONE;
}

static int start(struct seq *s)
{
	struct inv_session_opts o;
	struct inv_session_seq seq;
	char name[64];
	int status;

	fill_opts(s, &o, &seq, name, sizeof(name));
	status = inv_members_start(&s->members, &o);
	if (!status)
		status = inv_members_matched(&s->members, s->what.n_specs);
	if (!status && !s->what.dry_run)
		status = inv_members_begin(&s->members);
	return status;
}

static int seq(struct seq *s)
{
	int status = inv_members_reach(&s->members, &s->cluster,
				       !s->what.dry_run, s->what.remote_dir);

	if (!status && !s->what.dry_run)
		status = inv_tee_open(&s->tee, &s->members);
	if (!status)
		status = start(s);
	if (!status && s->what.dry_run) {
		status = inv_dry_run(&s->members, s->json, s->quiet);
		inv_members_remove(&s->members);
	} else if (!status) {
		status = watch(s);
		(void)inv_tee_close(&s->tee);
		inv_members_remove(&s->members);
		inv_cluster_leave(&s->cluster);
		return status ? status : show(s);
	}
	inv_cluster_leave(&s->cluster);
	return status;
}

static int run(struct seq *s)
{
	int status = inv_cluster_open(&s->cluster, "inviso seq", &s->nodes,
				      inv_screen_is_terminal() && !s->quiet);

	if (status)
		return status;
	status = seq(s);
	(void)inv_tee_close(&s->tee);
	inv_replay_release(&s->replay);
	inv_members_release(&s->members);
	return inv_cluster_close(&s->cluster, status);
}

/* --- options -------------------------------------------------------------- */

enum {
	OPT_UTC = 256,
	OPT_IDLE,
	OPT_FILTER,
};

static const struct argp_option options[] = {
	{ "idle", OPT_IDLE, "TIME", 0,
	  "a request without an event for TIME is over, and is printed; stop "
	  "when all requests have begun and are over (1s)",
	  3 },
	/* The error for it names the command that can filter. */
	{ "filter", OPT_FILTER, "SPEC", OPTION_HIDDEN, NULL, 3 },
	{ NULL, 0, NULL, 0, "Output:", 6 },
	{ "output", 'o', "FILE", 0,
	  "also write the log to FILE, for `inviso merge'; with several nodes "
	  "a file for each, F.log becomes F-NODE.log",
	  6 },
	{ "json", 'j', NULL, 0,
	  "print one JSON object in each line; at the end a summary as JSON on "
	  "standard error",
	  6 },
	{ "utc", OPT_UTC, NULL, 0, "print times in UTC, not local times", 6 },
	{ "quiet", 'q', NULL, 0, "print only events and errors", 6 },
	{ 0 },
};

static const char doc[] =
	"Follows requests, in causal order. A request begins with a call or a "
	"message, and has events of all processes and nodes that its messages "
	"reach. Stops when 10 requests have begun and had no event for 1s, or "
	"after 30s, 100000 events or 64M of log on a node. Uses sequential "
	"tracing (seq_trace). A node that already has a system tracer, from "
	"another tool, is refused."
	"\v"
	"SPEC is a function whose calls begin requests, with or without "
	"arguments and a guard: shop:checkout/2, 'shop:checkout(Order, _) when "
	"Order > 9'; or a message: 'send(shop_queue, {order, Id, _})'. With -n, "
	"name all nodes that a request may reach, also nodes on which no "
	"request begins.\n"
	"\n"
	"Examples:\n"
	"  inviso seq -n web@h1,shop@h2,db@h3 'shop:checkout(_, _)'\n"
	"  inviso seq -n web@h1,db@h3 --requests 1 --label Order "
	"'shop:checkout(Order, _)'\n"
	"  inviso seq -n shop@h2 --sample 1/100 'send(shop_queue, {order, _})'\n"
	"  inviso seq -n web@h1,db@h3 --calls 'shop_*:_/_' shop:checkout/2\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached or "
	"was lost, 4 refused, 5 nothing matched, or no request, 6 stopped by a "
	"protection, 7 done, but events were lost.";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct seq *s = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &s->nodes;
		state->child_inputs[1] = &s->requests;
		state->child_inputs[2] = &s->what;
		s->look.opts = &s->sink_opts;
		state->child_inputs[3] = &s->look;
		return 0;
	case 'o':
		if (!*arg)
			argp_error(state, "-o: the name is empty");
		s->tee.path = arg;
		return 0;
	case 'j':
		s->json = true;
		return 0;
	case 'q':
		s->quiet = true;
		return 0;
	case OPT_UTC:
		s->sink_opts.utc = 1;
		return 0;
	case OPT_IDLE:
		if (inv_units_ms(arg, &s->idle_ms) || s->idle_ms > 3600000)
			argp_error(state, "--idle %s: not " INV_UNITS_MS_HELP,
				   arg);
		return 0;
	case OPT_FILTER:
		s->what.filter = arg;
		return 0;
	case ARGP_KEY_END:
		inv_node_opts_check(&s->nodes, state);
		if (!s->what.n_specs)
			argp_error(state, "no SPEC is given");
		inv_seq_opts_check(&s->what, state);
		if (inv_look_records(&s->look, &s->what.records))
			argp_failure(state, INV_EXIT_FAILED, 0, "no memory");
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
	{ &inv_trace_unfiltered_argp, 0, NULL, 0 },
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

static int exec_seq(int argc, char **argv)
{
	struct seq s = {
		.what = { .events = EVENTS, .ms = FOR_MS, .bytes = BYTES },
		.requests = { .requests = REQUESTS },
		.idle_ms = IDLE_MS,
	};
	int status;

	if (!inv_trace_opts_init(&s.what, argc) ||
	    !inv_seq_opts_init(&s.requests, argc)) {
		fputs("inviso seq: no memory\n", stderr);
		status = INV_EXIT_FAILED;
	} else if (argp_parse(&argp, argc, argv, 0, NULL, &s)) {
		status = INV_EXIT_USAGE;
	} else {
		status = run(&s);
	}
	inv_look_release(&s.look);
	inv_seq_opts_release(&s.requests);
	inv_trace_opts_release(&s.what);
	inv_node_opts_release(&s.nodes);
	return status;
}

const struct inv_cmd inv_cmd_seq = {
	.name = "seq",
	.summary = "follow requests through processes and nodes",
	.exec = exec_seq,
};
