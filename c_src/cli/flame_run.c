/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/flame_run.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/cleanup.h"
#include "cli/cmd.h"
#include "cli/dry.h"
#include "cli/report.h"
#include "cli/session_name.h"
#include "cli/units.h"
#include "sink/duration.h"
#include "sink/output.h"
#include "sink/profile_sink.h"

/*
 * How long samples may wait, in ms, until a spooler takes them from a packet
 * that is not full.
 */
#define FLUSH_MS 200
#define STATUS_MS 200

/* --- while it runs -------------------------------------------------------- */

static void fail(struct inv_flame *c, const char *why)
{
	if (!c->failed && why)
		inv_screen_note(c->cluster.screen, "%s", why);
	c->failed = true;
	c->watch.discard = true;
	inv_watch_stop(&c->watch, why);
}

/* Adds to the profile the items of a member's log that have arrived. */
static void read_feed(struct inv_flame *c, struct inv_feed *feed)
{
	struct inv_item *item;
	int rc = 0;

	while (!c->failed && !(rc = feed->ops->next(feed))) {
		item = inv_flow_item(&c->flow, &feed->item);
		if (!item) {
			rc = INV_ENOMEM;
			break;
		}
		if (item->kind == INV_ITEM_EVENT)
			inv_flow_profile(&c->flow, item);
	}
	if (rc && rc != INV_END)
		fail(c, "no memory");
}

static void took(void *arg, struct inv_member *m, const struct inv_followed *f)
{
	struct inv_flame *c = arg;

	if (!inv_tee_put(&c->tee, m, f))
		inv_watch_stop(&c->watch, "the log could not be written");
	read_feed(c, inv_feeds_took(&c->feeds, m, f));
}

static void ended(void *arg, struct inv_member *m)
{
	struct inv_flame *c = arg;

	read_feed(c, inv_feeds_ended(&c->feeds, m));
}

static int64_t turn(void *arg)
{
	struct inv_flame *c = arg;
	struct inv_buf b = { 0 };

	inv_report_put_arming(&b, &c->members);
	inv_buf_printf(&b, "%" PRIu64 " paths", inv_paths_count(&c->profile));
	inv_report_put_left(&b, &c->members);
	inv_buf_put(&b, "", 1);
	if (!b.error)
		inv_screen_status(c->cluster.screen, (const char *)b.data);
	inv_buf_release(&b);
	return -1;
}

/* --- the end -------------------------------------------------------------- */

static uint64_t ratio(uint64_t x, uint64_t of, uint64_t by)
{
	return of ? (uint64_t)((double)x * (double)by / (double)of) : 0;
}

/* Prints how the samples of a node were taken. */
static void put_sampling(const struct inv_flame *c, const struct inv_member *m,
			 struct inv_buf *b)
{
	const struct inv_sampling_sums *s =
		inv_flow_sampling(&c->flow, &c->feeds.nodes[m - c->members.v]);
	const uint64_t *v = s ? s->v : NULL;
	uint64_t hz;

	inv_buf_printf(b, "-- %s: ", m->name);
	if (!v) {
		inv_buf_puts(b, "no samples\n");
		return;
	}
	hz = ratio(v[INV_SAMPLING_TICKS], v[INV_SAMPLING_NS], 10000000000);
	inv_buf_printf(
		b,
		"%" PRIu64 " stacks of %" PRIu64 " processes, at %" PRIu64
		".%" PRIu64 " of %" PRIu64 " Hz; the sampler took %" PRIu64
		".%02" PRIu64 " %% of one scheduler\n",
		v[INV_SAMPLING_STACKS], v[INV_SAMPLING_PROCESSES], hz / 10,
		hz % 10, v[INV_SAMPLING_ASKED_HZ],
		ratio(v[INV_SAMPLING_COST_NS], v[INV_SAMPLING_NS], 100),
		ratio(v[INV_SAMPLING_COST_NS], v[INV_SAMPLING_NS], 10000) %
			100);
	if (v[INV_SAMPLING_FOUND] > v[INV_SAMPLING_STACKS])
		inv_buf_printf(b,
			       "--   the stacks stand for %" PRIu64
			       " more: in a tick a node asks at most %" PRId64
			       " processes of each kind\n",
			       v[INV_SAMPLING_FOUND] - v[INV_SAMPLING_STACKS],
			       c->sample.most);
	if (v[INV_SAMPLING_LATE])
		inv_buf_printf(b,
			       "--   %" PRIu64
			       " %% of the stacks are where the process waited "
			       "when it answered, and not where it ran\n",
			       ratio(v[INV_SAMPLING_LATE],
				     v[INV_SAMPLING_STACKS], 100));
	if (v[INV_SAMPLING_CUT])
		inv_buf_printf(b,
			       "--   %" PRIu64
			       " %% of the stacks are cut: the node reports no "
			       "more functions (backtrace_depth)\n",
			       ratio(v[INV_SAMPLING_CUT],
				     v[INV_SAMPLING_STACKS], 100));
	if (v[INV_SAMPLING_LOST])
		inv_buf_printf(b,
			       "--   %" PRIu64
			       " more stacks were lost: the buffer was full\n",
			       v[INV_SAMPLING_LOST]);
}

static uint64_t lost(const struct inv_flame *c)
{
	uint64_t n = c->profile.unsure;

	for (size_t i = 0; i < c->members.n; i++) {
		const struct inv_sampling_sums *s =
			inv_flow_sampling(&c->flow, &c->feeds.nodes[i]);

		n += inv_member_lost(&c->members.v[i]);
		n += s ? s->v[INV_SAMPLING_LOST] : 0;
	}
	return n;
}

static void put_end(const struct inv_flame *c, struct inv_buf *b)
{
	const struct inv_paths_frame *root = inv_paths_root(&c->profile);

	inv_buf_puts(b, "-- ");
	inv_duration_put(root->total_ns > INT64_MAX ? INT64_MAX :
						      (int64_t)root->total_ns,
			 b);
	inv_buf_printf(b, " in %" PRIu64 " %s", root->total_count,
		       inv_paths_unit(&c->profile));
	if (c->what.n_specs && lost(c))
		inv_buf_printf(b,
			       "; %" PRIu64 " events were lost, or calls left "
			       "out because of that",
			       lost(c));
	if (c->profile.evicted)
		inv_buf_printf(b,
			       "; %" PRIu64
			       " paths with little time are (others)",
			       c->profile.evicted);
	inv_buf_puts(b, "; stopped: ");
	inv_report_put_stopped(b, &c->members, c->watch.interrupted);
	inv_buf_putc(b, '\n');
	for (size_t i = 0; !c->what.n_specs && i < c->members.n; i++)
		put_sampling(c, &c->members.v[i], b);
}

/* Appends the profile in the format that the user has chosen. */
static void put_profile(struct inv_flame *c, struct inv_buf *b)
{
	struct inv_json j = { .out = b };

	if (c->json)
		inv_paths_json(&c->profile, &j);
	else if (!c->format)
		inv_paths_text(&c->profile, c->top, b);
	else
		inv_paths_write(c->format, &c->profile, b);
}

static int write_file(struct inv_flame *c)
{
	struct inv_output out;
	struct inv_err err = { 0 };
	int rc;

	inv_cleanup_hold();
	rc = inv_output_file(&out, c->output, &err);
	inv_cleanup_file(rc ? NULL : out.tmp);
	inv_cleanup_let();
	if (!rc) {
		put_profile(c, &out.buf);
		rc = out.buf.error;
		inv_cleanup_hold();
		inv_cleanup_file(NULL);
		if (rc)
			(void)inv_output_close(&out, false, NULL);
		else
			rc = inv_output_close(&out, true, &err);
		inv_cleanup_let();
	}
	if (rc)
		inv_screen_note(c->cluster.screen, "%s",
				*err.text ? err.text : "no memory");
	return rc;
}

static int exit_status(const struct inv_flame *c)
{
	int status = inv_members_exit(&c->members);

	if (c->failed || c->tee.failed)
		return INV_EXIT_FAILED;
	if (!status && lost(c))
		status = INV_EXIT_LOST;
	if (!status && !inv_paths_root(&c->profile)->total_count &&
	    !c->watch.interrupted) {
		inv_screen_note(c->cluster.screen, c->what.n_specs ?
							   "no call has ended" :
							   "no process ran");
		status = INV_EXIT_NOTHING;
	}
	return status;
}

static int show(struct inv_flame *c)
{
	struct inv_buf b = { 0 };
	struct inv_buf end = { 0 };

	inv_screen_status(c->cluster.screen, "");
	if (inv_paths_finish(&c->profile)) {
		inv_screen_note(c->cluster.screen, "no memory");
		return INV_EXIT_FAILED;
	}
	if (c->watch.broken)
		return exit_status(c);
	if (c->output && write_file(c))
		return INV_EXIT_FAILED;
	if (!c->output)
		put_profile(c, &b);
	if (!c->quiet)
		put_end(c, &end);
	inv_screen_put(c->cluster.screen, &b);
	inv_screen_put_err(c->cluster.screen, &end);
	return exit_status(c);
}

/* --- from the beginning --------------------------------------------------- */

static void fill_opts(struct inv_flame *c, struct inv_session_opts *o,
		      char *name, size_t size)
{
	inv_trace_opts_session(&c->what, o);
	inv_session_name_make(name, size, "flame");
	o->name = name;
	o->owner = c->cluster.owner;
	o->mode = INV_MODE_LIVE;
	o->number[INV_OPT_FLUSH_MS] = FLUSH_MS;
	if (!c->what.n_specs)
		o->sample = &c->sample;
}

static int init(struct inv_flame *c)
{
	struct inv_flow_opts o = { .profile = &c->profile };
	int rc = inv_feeds_init(&c->feeds, &c->members);

	o.feeds = c->feeds.v;
	o.n_feeds = (uint32_t)c->members.n;
	return rc ? rc : inv_flow_init(&c->flow, &o);
}

static void release(struct inv_flame *c)
{
	inv_flow_release(&c->flow);
	inv_paths_release(&c->profile);
	inv_feeds_release(&c->feeds);
}

static int watch(struct inv_flame *c)
{
	c->watch = (struct inv_watch){
		.ms = &c->members,
		.arg = c,
		.wants = inv_watch_wants_all,
		.took = took,
		.ended = ended,
		.turn = turn,
		.period_ms = STATUS_MS,
		.quiet = c->quiet || c->json || !c->what.n_specs,
		.output = !c->output,
		.together = true,
	};
	if (init(c)) {
		inv_screen_note(c->cluster.screen, "no memory");
		return INV_EXIT_FAILED;
	}
	inv_watch_run(&c->watch);
	return INV_EXIT_DONE;
}

static int profile(struct inv_flame *c)
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
		return status ? status : show(c);
	}
	inv_cluster_leave(&c->cluster);
	return status;
}

int inv_flame_run(struct inv_flame *c)
{
	int status;

	if (inv_paths_init(&c->profile, 0)) {
		fputs("inviso flame: no memory\n", stderr);
		inv_paths_release(&c->profile);
		return INV_EXIT_FAILED;
	}
	c->profile.by = c->by;
	status = inv_cluster_open(&c->cluster, "inviso flame", &c->nodes,
				  inv_screen_is_terminal() && !c->quiet);
	if (status) {
		inv_paths_release(&c->profile);
		return status;
	}
	status = profile(c);
	(void)inv_tee_close(&c->tee);
	release(c);
	inv_members_release(&c->members);
	return inv_cluster_close(&c->cluster, status);
}
