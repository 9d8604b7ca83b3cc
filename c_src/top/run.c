/* SPDX-License-Identifier: Apache-2.0 */
#include "top/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cmd.h"
#include "cli/session_name.h"

#define FLUSH_MS 50
#define STATUS_MS 500
/* How long the command waits at its end for a terminal that takes no output. */
#define LAST_MS 2000
/* How many processes a node reports, for each sort order. */
#define ROWS 60

void inv__top_no_memory(struct inv_top_run *r)
{
	if (!r->failed)
		inv_screen_note(r->cluster.screen, "no memory");
	r->failed = true;
	r->leaving = true;
	r->watch.discard = true;
	inv_watch_stop(&r->watch, "no memory");
}

/* --- gauges --------------------------------------------------------------- */

static void note_node(struct inv_top_run *r, size_t i,
		      const struct inv_err *err)
{
	snprintf(r->model.nodes[i].state, sizeof(r->model.nodes[i].state), "%s",
		 inv_screen_without(err->text, r->names[i]));
	r->dirty = true;
}

static void lose(struct inv_top_run *r, size_t i, const struct inv_err *err)
{
	struct inv_attach *at = r->all.v[i].at;

	r->gauges[i].there = false;
	/* The guard of this node cleans up by itself. With the state
	 * INV_ATTACH_UP, inv_cluster_leave does not wait for the node. */
	if (inv_code_gone(err->code))
		at->state = INV_ATTACH_UP;
	note_node(r, i, err);
	/* If there are sessions on the node, the watch (cli/watch.h) has
	 * already reported that the node is lost. */
	if (!r->timed.v[i].code && !r->counted.v[i].code)
		inv_screen_note_node(r->cluster.screen, r->names[i], err->text);
}

static void answered(struct inv_top_run *r, size_t i)
{
	struct inv_top_gauge *g = &r->gauges[i];
	struct inv_gauged now;
	struct inv_err err = { 0 };
	int rc = inv_gauge_got(&g->ask, &now, &err);

	inv_asks_release(&g->ask, 1);
	g->answered = true;
	/* The node is busy: a later request can succeed. */
	if (rc == INV_ETIME) {
		note_node(r, i, &err);
	} else if (rc) {
		lose(r, i, &err);
	} else {
		if (!r->model.frozen)
			inv_board_measured(&r->model, i, &now);
		r->dirty = true;
	}
	inv_gauged_release(&now);
}

static void mailed(void *arg, struct inv_mail *mail)
{
	struct inv_top_run *r = arg;

	for (size_t i = 0; i < r->n; i++) {
		struct inv_top_gauge *g = &r->gauges[i];

		if (!g->there || g->gauge.conn != mail->conn)
			continue;
		if (inv_ask_open(&g->ask) && inv_ask_mail(&g->ask, mail))
			answered(r, i);
		else if (mail->kind == INV_MAIL_LOST)
			lose(r, i, &mail->err);
	}
}

/* Sends requests to the gauges that are due. Returns when the next gauge is
 * due. */
static int64_t ask_gauges(struct inv_top_run *r, int64_t now)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < r->n; i++) {
		struct inv_top_gauge *g = &r->gauges[i];

		if (!g->there || inv_ask_open(&g->ask))
			continue;
		if (now >= g->next_ms) {
			g->next_ms = now + (int64_t)r->every_ms;
			inv_gauge_ask(&g->ask, &g->gauge,
				      inv_cluster_ms(&r->cluster));
			if (g->ask.done)
				answered(r, i);
		}
		if (g->next_ms < next)
			next = g->next_ms;
	}
	return next;
}

static int start_gauges(struct inv_top_run *r)
{
	struct inv_ask *asks = calloc(r->n + 1, sizeof(*asks));
	int status = INV_EXIT_DONE;

	if (!asks) {
		inv_screen_note(r->cluster.screen, "no memory");
		return INV_EXIT_FAILED;
	}
	for (size_t i = 0; i < r->n; i++)
		inv_gauge_start_ask(&asks[i], r->all.v[i].at->conn,
				    &r->all.v[i].at->guard, ROWS,
				    (int64_t)r->every_ms,
				    inv_cluster_ms(&r->cluster));
	if (inv_gather(r->cluster.in, asks, r->n, r->cluster.stop.fd))
		status = INV_EXIT_FAILED;
	for (size_t i = 0; !status && i < r->n; i++) {
		struct inv_err err = { 0 };
		int rc = inv_gauge_start_got(&asks[i], &r->gauges[i].gauge,
					     &err);

		r->gauges[i].there = !rc;
		if (rc)
			inv_screen_note_node(r->cluster.screen, r->names[i],
					     err.text);
		if (inv_code_gone(rc))
			r->timed.v[i].there = r->counted.v[i].there = false;
		if (rc && !status)
			status = inv_exit_of(rc);
	}
	inv_asks_release(asks, r->n);
	free(asks);
	return status;
}

/* Ends the gauges, so that the guards need not wait for them. */
static void stop_gauges(struct inv_top_run *r)
{
	struct inv_ask *asks = calloc(r->n + 1, sizeof(*asks));

	for (size_t i = 0; i < r->n; i++)
		inv_asks_release(&r->gauges[i].ask, 1);
	for (size_t i = 0; asks && i < r->n; i++) {
		if (r->gauges[i].there)
			inv_gauge_stop_ask(&asks[i], &r->gauges[i].gauge,
					   inv_cluster_ms(&r->cluster));
		else
			asks[i].done = true;
		r->gauges[i].there = false;
	}
	if (asks) {
		inv_gather_for(r->cluster.in, asks, r->n,
			       inv_cluster_ms(&r->cluster));
		inv_asks_release(asks, r->n);
	}
	free(asks);
}

/* --- sessions ------------------------------------------------------------- */

static int start_sessions(struct inv_top_run *r, struct inv_members *ms,
			  const char *kind, struct inv_session_count *count,
			  const char *const *specs, size_t n_specs)
{
	struct inv_session_opts o;
	char name[64];

	inv_trace_opts_session(&r->what, &o);
	/* With --once, the command stops the sessions when all of them have
	 * traced for the time of --once. */
	if (r->once)
		o.number[INV_OPT_LIMIT_MS] = INV_UNSET;
	inv_session_name_make(name, sizeof(name), kind);
	o.name = name;
	o.owner = r->cluster.owner;
	o.mode = INV_MODE_LIVE;
	o.specs = (struct inv_strings){ specs, n_specs };
	count->every_ms = (int64_t)r->every_ms;
	o.count = count;
	o.number[INV_OPT_FLUSH_MS] = FLUSH_MS;
	return inv_members_start(ms, &o);
}

/* Makes room for the members of both kinds of sessions. */
static int init_members(struct inv_top_run *r)
{
	struct inv_member *v;
	int status = inv_members_init(&r->all, &r->cluster);
	size_t n = r->all.n;

	if (status)
		return status;
	v = realloc(r->all.v, (2 * n + 1) * sizeof(*v));
	r->gauges = calloc(n + 1, sizeof(*r->gauges));
	r->names = calloc(n + 1, sizeof(*r->names));
	if (v)
		r->all.v = v;
	if (!v || !r->gauges || !r->names) {
		inv_screen_note(r->cluster.screen, "no memory");
		return INV_EXIT_FAILED;
	}
	memcpy(v + n, v, n * sizeof(*v));
	r->all.n = 2 * n;
	r->n = n;
	r->timed = (struct inv_members){ &r->cluster, v, n };
	r->counted = (struct inv_members){ &r->cluster, v + n, n };
	for (size_t i = 0; i < n; i++)
		r->names[i] = v[i].name;
	return INV_EXIT_DONE;
}

static int start(struct inv_top_run *r)
{
	static const char *const receive[] = { "receive" };
	int status = INV_EXIT_DONE;

	r->by_function =
		(struct inv_session_count){ .of = "times", .by = "function" };
	r->by_process =
		(struct inv_session_count){ .of = "events", .by = "process" };
	if (r->what.n_specs)
		status = start_sessions(r, &r->timed, "top", &r->by_function,
					r->what.specs, r->what.n_specs);
	if (!status && r->messages)
		status = start_sessions(r, &r->counted, "top-messages",
					&r->by_process, receive, 1);
	if (!status)
		status = start_gauges(r);
	return status;
}

/* --- while it runs -------------------------------------------------------- */

static struct inv_collect *collect_of(struct inv_top_run *r,
				      const struct inv_member *m)
{
	return m < r->counted.v ? &r->times : &r->counts;
}

static void took(void *arg, struct inv_member *m, const struct inv_followed *f)
{
	struct inv_top_run *r = arg;

	if (!r->failed && inv_collect_took(collect_of(r, m), m, f))
		inv__top_no_memory(r);
}

static void ended(void *arg, struct inv_member *m)
{
	struct inv_top_run *r = arg;

	if (!r->failed && inv_collect_ended(collect_of(r, m), m))
		inv__top_no_memory(r);
}

static bool going(void *arg)
{
	const struct inv_top_run *r = arg;

	return !r->leaving;
}

static uint64_t counted_ms(const struct inv_collect *c)
{
	uint64_t most = 0;

	for (size_t i = 0; i < c->feeds.ms->n; i++) {
		uint64_t ms =
			inv_tallies_ms(&c->tallies, c->feeds.ms->v[i].name);

		most = ms > most ? ms : most;
	}
	return most;
}

static int take(struct inv_top_run *r, struct inv_collect *c, bool by_process,
		int (*give)(struct inv_board *t,
			    const struct inv_ranking *ranking,
			    const struct inv_flow *flow, uint64_t ms))
{
	struct inv_ranking_opts o = { .by_node = by_process };
	struct inv_ranking ranking;
	int rc = inv_ranking_make(&ranking, &c->tallies, &c->flow, &o);

	if (!rc)
		rc = give(&r->model, &ranking, &c->flow, counted_ms(c));
	inv_ranking_release(&ranking);
	return rc;
}

void inv__top_take(struct inv_top_run *r)
{
	int rc = 0;

	if (r->model.has_functions)
		rc = take(r, &r->times, false, inv_board_timed);
	if (!rc && r->model.has_messages)
		rc = take(r, &r->counts, true, inv_board_counted);
	if (!rc)
		rc = inv_board_rows(&r->model);
	if (rc)
		inv__top_no_memory(r);
}

static bool is_arming(const struct inv_top_run *r)
{
	for (size_t i = 0; i < r->all.n; i++) {
		const struct inv_member *m = &r->all.v[i];

		if (m->there &&
		    (!*m->status.state || inv_status_is(&m->status, "arming")))
			return true;
	}
	return false;
}

/* With --once, the period to measure begins when all sessions trace. After the
 * period the gauges must answer once more. Returns when to call this function
 * again. */
static int64_t turn_once(struct inv_top_run *r, int64_t now)
{
	bool open = false;

	if (is_arming(r) && r->end_ms != INT64_MAX)
		r->end_ms = now + (int64_t)r->period_ms;
	if (now >= r->end_ms) {
		r->end_ms = INT64_MAX;
		for (size_t i = 0; i < r->n; i++) {
			r->gauges[i].answered = false;
			if (!inv_ask_open(&r->gauges[i].ask))
				r->gauges[i].next_ms = 0;
		}
		return now;
	}
	for (size_t i = 0; i < r->n; i++)
		open |= r->gauges[i].there && !r->gauges[i].answered;
	if (!r->leaving && !open && r->end_ms == INT64_MAX) {
		r->leaving = true;
		inv_watch_stop(&r->watch, NULL);
	}
	return r->end_ms;
}

static int64_t turn_screen(struct inv_top_run *r, int64_t now)
{
	if (!r->leaving && now >= r->next_ms) {
		r->next_ms = now + (int64_t)r->every_ms;
		if (!r->model.frozen)
			inv__top_take(r);
		r->dirty = true;
	}
	inv__top_screen_turn(r);
	return r->next_ms;
}

static int64_t turn(void *arg)
{
	struct inv_top_run *r = arg;
	int64_t now = inv_mono_ms();
	int64_t next = ask_gauges(r, now), other;

	if (r->watch.interrupted || (!r->once && r->watch.broken))
		r->leaving = true;
	other = r->once ? turn_once(r, now) : turn_screen(r, now);
	next = other < next ? other : next;
	if (r->leaving || next == INT64_MAX)
		return -1;
	now = inv_mono_ms();
	return next > now ? next - now : 0;
}

static int init_model(struct inv_top_run *r)
{
	int rc = inv_board_init(&r->model, r->names, r->n);

	r->model.has_functions = r->what.n_specs > 0;
	r->model.has_messages = r->messages;
	r->model.shows_own = r->json;
	for (size_t i = 0; !rc && i < INV_TOP_TABLES; i++)
		if (r->by[i] != INV_TOP_BYS)
			r->model.by[i] = r->by[i];
	if (r->model.has_functions)
		r->model.table = INV_TOP_FUNCTIONS;
	if (!rc)
		rc = inv_collect_init(&r->times, &r->timed);
	if (!rc)
		rc = inv_collect_init(&r->counts, &r->counted);
	if (rc)
		inv_screen_note(r->cluster.screen, "no memory");
	return rc ? INV_EXIT_FAILED : INV_EXIT_DONE;
}

static int watch(struct inv_top_run *r)
{
	int status = init_model(r);
	int64_t now = inv_mono_ms();

	if (status)
		return status;
	r->watch = (struct inv_watch){
		.ms = &r->all,
		.arg = r,
		.wants = inv_watch_wants_all,
		.took = took,
		.ended = ended,
		.turn = turn,
		.mailed = mailed,
		.going = going,
		.more = r->more,
		.period_ms = STATUS_MS,
		.quiet = true,
		.output = r->once,
	};
	r->period_ms = r->what.ms_given ? r->what.ms : r->every_ms;
	r->end_ms = now + (int64_t)r->period_ms;
	r->next_ms = now + (int64_t)r->every_ms;
	if (!r->once)
		status = inv__top_screen_open(r);
	if (!status)
		inv_watch_run(&r->watch);
	if (!r->once)
		inv__top_screen_close(r);
	return status;
}

static int exit_status(struct inv_top_run *r)
{
	int status = inv_members_exit(&r->all);

	for (size_t i = 0; !status && i < r->n; i++)
		if (!r->gauges[i].there)
			status = INV_EXIT_UNREACHABLE;
	for (size_t i = 0; !status && i < r->all.n; i++)
		if (inv_member_lost(&r->all.v[i]))
			status = INV_EXIT_LOST;
	return r->failed ? INV_EXIT_FAILED : status;
}

static int run(struct inv_top_run *r)
{
	bool tracer = r->what.n_specs || r->messages;
	int status = inv_cluster_connect(&r->cluster);

	if (!status)
		status = inv_cluster_attach(&r->cluster, tracer,
					    r->what.remote_dir);
	if (!status)
		status = init_members(r);
	if (!status)
		status = start(r);
	if (!status)
		status = watch(r);
	if (!status && r->once && !r->watch.broken && !r->failed) {
		inv__top_take(r);
		inv__top_print(r);
	}
	if (!status)
		status = exit_status(r);
	if (r->n) {
		stop_gauges(r);
		inv_members_remove(&r->all);
	}
	inv_cluster_leave(&r->cluster);
	return status;
}

int inv_top_run(struct inv_top_run *r)
{
	int status = inv_cluster_open(&r->cluster, "inviso top", &r->nodes,
				      inv_screen_is_terminal() && !r->quiet);

	if (status)
		return status;
	r->child_fd = -1;
	if (!r->once)
		inv_screen_limit(r->cluster.screen, LAST_MS);
	status = run(r);
	if (r->times.feeds.ms)
		inv_collect_release(&r->times);
	if (r->counts.feeds.ms)
		inv_collect_release(&r->counts);
	inv_board_release(&r->model);
	free(r->gauges);
	free(r->names);
	inv_members_release(&r->all);
	return inv_cluster_close(&r->cluster, status);
}
