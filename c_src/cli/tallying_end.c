/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/cmd.h"
#include "cli/report.h"
#include "cli/tallying.h"

/* --- the end -------------------------------------------------------------- */

/* Events that were not counted under a key. */
struct missing {
	uint64_t others;   /* events for whose key the node had no room */
	uint64_t lost;	   /* events that were not counted at all */
	uint64_t late;	   /* events after the limit */
	uint64_t unnoted;  /* events that were counted, but the log does not say
			     under which key */
	bool unknown;	   /* a node was lost, so its last counts are
			      unknown */
	uint64_t unpaired; /* how many of the counted calls have no time */
};

static void add_missing(const struct inv_tallying *c,
			const struct inv_member *m, struct missing *out)
{
	const struct inv_status *s = &m->status;
	struct inv_tallies_sum sum;

	inv_tallies_sum(&c->collect.tallies, m->name, &sum);
	out->others += sum.others;
	out->unpaired += sum.unpaired;
	out->lost += inv_member_lost(m);
	for (size_t i = 0; i < s->n_lost; i++)
		if (inv_lost_is_limit(s->lost[i].reason))
			out->late += s->lost[i].n;
	/* A node on which nothing matches has no counts. */
	if (m->code != INV_ENOTHING && inv_collect_unended(&c->collect, m))
		out->unknown = true;
	else if (sum.total > sum.keyed + sum.others)
		out->unnoted += sum.total - sum.keyed - sum.others;
}

static struct missing missing(const struct inv_tallying *c)
{
	struct missing out = { 0 };

	for (size_t i = 0; i < c->members.n; i++)
		add_missing(c, &c->members.v[i], &out);
	return out;
}

static bool is_of_values(const struct inv_tallying *c)
{
	return c->table.timed && c->by.expr;
}

static void put_missing(const struct inv_tallying *c, const struct missing *x,
			struct inv_buf *b)
{
	if (x->others)
		inv_buf_printf(b,
			       "; %" PRIu64 " of them under keys beyond the "
			       "bound, as others",
			       x->others);
	if (x->unpaired && is_of_values(c))
		inv_buf_printf(b,
			       "; for %" PRIu64
			       " of them the expression has no "
			       "integer from 0 on",
			       x->unpaired);
	else if (x->unpaired)
		inv_buf_printf(b,
			       "; %" PRIu64 " of them unpaired, without a time",
			       x->unpaired);
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

static void put_end_text(const struct inv_tallying *c, const struct missing *x,
			 struct inv_buf *b)
{
	struct inv_tallies_sum sum;

	inv_tallies_sum(&c->collect.tallies, NULL, &sum);
	inv__tallying_counted(c, &sum, b);
	put_missing(c, x, b);
	inv_buf_puts(b, "; stopped: ");
	inv_report_put_stopped(b, &c->members, c->watch.interrupted);
	inv_buf_putc(b, '\n');
}

static void put_end_json(const struct inv_tallying *c, const struct missing *x,
			 struct inv_buf *b)
{
	struct inv_json j = { .out = b };
	struct inv_tallies_sum sum;
	size_t begin;

	inv_tallies_sum(&c->collect.tallies, NULL, &sum);
	inv_json_open(&j, NULL, '{');
	inv_json_uint(&j, "counted", sum.total);
	inv_json_uint(&j, "others", x->others);
	if (c->table.timed)
		inv_json_uint(&j, "unpaired", x->unpaired);
	inv_json_uint(&j, "unnoted", x->unnoted);
	inv_json_uint(&j, "not_counted", x->lost);
	inv_json_uint(&j, "after_limit", x->late);
	inv_json_bool(&j, "complete", !x->unknown);
	inv_json_uint(&j, "ms", inv__tallying_ms(c));
	inv_json_text(&j, "mechanism", "tracer");
	begin = inv_json_begin(&j, "stopped");
	inv_report_put_stopped(b, &c->members, c->watch.interrupted);
	inv_json_end(&j, begin);
	inv_report_json_nodes(&j, &c->members);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

static int exit_status(const struct inv_tallying *c, const struct missing *x)
{
	int status = inv_members_exit(&c->members);
	struct inv_tallies_sum sum;

	if (c->failed || c->tee.failed)
		return INV_EXIT_FAILED;
	if (!status && (x->unnoted || x->lost))
		status = INV_EXIT_LOST;
	inv_tallies_sum(&c->collect.tallies, NULL, &sum);
	if (!status && !sum.total && !c->watch.interrupted) {
		inv_screen_note(c->cluster.screen, "no event");
		status = INV_EXIT_NOTHING;
	}
	return status;
}

int inv__tallying_show(struct inv_tallying *c)
{
	struct missing x = missing(c);
	struct inv_buf b = { 0 };
	struct inv_buf end = { 0 };

	inv_screen_status(c->cluster.screen, "");
	if (!c->watch.broken) {
		if (!c->json && c->every_ms && inv_screen_is_terminal())
			inv_buf_puts(&b, "\033[H\033[J");
		inv__tallying_table(c, true, &b);
		if (!c->quiet && !c->json)
			put_end_text(c, &x, &b);
		if (!c->quiet && c->json)
			put_end_json(c, &x, &end);
		inv_screen_put(c->cluster.screen, &b);
		inv_screen_put_err(c->cluster.screen, &end);
	}
	return exit_status(c, &x);
}
