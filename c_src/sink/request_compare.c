/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink that compares two requests: inviso merge --compare.
 *
 * The hops of one request are paired with those of the other. The beginnings of
 * both requests are a pair. Below the hops of a pair (in the layout of
 * sink/tree.h), two hops can be paired if they go to the same process, or to
 * processes with the same name, and if their messages are of the same kind
 * (sink/shape.h). If there are several such hops, the first hops are a pair,
 * then the second hops, and so on. If a process makes an additional call in one
 * request, its later hops follow from another answer. But they still have the
 * same place in the tree, so they are still paired.
 */
#include "sink/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/json.h"
#include "flow/facts.h"
#include "flow/hops.h"
#include "sink/duration.h"
#include "sink/fit.h"
#include "sink/hop_sum.h"
#include "sink/hop_text.h"
#include "sink/shape.h"
#include "sink/tree.h"

/* A time counts as longer if it is at least LONGER times the other time, and at
 * least LONGER_NS longer: scheduling alone can cause smaller differences. */
#define LONGER 10
#define LONGER_NS 100000

struct compare_sink {
	struct inv_sink sink;
	struct inv_hops hops[2];
	struct inv_buf spare;
	uint64_t lost;
};

/* One of several hops with the same parent. */
struct child {
	uint64_t key;
	uint32_t hop;
};

struct side {
	const struct inv_hops *h;
	struct inv_tree tree;
	uint32_t *pair;		/* for each hop: its pair in the other request;
				 * INV_HOP_NONE: only this request has the
				 * hop */
	uint32_t *size;		/* for each hop: how many hops are below it,
				 * including itself */
	uint32_t *times;	/* times[i]: if hop i is the first hop of a kind
				 * that only this request has: how many hops of
				 * this kind there are; otherwise 0 */
	struct child *children; /* the children of the current hop */
	uint32_t n;
};

struct comparison {
	struct compare_sink *c;
	struct side sides[2];
	struct inv_buf text;
	uint32_t paths;
	uint32_t longer;
};

/* --- pairs ---------------------------------------------------------------- */

/* Appends the process without its pid: in the two requests, equal processes
 * have different pids. */
static void put_class(const struct inv_hops *h, const struct inv_hop *p,
		      struct inv_buf *out)
{
	uint32_t i = inv_hop_arrived(p) ? p->to : p->aim;
	const struct inv_hop_process *x;

	if (i == INV_HOP_NONE) {
		inv_buf_puts(out, p->kind == INV_HOP_PRINT ? "" : "to");
		return;
	}
	x = h->processes[i];
	inv_buf_puts(out, h->nodes[x->node].name);
	inv_buf_putc(out, ' ');
	inv_buf_puts(out, x->name ? x->name : "a process");
}

/* Appends the process that receives the hop, and the kind of the message. */
static void put_path(const struct inv_hops *h, const struct inv_hop *p,
		     struct inv_buf *out)
{
	const char *text = inv_hops_text(h, p->text);
	const char *signal = inv_signal_text((enum inv_seq_signal)p->signal);

	put_class(h, p, out);
	inv_buf_putc(out, ' ');
	if (p->kind == INV_HOP_PRINT)
		inv_buf_puts(out, "print ");
	if (p->kind == INV_HOP_BEGIN)
		inv_buf_puts(out, "began");
	else if (p->signal == INV_SIGNAL_SPAWN)
		inv_buf_printf(out, "spawn %s", text);
	else if (signal)
		inv_buf_puts(out, signal);
	else
		inv_shape_put(text, strlen(text), out);
}

static int by_key(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->hop < y->hop ? -1 : 1;
}

static void list_children(struct comparison *x, struct side *s, uint32_t hop)
{
	s->n = 0;
	for (uint32_t i = s->tree.lines[hop].first; i != INV_HOP_NONE;
	     i = s->tree.lines[i].next) {
		inv_buf_reset(&x->text);
		put_path(s->h, &s->h->v[i], &x->text);
		s->children[s->n++] =
			(struct child){ XXH3_64bits(x->text.data, x->text.len),
					i };
	}
	qsort(s->children, s->n, sizeof(*s->children), by_key);
}

static void pair_children(struct comparison *x, uint32_t hop, uint32_t other)
{
	struct side *a = &x->sides[0], *b = &x->sides[1];
	uint32_t i = 0, j = 0;

	list_children(x, a, hop);
	list_children(x, b, other);
	while (i < a->n && j < b->n) {
		if (a->children[i].key < b->children[j].key) {
			i++;
		} else if (a->children[i].key > b->children[j].key) {
			j++;
		} else {
			uint32_t m = a->children[i++].hop;
			uint32_t n = b->children[j++].hop;

			a->pair[m] = n;
			b->pair[n] = m;
		}
	}
}

static int open_side(struct side *s, const struct inv_hops *h)
{
	s->h = h;
	s->pair = malloc((h->n + 1u) * sizeof(*s->pair));
	s->size = malloc((h->n + 1u) * sizeof(*s->size));
	s->times = calloc(h->n + 1u, sizeof(*s->times));
	s->children = malloc((h->n + 1u) * sizeof(*s->children));
	if (!s->pair || !s->size || !s->times || !s->children ||
	    inv_tree_layout(&s->tree, h))
		return INV_ENOMEM;
	for (uint32_t i = 0; i < h->n; i++) {
		s->pair[i] = INV_HOP_NONE;
		s->size[i] = 1;
	}
	for (uint32_t i = h->n; i-- > 1;)
		if (s->tree.lines[i].belongs != INV_HOP_NONE)
			s->size[s->tree.lines[i].belongs] += s->size[i];
	return 0;
}

static void close_side(struct side *s)
{
	free(s->pair);
	free(s->size);
	free(s->times);
	free(s->children);
	inv_tree_release(&s->tree);
}

/* --- output --------------------------------------------------------------- */

static void put_request(struct comparison *x, unsigned i)
{
	struct inv_buf *out = x->c->sink.out;
	struct side *s = &x->sides[i];
	struct inv_hop_sum sum;

	inv_hop_sum(&s->tree.sums, 0, &sum);
	inv_buf_printf(out,
		       "request %" PRIu64 ", label %s: ", s->h->v[0].request,
		       inv_hops_text(s->h, s->h->v[0].label));
	inv_hop_sum_text(&sum, out);
	inv_buf_putc(out, '\n');
}

static void only_json(struct comparison *x, unsigned side, uint32_t hop,
		      uint32_t times)
{
	struct inv_json j = { .out = x->c->sink.out };
	const struct side *s = &x->sides[side];

	inv_json_open(&j, NULL, '{');
	inv_json_uint(&j, "only", s->h->v[0].request);
	inv_json_uint(&j, "hop", s->tree.lines[hop].number);
	inv_json_uint(&j, "times", times);
	inv_json_uint(&j, "hops_after", s->size[hop] - 1);
	inv_json_bytes(&j, "path", x->text.data, x->text.len);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

/* Writes a path that only one request took. `times' is the number of hops of
 * the same kind. */
static void put_only(struct comparison *x, unsigned side, uint32_t hop,
		     uint32_t times)
{
	struct inv_buf *out = x->c->sink.out;
	const struct side *s = &x->sides[side];

	x->paths++;
	inv_buf_reset(&x->text);
	put_path(s->h, &s->h->v[hop], &x->text);
	if (x->c->sink.opts.json) {
		only_json(x, side, hop, times);
		return;
	}
	inv_buf_printf(out, "only %" PRIu64 ", line %" PRIu32 ": ",
		       s->h->v[0].request, s->tree.lines[hop].number);
	inv_buf_put(out, x->text.data, x->text.len);
	if (times > 1)
		inv_buf_printf(out, ", %" PRIu32 " times", times);
	if (s->size[hop] > 1)
		inv_buf_printf(out, ", and %" PRIu32 " hop(s) after it",
			       s->size[hop] - 1);
	inv_buf_putc(out, '\n');
}

/*
 * For each kind of hop below hop i, counts the hops without a pair, and stores
 * the number at the first hop of this kind.
 */
static void count_only(struct comparison *x, struct side *s, uint32_t i)
{
	uint32_t n = 0;

	list_children(x, s, i);
	while (n < s->n) {
		uint64_t key = s->children[n].key;
		uint32_t first = INV_HOP_NONE;

		for (; n < s->n && s->children[n].key == key; n++) {
			uint32_t hop = s->children[n].hop;

			if (s->pair[hop] != INV_HOP_NONE)
				continue;
			if (first == INV_HOP_NONE)
				first = hop;
			s->times[first]++;
		}
	}
}

static void put_only_of(struct comparison *x, unsigned side)
{
	struct side *s = &x->sides[side];

	for (uint32_t i = 0; i < s->h->n; i++)
		if (s->pair[i] != INV_HOP_NONE)
			count_only(x, s, i);
	for (uint32_t n = 0; n < s->tree.n; n++) {
		uint32_t i = s->tree.order[n];

		if (s->times[i])
			put_only(x, side, i, s->times[i]);
	}
}

static bool is_longer(int64_t a, int64_t b)
{
	return b >= 0 && a / LONGER >= b && a - b >= LONGER_NS;
}

static void put_longer(struct comparison *x, uint32_t hop, const char *part,
		       int64_t a, int64_t b)
{
	struct inv_buf *out = x->c->sink.out;
	const struct side *s = x->sides;
	uint32_t other = s[0].pair[hop];
	unsigned slower = b > a;

	if (!is_longer(a, b) && !is_longer(b, a))
		return;
	x->longer++;
	inv_buf_reset(&x->text);
	put_path(s[0].h, &s[0].h->v[hop], &x->text);
	if (x->c->sink.opts.json) {
		struct inv_json j = { .out = out };

		inv_json_open(&j, NULL, '{');
		inv_json_uint(&j, "longer", s[slower].h->v[0].request);
		inv_json_open(&j, "hops", '[');
		inv_json_uint(&j, NULL, s[0].tree.lines[hop].number);
		inv_json_uint(&j, NULL, s[1].tree.lines[other].number);
		inv_json_close(&j, ']');
		inv_json_text(&j, "part", part);
		inv_json_open(&j, "ns", '[');
		inv_json_int(&j, NULL, a);
		inv_json_int(&j, NULL, b);
		inv_json_close(&j, ']');
		inv_json_bytes(&j, "path", x->text.data, x->text.len);
		inv_json_close(&j, '}');
		inv_json_line(&j);
		return;
	}
	inv_buf_printf(out,
		       "longer in %" PRIu64 ", lines %" PRIu32 " and %" PRIu32
		       ": ",
		       s[slower].h->v[0].request, s[0].tree.lines[hop].number,
		       s[1].tree.lines[other].number);
	inv_buf_put(out, x->text.data, x->text.len);
	inv_buf_printf(out, ": %s ", part);
	inv_duration_put(a, out);
	inv_buf_puts(out, " and ");
	inv_duration_put(b, out);
	inv_buf_putc(out, '\n');
}

static void put_totals(struct comparison *x)
{
	struct inv_buf *out = x->c->sink.out;
	struct inv_json j = { .out = out };

	if (!x->c->sink.opts.json) {
		inv_buf_printf(out,
			       "-- %" PRIu32 " path(s) that only one request "
			       "took, %" PRIu32
			       " time(s) that are ten times longer\n",
			       x->paths, x->longer);
		return;
	}
	inv_json_open(&j, NULL, '{');
	inv_json_open(&j, "requests", '[');
	for (unsigned i = 0; i < 2; i++)
		inv_json_uint(&j, NULL, x->sides[i].h->v[0].request);
	inv_json_close(&j, ']');
	inv_json_uint(&j, "only", x->paths);
	inv_json_uint(&j, "longer", x->longer);
	inv_json_uint(&j, "left_out",
		      x->sides[0].h->left_out + x->sides[1].h->left_out);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

static void compare(struct comparison *x)
{
	struct side *a = &x->sides[0], *b = &x->sides[1];

	if (!x->c->sink.opts.json) {
		put_request(x, 0);
		put_request(x, 1);
	}
	a->pair[0] = b->pair[0] = 0;
	for (uint32_t i = 0; i < a->h->n; i++)
		if (a->pair[i] != INV_HOP_NONE)
			pair_children(x, i, a->pair[i]);
	put_only_of(x, 0);
	put_only_of(x, 1);
	for (uint32_t n = 0; n < a->tree.n; n++) {
		uint32_t i = a->tree.order[n];
		const struct inv_hop *p = &a->h->v[i], *q;

		if (a->pair[i] == INV_HOP_NONE)
			continue;
		q = &b->h->v[a->pair[i]];
		put_longer(x, i, "mailbox", inv_hop_mailbox(p),
			   inv_hop_mailbox(q));
		put_longer(x, i, "handler", inv_hop_handler(p),
			   inv_hop_handler(q));
	}
	put_totals(x);
}

/* --- the sink ------------------------------------------------------------- */

static int compare_init(struct inv_sink *s)
{
	struct compare_sink *c = (struct compare_sink *)s;

	inv_sink_for_people(s);
	return inv_hops_init(&c->hops[0], s->opts.request_memory) ||
			       inv_hops_init(&c->hops[1],
					     s->opts.request_memory) ?
		       INV_ENOMEM :
		       0;
}

static int compare_event(struct inv_sink *s, const struct inv_item *it)
{
	struct compare_sink *c = (struct compare_sink *)s;

	inv_sink_manner(s, it);
	if (!it->facts || !it->facts->cause)
		return 0;
	for (unsigned i = 0; i < 2; i++)
		if (it->facts->cause->request == s->opts.requests[i] &&
		    inv_hops_add(&c->hops[i], it, &s->print))
			s->out->error = INV_ENOMEM;
	return 0;
}

static void compare_end(struct inv_sink *s)
{
	struct compare_sink *c = (struct compare_sink *)s;
	struct comparison x = { .c = c };
	size_t from = s->out->len;
	uint64_t left_out = c->hops[0].left_out + c->hops[1].left_out;

	s->left_out = left_out;
	if (!c->hops[0].n || !c->hops[1].n)
		return;
	/* Always select the beginnings of both requests. If no other hop of a
	 * request is selected, only its beginning is compared. */
	for (unsigned i = 0; i < 2; i++)
		c->hops[i].v[0].selected = true;
	if (inv_hops_finish(&c->hops[0]) || inv_hops_finish(&c->hops[1]) ||
	    open_side(&x.sides[0], &c->hops[0]) ||
	    open_side(&x.sides[1], &c->hops[1]))
		s->out->error = INV_ENOMEM;
	else
		compare(&x);
	close_side(&x.sides[0]);
	close_side(&x.sides[1]);
	if (x.text.error)
		s->out->error = INV_ENOMEM;
	inv_buf_release(&x.text);
	if (s->opts.json)
		return;
	if (left_out)
		inv_buf_printf(s->out,
			       "*** %" PRIu64 " events are not compared, "
			       "because a request has too many\n",
			       left_out);
	inv_buf_puts(s->out, "-- ");
	inv_summary_text(&s->sum, s->out);
	inv_buf_putc(s->out, '\n');
	if (s->opts.width)
		inv_fit_wrap(s->out, from, s->opts.width, &c->spare);
}

static void compare_release(struct inv_sink *s)
{
	struct compare_sink *c = (struct compare_sink *)s;

	inv_hops_release(&c->hops[0]);
	inv_hops_release(&c->hops[1]);
	inv_buf_release(&c->spare);
}

const struct inv_sink_ops inv_sink_compare = {
	.name = "compare",
	.help = "how two requests differ",
	.size = sizeof(struct compare_sink),
	.init = compare_init,
	.event = compare_event,
	.end = compare_end,
	.release = compare_release,
};
