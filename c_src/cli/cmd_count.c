/* SPDX-License-Identifier: Apache-2.0 */

/* inviso count: counts events inside the nodes. */

#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cmd.h"
#include "cli/dry.h"
#include "cli/members.h"
#include "cli/report.h"
#include "cli/session_name.h"
#include "cli/tee.h"
#include "cli/trace_opts.h"
#include "cli/units.h"
#include "cli/watch.h"
#include "flow/flow.h"
#include "log/live.h"
#include "sink/tally_table.h"

#define FOR_MS 10000
#define TOP 30

/* How often a node notes its counts, at least. */
#define NOTE_MS 1000
#define EVERY_MIN_MS 100

/* Time after which a spooler takes notes from a packet that is not full. */
#define FLUSH_MS 50
#define STATUS_MS 200

struct count {
	struct inv_node_opts nodes;
	struct inv_trace_opts what;
	struct inv_session_count by;
	struct inv_tally_table table;
	uint64_t every_ms; /* 0: only at the end */
	uint64_t top;
	bool top_given;
	bool json;
	bool quiet;
	/* state */
	struct inv_cluster cluster;
	struct inv_members members;
	struct inv_watch watch;
	struct inv_tee tee;
	struct inv_notices notices;
	struct inv_node *names;	 /* one for each member */
	struct inv_feed **feeds; /* the same */
	struct inv_flow flow;
	struct inv_tallies tallies;
	bool failed;
	uint64_t next_ms; /* of --every: the time of counting that a table
			     shows at least */
	int64_t shown_ms; /* when the last table was printed */
};

/* --- while it runs -------------------------------------------------------- */

static void fail(struct count *c, const char *why)
{
	if (!c->failed && why)
		inv_screen_note(c->cluster.screen, "%s", why);
	c->failed = true;
	c->watch.discard = true;
	inv_watch_stop(&c->watch, why);
}

static bool wants(void *arg, struct inv_member *m)
{
	(void)arg;
	(void)m;
	return true;
}

/* Reads what has arrived of a member's log. */
static void read_feed(struct count *c, struct inv_feed *feed)
{
	struct inv_item *item;
	int rc = 0;

	while (!c->failed && !(rc = feed->ops->next(feed))) {
		item = inv_flow_item(&c->flow, &feed->item);
		if (!item || inv_tallies_item(&c->tallies, item))
			rc = INV_ENOMEM;
		if (rc)
			break;
	}
	if (rc && rc != INV_END)
		fail(c, "no memory");
}

static struct inv_feed *feed_of(const struct count *c,
				const struct inv_member *m)
{
	return c->feeds[m - c->members.v];
}

static void took(void *arg, struct inv_member *m, const struct inv_followed *f)
{
	struct count *c = arg;
	struct inv_feed *feed = feed_of(c, m);
	struct inv_err err = { 0 };

	if (!inv_tee_put(&c->tee, m, f))
		inv_watch_stop(&c->watch, "the log could not be written");
	if (f->len && inv_live_push(feed, f->bytes, f->len, &err))
		inv_screen_note_node(c->cluster.screen, m->name, err.text);
	if (f->watermark == INV_WATERMARK_AT)
		inv_live_mark(feed, f->ns, inv_mono_ms());
	read_feed(c, feed);
}

static void ended(void *arg, struct inv_member *m)
{
	struct count *c = arg;
	struct inv_err err = { 0 };

	if (inv_live_end(feed_of(c, m), &err))
		inv_screen_note_node(c->cluster.screen, m->name, err.text);
	read_feed(c, feed_of(c, m));
}

/* Returns how long events have been counted, in ms, or 0 if this is unknown:
 * on the node that has counted longest. */
static uint64_t elapsed(const struct count *c)
{
	const struct inv_members *ms = &c->members;
	uint64_t most = 0;

	for (size_t i = 0; i < ms->n; i++) {
		uint64_t one = inv_tallies_ms(&c->tallies, ms->v[i].name);

		if (c->what.ms &&
		    inv_status_stopped_by(&ms->v[i].status, "time"))
			return c->what.ms;
		if (one > most)
			most = one;
	}
	return most;
}

/* The same on the node that has counted least, of those that count. */
static uint64_t elapsed_on_all(const struct count *c)
{
	const struct inv_members *ms = &c->members;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < ms->n; i++) {
		uint64_t one = inv_tallies_ms(&c->tallies, ms->v[i].name);

		if (ms->v[i].there && !inv_status_ended(&ms->v[i].status) &&
		    one < least)
			least = one;
	}
	return least == UINT64_MAX ? 0 : least;
}

static void put_table(struct count *c, bool final, struct inv_buf *b)
{
	struct inv_tally_table o = c->table;

	o.ms = elapsed(c);
	o.top = c->top_given || c->json ? c->top : TOP;
	o.final = final;
	if (c->json)
		inv_tally_table_json(&o, &c->tallies, &c->flow, b);
	else
		inv_tally_table_text(&o, &c->tallies, &c->flow, b);
}

/* Appends "-- 12 events counted in 2 s on 3 nodes". */
static void put_counted(const struct count *c,
			const struct inv_tallies_sum *sum, struct inv_buf *b)
{
	uint64_t ms = elapsed(c);

	inv_buf_printf(b, "-- %" PRIu64 " event%s counted", sum->total,
		       sum->total == 1 ? "" : "s");
	if (ms) {
		inv_buf_puts(b, " in ");
		inv_units_put_ms(b, ms);
	}
	if (c->members.n > 1)
		inv_buf_printf(b, " on %zu nodes", c->members.n);
}

/* Prints what was counted so far. On a terminal it replaces what was printed
 * before. */
static void show_now(struct count *c)
{
	struct inv_tallies_sum sum;
	struct inv_buf b = { 0 };

	if (!inv_screen_room(c->cluster.screen))
		return;
	inv_tallies_sum(&c->tallies, NULL, &sum);
	if (!c->json && inv_screen_is_terminal())
		inv_buf_puts(&b, "\033[H\033[J");
	put_table(c, false, &b);
	if (!c->json && !c->quiet) {
		put_counted(c, &sum, &b);
		inv_buf_puts(&b, " so far\n");
	}
	if (!c->json && !inv_screen_is_terminal())
		inv_buf_putc(&b, '\n');
	inv_screen_put(c->cluster.screen, &b);
}

static void draw(struct count *c)
{
	struct inv_tallies_sum sum;
	struct inv_buf b = { 0 };

	inv_tallies_sum(&c->tallies, NULL, &sum);
	inv_report_put_arming(&b, &c->members);
	inv_buf_printf(&b, "%" PRIu64 " counted", sum.total);
	inv_report_put_left(&b, &c->members);
	inv_buf_put(&b, "", 1);
	if (!b.error)
		inv_screen_status(c->cluster.screen, (const char *)b.data);
	inv_buf_release(&b);
}

/*
 * With --every, prints a table when all nodes have noted what they counted in
 * the period. A node that is late is waited for, but no more than a period.
 */
static int64_t turn(void *arg)
{
	struct count *c = arg;
	int64_t now = inv_mono_ms();
	uint64_t ms = elapsed_on_all(c);

	draw(c);
	if (!c->every_ms)
		return -1;
	if (ms < c->next_ms && now >= c->shown_ms + 2 * (int64_t)c->every_ms)
		ms = elapsed(c);
	if (ms >= c->next_ms) {
		show_now(c);
		c->next_ms = ms - ms % c->every_ms + c->every_ms;
		c->shown_ms = now;
	}
	return -1;
}

/* --- the end -------------------------------------------------------------- */

/* What was not counted under a key. */
struct missing {
	uint64_t others;  /* beyond the bound on keys */
	uint64_t lost;	  /* not counted at all */
	uint64_t late;	  /* after the limit */
	uint64_t unnoted; /* counted, but the log does not say under which
			     key */
	bool unknown;	  /* a node was lost: these are its last counts */
};

static void add_missing(const struct count *c, const struct inv_member *m,
			struct missing *out)
{
	const struct inv_status *s = &m->status;
	struct inv_tallies_sum sum;

	inv_tallies_sum(&c->tallies, m->name, &sum);
	out->others += sum.others;
	out->lost += inv_member_lost(m);
	for (size_t i = 0; i < s->n_lost; i++)
		if (inv_lost_is_limit(s->lost[i].reason))
			out->late += s->lost[i].n;
	/* On a node where nothing matches there is nothing to know. */
	if (m->code != INV_ENOTHING && feed_of(c, m)->unended)
		out->unknown = true;
	else if (sum.total > sum.keyed + sum.others)
		out->unnoted += sum.total - sum.keyed - sum.others;
}

static struct missing missing(const struct count *c)
{
	struct missing out = { 0 };

	for (size_t i = 0; i < c->members.n; i++)
		add_missing(c, &c->members.v[i], &out);
	return out;
}

static void put_missing(const struct missing *x, struct inv_buf *b)
{
	if (x->others)
		inv_buf_printf(b,
			       "; %" PRIu64 " of them under keys beyond the "
			       "bound, as others",
			       x->others);
	if (x->unnoted)
		inv_buf_printf(b,
			       "; %" PRIu64 " of them without their key, "
			       "because notes were lost",
			       x->unnoted);
	if (x->lost)
		inv_buf_printf(b, "; %" PRIu64 " more were not counted",
			       x->lost);
	if (x->late)
		inv_buf_printf(b, "; %" PRIu64 " came after the limit",
			       x->late);
	if (x->unknown)
		inv_buf_puts(b, "; incomplete: a node was lost, these are its "
				"last counts");
}

static void put_end_text(const struct count *c, const struct missing *x,
			 struct inv_buf *b)
{
	struct inv_tallies_sum sum;

	inv_tallies_sum(&c->tallies, NULL, &sum);
	put_counted(c, &sum, b);
	put_missing(x, b);
	inv_buf_puts(b, "; stopped: ");
	inv_report_put_stopped(b, &c->members, c->watch.interrupted);
	inv_buf_putc(b, '\n');
}

static void put_end_json(const struct count *c, const struct missing *x,
			 struct inv_buf *b)
{
	struct inv_json j = { .out = b };
	struct inv_tallies_sum sum;
	size_t begin;

	inv_tallies_sum(&c->tallies, NULL, &sum);
	inv_json_open(&j, NULL, '{');
	inv_json_uint(&j, "counted", sum.total);
	inv_json_uint(&j, "others", x->others);
	inv_json_uint(&j, "unnoted", x->unnoted);
	inv_json_uint(&j, "not_counted", x->lost);
	inv_json_uint(&j, "after_limit", x->late);
	inv_json_bool(&j, "complete", !x->unknown);
	inv_json_uint(&j, "ms", elapsed(c));
	inv_json_text(&j, "mechanism", "tracer");
	begin = inv_json_begin(&j, "stopped");
	inv_report_put_stopped(b, &c->members, c->watch.interrupted);
	inv_json_end(&j, begin);
	inv_report_json_nodes(&j, &c->members);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

static int exit_status(const struct count *c, const struct missing *x)
{
	int status = inv_members_exit(&c->members);
	struct inv_tallies_sum sum;

	if (c->failed || c->tee.failed)
		return INV_EXIT_FAILED;
	if (!status && (x->unnoted || x->lost))
		status = INV_EXIT_LOST;
	inv_tallies_sum(&c->tallies, NULL, &sum);
	if (!status && !sum.total && !c->watch.interrupted) {
		inv_screen_note(c->cluster.screen, "no event");
		status = INV_EXIT_NOTHING;
	}
	return status;
}

static int show(struct count *c)
{
	struct missing x = missing(c);
	struct inv_buf b = { 0 };
	struct inv_buf end = { 0 };

	inv_screen_status(c->cluster.screen, "");
	if (!c->watch.broken) {
		if (!c->json && c->every_ms && inv_screen_is_terminal())
			inv_buf_puts(&b, "\033[H\033[J");
		put_table(c, true, &b);
		if (!c->quiet && !c->json)
			put_end_text(c, &x, &b);
		if (!c->quiet && c->json)
			put_end_json(c, &x, &end);
		inv_screen_put(c->cluster.screen, &b);
		inv_screen_put_err(c->cluster.screen, &end);
	}
	return exit_status(c, &x);
}

/* --- from the beginning --------------------------------------------------- */

/* Returns how often a node notes its counts, so that one of these times is the
 * end of a period of --every. */
static int64_t note_ms(uint64_t every_ms)
{
	uint64_t n = (every_ms + NOTE_MS - 1) / NOTE_MS;

	return n ? (int64_t)((every_ms + n - 1) / n) : NOTE_MS;
}

static void fill_opts(struct count *c, struct inv_session_opts *o, char *name,
		      size_t size)
{
	inv_trace_opts_session(&c->what, o);
	inv_session_name_make(name, size, "count");
	o->name = name;
	o->owner = c->cluster.owner;
	o->mode = INV_MODE_LIVE;
	c->by.every_ms = note_ms(c->every_ms);
	o->count = &c->by;
	o->number[INV_OPT_FLUSH_MS] = FLUSH_MS;
}

static void notify(void *arg, const struct inv_notice *n)
{
	const struct count *c = arg;

	if (n->kind == INV_NOTICE_DAMAGE)
		inv_screen_note(c->cluster.screen,
				"%s: damaged at offset %" PRIu64 ": %s",
				n->file, n->off, n->text);
}

static int init_feeds(struct count *c)
{
	size_t n = c->members.n;
	struct inv_err err = { 0 };
	int rc = 0;

	c->notices.notify = notify;
	c->notices.arg = c;
	c->names = calloc(n + 1, sizeof(*c->names));
	c->feeds = calloc(n + 1, sizeof(struct inv_feed *));
	if (!c->names || !c->feeds)
		return INV_ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		const struct inv_member *m = &c->members.v[i];

		c->names[i].name = (char *)(uintptr_t)m->name;
		c->names[i].number = (uint32_t)i;
		c->names[i].otp_release = m->at->survey.otp;
		rc = inv_live_new(&c->feeds[i], &c->names[i], m->name,
				  INV_LIVE_CAP, &c->notices, &err);
		if (!rc && !m->there)
			rc = inv_live_end(c->feeds[i], &err);
	}
	return rc;
}

static int init(struct count *c)
{
	struct inv_flow_opts o = { 0 };
	int rc = init_feeds(c);

	o.feeds = c->feeds;
	o.n_feeds = (uint32_t)c->members.n;
	if (!rc)
		rc = inv_flow_init(&c->flow, &o);
	return rc ? rc : inv_tallies_init(&c->tallies);
}

static void release(struct count *c)
{
	inv_tallies_release(&c->tallies);
	inv_flow_release(&c->flow);
	for (size_t i = 0; c->feeds && i < c->members.n; i++)
		if (c->feeds[i])
			c->feeds[i]->ops->free(c->feeds[i]);
	free(c->feeds);
	free(c->names);
}

static int watch(struct count *c)
{
	c->watch = (struct inv_watch){
		.ms = &c->members,
		.arg = c,
		.wants = wants,
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
	if (init(c)) {
		inv_screen_note(c->cluster.screen, "no memory");
		return INV_EXIT_FAILED;
	}
	inv_watch_run(&c->watch);
	return INV_EXIT_DONE;
}

static int count(struct count *c)
{
	struct inv_session_opts o;
	char name[64];
	int status = inv_cluster_connect(&c->cluster);

	if (!status)
		status = inv_cluster_attach(&c->cluster, !c->what.dry_run,
					    c->what.remote_dir);
	if (!status)
		status = inv_members_init(&c->members, &c->cluster);
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

static int run(struct count *c)
{
	int status = inv_cluster_open(&c->cluster, "inviso count", &c->nodes,
				      inv_screen_is_terminal() && !c->quiet);

	if (status)
		return status;
	status = count(c);
	(void)inv_tee_close(&c->tee);
	release(c);
	inv_members_release(&c->members);
	return inv_cluster_close(&c->cluster, status);
}

/* --- options -------------------------------------------------------------- */

enum {
	OPT_BY = 256,
	OPT_EVERY,
	OPT_TOP,
};

static const struct argp_option options[] = {
	{ "by", OPT_BY, "KEY", 0,
	  "a count for each function (default; an event that is no call is "
	  "counted by what it is: send, receive, spawn), process or node; also "
	  "function,node",
	  2 },
	{ NULL, 0, NULL, 0, "Output:", 6 },
	{ "every", OPT_EVERY, "TIME", 0,
	  "also print what was counted so far, every TIME (at least 100ms)",
	  6 },
	{ "top", OPT_TOP, "N", 0,
	  "print the N highest counts (30; with --json all; 0: all)", 6 },
	{ "output", 'o', "FILE", 0,
	  "also write the log to FILE, for `inviso merge'; with several nodes "
	  "a file for each, F.log becomes F-NODE.log",
	  6 },
	{ "json", 'j', NULL, 0,
	  "print one JSON object in each line; at the end a summary as JSON on "
	  "standard error",
	  6 },
	{ "quiet", 'q', NULL, 0, "print only counts and errors", 6 },
	{ 0 },
};

static const char doc[] =
	"Counts calls, messages and other events inside the nodes, and records "
	"none of them: an event costs little more than the VM needs to report "
	"it, and memory is fixed. Stops after 10s."
	"\v"
	"SPEC is what `inviso trace' accepts, without actions: functions, with "
	"arguments and conditions, messages, procs, garbage_collection, ... "
	"On a node each thread counts up to 4096 keys; events of further keys "
	"are counted together, as others.\n"
	"\n"
	"Examples:\n"
	"  inviso count -n shop@h1 'shop_cart:_/_'\n"
	"  inviso count -n a@h1,b@h2 --for 1m --by node 'shop:order(_)'\n"
	"  inviso count -n shop@h1 --by process --top 10 receive\n"
	"  inviso count -n shop@h1 --every 1s 'shop:pay(Sum, _) when Sum > "
	"100'\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 a node cannot be reached or "
	"was lost, 4 refused, 5 nothing matched, or no event, 6 stopped by a "
	"protection, 7 done, but events were not counted.";

static const char *const no_keys[] = { "caller", "arg",	   "args", "label",
				       "result", "reason", "name", "value" };

static void by_word(struct count *c, const char *word, size_t len,
		    const char *arg, struct argp_state *state)
{
	if (len == 4 && !strncmp(word, "node", len)) {
		c->table.by_node = true;
		return;
	}
	if (len == 8 && !strncmp(word, "function", len) && !c->by.by) {
		c->by.by = "function";
		return;
	}
	if (len == 7 && !strncmp(word, "process", len) && !c->by.by) {
		c->by.by = "process";
		return;
	}
	for (size_t i = 0; i < sizeof(no_keys) / sizeof(*no_keys); i++)
		if (strlen(no_keys[i]) == len &&
		    !strncmp(word, no_keys[i], len))
			argp_error(state, "--by %s: %.*s is not supported yet",
				   arg, (int)len, word);
	argp_error(state,
		   "--by %s: not one of function, process and node; node can "
		   "follow one of the others: function,node",
		   arg);
}

static void by(struct count *c, const char *arg, struct argp_state *state)
{
	const char *word = arg;

	c->by.by = NULL;
	c->table.by_node = false;
	for (;;) {
		size_t len = strcspn(word, ",");

		by_word(c, word, len, arg, state);
		if (!word[len])
			break;
		word += len + 1;
	}
	c->table.nodes_only = !c->by.by;
	if (!c->by.by)
		c->by.by = "function";
}

static void check(const struct count *c, struct argp_state *state)
{
	if (!c->what.n_specs)
		argp_error(state, "no SPEC is given");
	if (inv_trace_opts_count(&c->what))
		argp_error(state,
			   "a SPEC has an action (->), but events are only "
			   "counted: leave it out, or use `inviso trace'");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct count *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &c->nodes;
		state->child_inputs[1] = &c->what;
		return 0;
	case OPT_BY:
		by(c, arg, state);
		return 0;
	case OPT_EVERY:
		if (inv_units_ms(arg, &c->every_ms) ||
		    c->every_ms < EVERY_MIN_MS || c->every_ms > 3600000)
			argp_error(state,
				   "--every %s: not a time from 100ms to 1h",
				   arg);
		return 0;
	case OPT_TOP:
		if (inv_units_count(arg, &c->top))
			argp_error(state, "--top %s: not " INV_UNITS_COUNT_HELP,
				   arg);
		c->top_given = true;
		return 0;
	case 'o':
		if (!*arg)
			argp_error(state, "-o: the name is empty");
		c->tee.path = arg;
		return 0;
	case 'j':
		c->json = true;
		return 0;
	case 'q':
		c->quiet = true;
		return 0;
	case ARGP_KEY_END:
		inv_node_opts_check(&c->nodes, state);
		check(c, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &inv_node_argp, 0, NULL, 0 },
	{ &inv_count_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SPEC...",
	.doc = doc,
	.children = children,
};

static int exec_count(int argc, char **argv)
{
	struct count c = {
		.what = { .ms = FOR_MS },
		.by = { .by = "function" },
	};
	int status;

	if (!inv_trace_opts_init(&c.what, argc)) {
		fputs("inviso count: no memory\n", stderr);
		status = INV_EXIT_FAILED;
	} else if (argp_parse(&argp, argc, argv, 0, NULL, &c)) {
		status = INV_EXIT_USAGE;
	} else {
		status = run(&c);
	}
	inv_trace_opts_release(&c.what);
	inv_node_opts_release(&c.nodes);
	return status;
}

const struct inv_cmd inv_cmd_count = {
	.name = "count",
	.summary = "count events inside nodes, by function or process",
	.exec = exec_count,
};
