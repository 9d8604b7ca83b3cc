/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sink/duration.h"
#include "sink/fit.h"
#include "sink/hop_text.h"
#include "sink/timefmt.h"

/* --- layout --------------------------------------------------------------- */

/* When an earlier turn of a process is searched, at most this many levels of
 * hops are examined. So the time is proportional to the number of hops, even in
 * an endless chain of messages. */
#define ABOVE_MAX 1000

/* Returns the nearest hop above hop i that goes to the same process, or i if
 * there is none. */
static uint32_t find_anchor(const struct inv_tree *t, uint32_t i)
{
	uint32_t at = t->lines[i].belongs;

	for (int n = 0; n < ABOVE_MAX && at != INV_HOP_NONE; n++) {
		if (t->hops->v[at].to == t->hops->v[i].to)
			return at;
		at = t->lines[at].belongs;
	}
	return i;
}

/* Returns the hop to which hop i belongs (sink/tree.h): normally the anchor of
 * its parent. If a filter has removed hops, the parent may not go to the
 * process that sent hop i. In this case searches above the parent for a hop
 * that goes to this process. */
static uint32_t find_owner(const struct inv_tree *t, uint32_t i)
{
	const struct inv_hop *p = &t->hops->v[i];
	uint32_t at = p->parent;

	for (uint32_t n = 0; n < ABOVE_MAX && at != INV_HOP_NONE; n++) {
		if (!p->skipped || t->hops->v[at].to == p->from)
			return t->lines[at].anchor;
		at = t->lines[at].belongs;
	}
	return t->lines[p->parent].anchor;
}

/* Adds hop i to the hops that belong to its owner. Call this for parents before
 * their children. */
static void place(struct inv_tree *t, uint32_t i)
{
	uint32_t parent = t->hops->v[i].parent;
	struct inv_tree_line *l = &t->lines[i], *above;

	l->first = l->last = l->next = l->belongs = INV_HOP_NONE;
	if (parent != INV_HOP_NONE) {
		l->belongs = find_owner(t, i);
		above = &t->lines[l->belongs];
		l->depth = above->depth + 1;
		if (above->last == INV_HOP_NONE)
			above->first = i;
		else
			t->lines[above->last].next = i;
		above->last = i;
	}
	l->anchor = inv_hop_arrived(&t->hops->v[i]) ? find_anchor(t, i) : i;
	l->turn = i;
}

/* Gives hop i the number of the next line. */
static void number(struct inv_tree *t, uint32_t i)
{
	struct inv_tree_line *l = &t->lines[i];
	const struct inv_hop *p = &t->hops->v[i];

	t->order[t->n++] = i;
	l->number = t->n;
	if (l->belongs != INV_HOP_NONE)
		l->after = t->lines[l->belongs].turn != p->parent;
	if (inv_hop_arrived(p))
		t->lines[l->anchor].turn = i;
}

/* Numbers the hop and all hops below it. */
static void number_all(struct inv_tree *t, uint32_t root)
{
	uint32_t i = root;

	number(t, i);
	for (;;) {
		if (t->lines[i].first != INV_HOP_NONE) {
			i = t->lines[i].first;
		} else {
			while (i != root && t->lines[i].next == INV_HOP_NONE)
				i = t->lines[i].belongs;
			if (i == root)
				return;
			i = t->lines[i].next;
		}
		number(t, i);
	}
}

int inv_tree_layout(struct inv_tree *t, const struct inv_hops *h)
{
	memset(t, 0, sizeof(*t));
	t->hops = h;
	t->lines = calloc(h->n + 1u, sizeof(*t->lines));
	t->order = calloc(h->n + 1u, sizeof(*t->order));
	if (!t->lines || !t->order || inv_hop_sums_init(&t->sums, h))
		return INV_ENOMEM;
	for (uint32_t i = 0; i < h->n; i++)
		place(t, i);
	for (uint32_t i = 0; i < h->n; i++)
		if (h->v[i].parent == INV_HOP_NONE)
			number_all(t, i);
	return 0;
}

void inv_tree_release(struct inv_tree *t)
{
	free(t->lines);
	free(t->order);
	inv_hop_sums_release(&t->sums);
	memset(t, 0, sizeof(*t));
}

/* --- text ----------------------------------------------------------------- */

/* If a hop is deeper than this, the number of its level is printed instead of
 * the drawn branches. */
#define LEVELS_MAX 10u

#define PLAIN "\033[0m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define YELLOW "\033[33m"

struct printer {
	const struct inv_tree_opts *o;
	struct inv_tree *t;
	struct inv_buf *out;
	struct inv_buf spare;
	struct inv_timefmt time;
	int64_t begin_ns; /* time at which the request began */
};

static void color(const struct printer *p, const char *code)
{
	if (p->o->color)
		inv_buf_puts(p->out, code);
}

static void column(struct inv_buf *out, int64_t ns, bool rough)
{
	size_t from = out->len;

	if (ns >= 0) {
		if (rough)
			inv_buf_putc(out, '~');
		inv_duration_put(ns, out);
	}
	inv_fit_right(out, from, 10);
}

static void times(struct printer *p, uint32_t i)
{
	const struct inv_hop *hop = &p->t->hops->v[i];
	const struct inv_tree_line *l = &p->t->lines[i];
	int64_t at = inv_hop_time(hop) - p->begin_ns;
	size_t from = p->out->len;

	inv_buf_u64(p->out, l->number);
	inv_fit_right(p->out, from, 4);
	inv_buf_putc(p->out, ' ');
	color(p, YELLOW);
	inv_buf_putc(p->out, hop->critical ? '*' : ' ');
	color(p, RED);
	inv_buf_putc(p->out, inv_hop_uncertain(hop) ? '?' : ' ');
	color(p, PLAIN);
	color(p, DIM);
	from = p->out->len;
	inv_duration_put(at, p->out);
	inv_fit_right(p->out, from, 9);
	column(p->out, inv_hop_mailbox(hop), hop->crosses);
	column(p->out, inv_hop_handler(hop), false);
	color(p, PLAIN);
	inv_buf_puts(p->out, "  ");
}

/* Draws the lines that lead from the hops above hop i to hop i. */
static void branches(struct printer *p, uint32_t i)
{
	const struct inv_tree_line *lines = p->t->lines;
	uint32_t depth = lines[i].depth;
	bool more[LEVELS_MAX];
	uint32_t at = i;

	if (!depth)
		return;
	if (depth > LEVELS_MAX) {
		inv_buf_printf(p->out, "…%" PRIu32 " ", depth);
		return;
	}
	for (uint32_t n = depth; n > 0; n--) {
		more[n - 1] = lines[at].next != INV_HOP_NONE;
		at = lines[at].belongs;
	}
	for (uint32_t n = 0; n + 1 < depth; n++)
		inv_buf_puts(p->out, more[n] ? "│ " : "  ");
	inv_buf_puts(p->out, more[depth - 1] ? "├─" : "└─");
}

/* Prints how many hops between hop i and its parent a filter has removed, and
 * which process sent the message. */
static void skipped(struct printer *p, uint32_t i)
{
	const struct inv_hop *hop = &p->t->hops->v[i];
	uint32_t owner = p->t->lines[i].belongs;

	inv_buf_printf(p->out, "(%" PRIu32 " left out", hop->skipped);
	if (hop->from != INV_HOP_NONE && hop->from != p->t->hops->v[owner].to) {
		inv_buf_puts(p->out, ", from ");
		inv_hop_process_text(p->t->hops, hop->from, p->out);
	}
	inv_buf_puts(p->out, ") ");
}

static void line(struct printer *p, uint32_t i)
{
	const struct inv_hops *h = p->t->hops;
	const struct inv_hop *hop = &h->v[i];
	const struct inv_tree_line *l = &p->t->lines[i];

	times(p, i);
	branches(p, i);
	if (inv_hop_arrived(hop)) {
		inv_hop_process_text(h, hop->to, p->out);
		inv_buf_putc(p->out, ' ');
	} else if (hop->kind != INV_HOP_PRINT) {
		inv_buf_puts(p->out, "to ");
		inv_hop_aim_text(h, hop, p->out);
		inv_buf_putc(p->out, ' ');
	}
	if (l->after)
		inv_buf_printf(p->out, "(after %" PRIu32 ") ",
			       p->t->lines[hop->parent].number);
	if (hop->skipped)
		skipped(p, i);
	color(p, RED);
	inv_hop_doubt(hop, p->out);
	color(p, PLAIN);
	inv_hop_short(h, hop, p->out);
	inv_buf_putc(p->out, '\n');
}

static void head(struct printer *p, uint32_t root)
{
	const struct inv_hop *hop = &p->t->hops->v[root];

	p->begin_ns = inv_hop_time(hop);
	inv_buf_printf(p->out, "request %" PRIu64 ", label %s, began ",
		       hop->request, inv_hops_text(p->t->hops, hop->label));
	inv_timefmt_put(&p->time, p->begin_ns, p->out);
	inv_buf_puts(p->out, "\n   #        time   mailbox   handler\n");
}

static void tail(struct printer *p, uint32_t root)
{
	const struct inv_hop *hop = &p->t->hops->v[root];
	struct inv_hop_sum sum;

	inv_hop_sum(&p->t->sums, root, &sum);
	inv_buf_puts(p->out, "-- ");
	inv_hop_sum_text(&sum, p->out);
	inv_buf_puts(p->out, "; * critical path, ");
	inv_duration_put(hop->critical_ns, p->out);
	inv_buf_putc(p->out, '\n');
	if (hop->filtered)
		inv_buf_printf(p->out,
			       "-- %" PRIu32 " hop(s) are not selected\n",
			       hop->filtered);
	if (sum.not_received)
		inv_buf_printf(p->out,
			       "-- %" PRIu32
			       " message(s) without a receive event\n",
			       sum.not_received);
	if (sum.orphans + sum.uncertain)
		inv_buf_printf(
			p->out,
			"-- ? what %" PRIu32
			" hop(s) follow from is not certain or missing\n",
			sum.orphans + sum.uncertain);
}

static void finish(struct printer *p, size_t from, uint32_t root)
{
	tail(p, root);
	if (p->o->width)
		inv_fit_lines(p->out, from, p->o->width,
			      p->o->color ? PLAIN : "", &p->spare);
}

int inv_tree_put(const struct inv_hops *h, const struct inv_tree_opts *o,
		 struct inv_buf *out)
{
	struct inv_tree t;
	struct printer p = { .o = o, .t = &t, .out = out };
	uint32_t root = INV_HOP_NONE;
	size_t from = out->len;
	int rc = inv_tree_layout(&t, h);

	p.time.utc = o->utc;
	for (uint32_t n = 0; !rc && n < t.n; n++) {
		uint32_t i = t.order[n];

		if (h->v[i].parent == INV_HOP_NONE) {
			if (root != INV_HOP_NONE)
				finish(&p, from, root);
			from = out->len;
			root = i;
			head(&p, i);
		}
		line(&p, i);
	}
	if (!rc && root != INV_HOP_NONE)
		finish(&p, from, root);
	if (h->left_out)
		inv_buf_printf(out,
			       "*** %" PRIu64 " further events are not shown, "
			       "because a request has too many\n",
			       h->left_out);
	inv_buf_release(&p.spare);
	inv_tree_release(&t);
	return rc ? rc : out->error;
}
