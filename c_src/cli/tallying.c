/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tallying.h"

#include <inttypes.h>

#include "base/clock.h"
#include "cli/cmd.h"
#include "cli/dry.h"
#include "cli/report.h"
#include "cli/session_name.h"
#include "cli/units.h"

#define TOP 30

/* A node writes its counts into the log at least this often. */
#define NOTE_MS 1000

/* Time after which a spooler takes notes from a packet that is not full. */
#define FLUSH_MS 50
#define STATUS_MS 200

/* --- while it runs -------------------------------------------------------- */

static void fail(struct inv_tallying *c, const char *why)
{
	if (!c->failed && why)
		inv_screen_note(c->cluster.screen, "%s", why);
	c->failed = true;
	c->watch.discard = true;
	inv_watch_stop(&c->watch, why);
}

static void took(void *arg, struct inv_member *m, const struct inv_followed *f)
{
	struct inv_tallying *c = arg;

	if (!inv_tee_put(&c->tee, m, f))
		inv_watch_stop(&c->watch, "the log could not be written");
	if (!c->failed && inv_collect_took(&c->collect, m, f))
		fail(c, "no memory");
}

static void ended(void *arg, struct inv_member *m)
{
	struct inv_tallying *c = arg;

	if (!c->failed && inv_collect_ended(&c->collect, m))
		fail(c, "no memory");
}

/* If a node has stopped at the time limit, it has counted for exactly the time
 * of this limit. (A node that has failed has counted nothing.) */
uint64_t inv__tallying_ms(const struct inv_tallying *c)
{
	const struct inv_members *ms = &c->members;
	uint64_t most = 0;

	for (size_t i = 0; i < ms->n; i++) {
		uint64_t one =
			inv_tallies_ms(&c->collect.tallies, ms->v[i].name);

		if (c->what.ms && inv_status_is(&ms->v[i].status, "stopped") &&
		    inv_status_stopped_by(&ms->v[i].status, "time"))
			return c->what.ms;
		if (one > most)
			most = one;
	}
	return most;
}

/* Returns for how long every node that counts now had counted when it wrote its
 * last note: the shortest of these times, in ms. 0: no node counts. */
static uint64_t elapsed_on_all(const struct inv_tallying *c)
{
	const struct inv_members *ms = &c->members;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < ms->n; i++) {
		uint64_t one =
			inv_tallies_ms(&c->collect.tallies, ms->v[i].name);

		if (ms->v[i].there && !inv_status_ended(&ms->v[i].status) &&
		    !inv_status_is(&ms->v[i].status, "arming") && one < least)
			least = one;
	}
	return least == UINT64_MAX ? 0 : least;
}

void inv__tallying_table(struct inv_tallying *c, bool final, struct inv_buf *b)
{
	struct inv_tally_table o = c->table;

	o.ms = inv__tallying_ms(c);
	o.top = c->top_given || c->json ? c->top : TOP;
	o.final = final;
	/* A table that is printed again and again has one histogram at most. */
	if (!final && o.drawn > 1)
		o.drawn = 1;
	(c->json ? inv_tally_table_json : inv_tally_table_text)(
		&o, &c->collect.tallies, &c->collect.flow, b);
}

/* Appends "-- 12 events counted in 2 s on 3 nodes". */
void inv__tallying_counted(const struct inv_tallying *c,
			   const struct inv_tallies_sum *sum, struct inv_buf *b)
{
	uint64_t ms = inv__tallying_ms(c);

	inv_buf_printf(b, "-- %" PRIu64 " event%s counted", sum->total,
		       sum->total == 1 ? "" : "s");
	if (ms) {
		inv_buf_puts(b, " in ");
		inv_units_put_ms(b, ms);
	}
	if (c->members.n > 1)
		inv_buf_printf(b, " on %zu nodes", c->members.n);
}

/*
 * Prints the counts that the nodes have written so far. On a terminal the new
 * table replaces the table that was printed before.
 */
static void show_now(struct inv_tallying *c)
{
	struct inv_tallies_sum sum;
	struct inv_buf b = { 0 };

	if (!inv_screen_room(c->cluster.screen))
		return;
	inv_tallies_sum(&c->collect.tallies, NULL, &sum);
	if (!c->json && inv_screen_is_terminal())
		inv_buf_puts(&b, "\033[H\033[J");
	inv__tallying_table(c, false, &b);
	if (!c->json && !c->quiet) {
		inv__tallying_counted(c, &sum, &b);
		inv_buf_puts(&b, " so far\n");
	}
	if (!c->json && !inv_screen_is_terminal())
		inv_buf_putc(&b, '\n');
	inv_screen_put(c->cluster.screen, &b);
}

static void draw(struct inv_tallying *c)
{
	struct inv_tallies_sum sum;
	struct inv_buf b = { 0 };

	inv_tallies_sum(&c->collect.tallies, NULL, &sum);
	inv_report_put_arming(&b, &c->members);
	inv_buf_printf(&b, "%" PRIu64 " counted", sum.total);
	inv_report_put_left(&b, &c->members);
	inv_buf_put(&b, "", 1);
	if (!b.error)
		inv_screen_status(c->cluster.screen, (const char *)b.data);
	inv_buf_release(&b);
}

/*
 * With --every, prints a table when all nodes have written their counts of the
 * period into their logs. Waits for a late node, but not longer than one
 * period.
 */
static int64_t turn(void *arg)
{
	struct inv_tallying *c = arg;
	int64_t now = inv_mono_ms();
	uint64_t ms = elapsed_on_all(c);

	draw(c);
	if (!c->every_ms)
		return -1;
	if (ms < c->next_ms && now >= c->shown_ms + 2 * (int64_t)c->every_ms)
		ms = inv__tallying_ms(c);
	if (ms >= c->next_ms) {
		show_now(c);
		c->next_ms = ms - ms % c->every_ms + c->every_ms;
		c->shown_ms = now;
	}
	return -1;
}

/* --- from the beginning --------------------------------------------------- */

/* Returns the interval in ms at which a node writes its counts into its log.
 * The period of --every is a multiple of this interval. */
static int64_t note_ms(uint64_t every_ms)
{
	uint64_t n = (every_ms + NOTE_MS - 1) / NOTE_MS;

	return n ? (int64_t)((every_ms + n - 1) / n) : NOTE_MS;
}

static void fill_opts(struct inv_tallying *c, struct inv_session_opts *o,
		      char *name, size_t size)
{
	inv_trace_opts_session(&c->what, o);
	inv_session_name_make(name, size, c->command);
	o->name = name;
	o->owner = c->cluster.owner;
	o->mode = INV_MODE_LIVE;
	c->by.every_ms = note_ms(c->every_ms);
	o->count = &c->by;
	o->number[INV_OPT_FLUSH_MS] = FLUSH_MS;
}

static int watch(struct inv_tallying *c)
{
	c->watch = (struct inv_watch){
		.ms = &c->members,
		.arg = c,
		.wants = inv_watch_wants_all,
		.took = took,
		.ended = ended,
		.turn = turn,
		.period_ms = STATUS_MS,
		.quiet = c->quiet || c->json,
		.output = true,
		.together = true,
	};
	c->next_ms = c->every_ms;
	c->shown_ms = inv_mono_ms();
	if (inv_collect_init(&c->collect, &c->members)) {
		inv_screen_note(c->cluster.screen, "no memory");
		return INV_EXIT_FAILED;
	}
	inv_watch_run(&c->watch);
	return INV_EXIT_DONE;
}

static int count(struct inv_tallying *c)
{
	struct inv_session_opts o;
	char name[64];
	int status = inv_members_reach(&c->members, &c->cluster,
				       !c->what.dry_run, c->what.remote_dir);

	if (!status && !c->what.dry_run)
		status = inv_tee_open(&c->tee, &c->members);
	if (!status) {
		fill_opts(c, &o, name, sizeof(name));
		status = inv_members_start(&c->members, &o);
	}
	if (!status && c->what.dry_run) {
		status = inv_dry_run(&c->members, c->json, c->quiet);
		inv_members_remove(&c->members);
	} else if (!status) {
		status = watch(c);
		(void)inv_tee_close(&c->tee);
		inv_members_remove(&c->members);
		inv_cluster_leave(&c->cluster);
		return status ? status : inv__tallying_show(c);
	}
	inv_cluster_leave(&c->cluster);
	return status;
}

int inv__tallying_run(struct inv_tallying *c)
{
	int status = inv_cluster_open(&c->cluster, c->program, &c->nodes,
				      inv_screen_is_terminal() && !c->quiet);

	if (status)
		return status;
	status = count(c);
	(void)inv_tee_close(&c->tee);
	inv_collect_release(&c->collect);
	inv_members_release(&c->members);
	return inv_cluster_close(&c->cluster, status);
}
