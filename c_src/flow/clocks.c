/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/clocks.h"

#include <stdlib.h>
#include <string.h>

#include "flow/seq_int.h"

/* All keys consist of numbers of 64 bits, which are hashes or serials. */
#define HASH_FUNCTION(key, len, hash) \
	((hash) = inv__seq_bucket((key), (len) / sizeof(uint64_t)))
#include "base/err.h"
#include "base/uthash.h"

/* At most this many messages are kept while only their send event or only their
 * receive event was read. They take about 100 MiB. */
#define HALVES 1000000u

/* One event of a message: its send event or its receive event. */
struct inv_half {
	struct {
		uint64_t label;
		uint64_t from;
		uint64_t prev;
		uint64_t cur;
	} key;
	int64_t ts_ns;
	uint32_t node;
	bool received;
	bool stored;
	UT_hash_handle hh;
};

int inv_clocks_init(struct inv_clocks *c, uint32_t n)
{
	memset(c, 0, sizeof(*c));
	c->n = n < INV_CLOCKS_NODES ? n : INV_CLOCKS_NODES;
	c->n_all = c->n + INV_CLOCKS_COMMANDS;
	c->nodes = calloc(c->n_all, sizeof(*c->nodes));
	c->pairs = calloc((size_t)c->n_all * c->n_all, sizeof(*c->pairs));
	return c->nodes && c->pairs ? 0 : INV_ENOMEM;
}

static void release_pairs(struct inv_clocks *c)
{
	struct inv_half *h = c->halves;

	HASH_CLEAR(hh, c->halves);
	while (h) {
		struct inv_half *next = h->hh.next;

		free(h);
		h = next;
	}
	for (uint32_t i = 0; c->pairs && i < c->n_all * c->n_all; i++)
		inv_offset_release(&c->pairs[i]);
	free(c->pairs);
	c->pairs = NULL;
}

void inv_clocks_release(struct inv_clocks *c)
{
	release_pairs(c);
	for (uint32_t i = 0; c->nodes && i < c->n; i++) {
		inv_offset_release(&c->nodes[i].offset);
		free(c->nodes[i].name);
	}
	free(c->nodes);
	memset(c, 0, sizeof(*c));
}

static int64_t add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Requires i < j. Returns how far clock j is ahead of clock i, at times of
 * clock i. */
static struct inv_offset *pair(const struct inv_clocks *c, uint32_t i,
			       uint32_t j)
{
	return &c->pairs[i * c->n_all + j];
}

/* --- messages ------------------------------------------------------------- */

static int add_message(struct inv_clocks *c, uint32_t from, int64_t sent_ns,
		       uint32_t to, int64_t received_ns)
{
	int64_t ahead;

	if (from == to)
		return 0;
	if (from < to) {
		if (__builtin_sub_overflow(received_ns, sent_ns, &ahead))
			return 0;
		return inv_offset_add(pair(c, from, to), sent_ns, ahead, true);
	}
	if (__builtin_sub_overflow(sent_ns, received_ns, &ahead))
		return 0;
	return inv_offset_add(pair(c, to, from), received_ns, ahead, false);
}

static void drop(struct inv_clocks *c, struct inv_half *h)
{
	HASH_DEL(c->halves, h);
	free(h);
}

static struct inv_half *find(struct inv_clocks *c, const struct inv_half *like)
{
	struct inv_half *h;

	HASH_FIND(hh, c->halves, &like->key, sizeof(like->key), h);
	return h;
}

static int keep(struct inv_clocks *c, const struct inv_half *like)
{
	struct inv_half *h;

	if (HASH_COUNT(c->halves) >= HALVES) {
		drop(c, c->halves);
		c->forgotten++;
	}
	h = malloc(sizeof(*h));
	if (!h)
		return INV_ENOMEM;
	*h = *like;
	h->stored = true;
	HASH_ADD(hh, c->halves, key, sizeof(h->key), h);
	if (h->stored)
		return 0;
	free(h);
	return INV_ENOMEM;
}

static int see_node(struct inv_clocks *c, const struct inv_item *it)
{
	struct inv_clock_node *n = &c->nodes[it->node->number];

	if (!n->name) {
		n->name = strdup(it->node->name);
		n->first_ns = n->last_ns = it->ts_ns;
	}
	if (it->ts_ns < n->first_ns)
		n->first_ns = it->ts_ns;
	if (it->ts_ns > n->last_ns)
		n->last_ns = it->ts_ns;
	return n->name ? 0 : INV_ENOMEM;
}

int inv_clocks_add(struct inv_clocks *c, const struct inv_item *it,
		   const struct inv_seq *s)
{
	const struct inv_half h = {
		.key = { s->label, s->from, s->prev, s->cur },
		.ts_ns = it->ts_ns,
		.node = it->node->number,
		.received = s->kind == INV_SEQ_RECEIVE,
	};
	struct inv_half *other;
	int rc;

	if (h.node >= c->n)
		return 0;
	if (see_node(c, it))
		return INV_ENOMEM;
	if (s->kind == INV_SEQ_PRINT || s->signal == INV_SIGNAL_PORT ||
	    (s->within && !h.received))
		return 0;
	other = find(c, &h);
	/* A message within a node says nothing about clocks. Its send event may
	 * have been kept, because a send to an alias does not say on which node
	 * the receiver is. Now the node is known, and the send event is not
	 * needed. */
	if (s->within) {
		if (other)
			drop(c, other);
		return 0;
	}
	if (!other)
		return keep(c, &h);
	/* If both are send events, or both are receive events, two messages
	 * have the same serial. Then the two events give no bound. */
	if (other->received == h.received)
		return 0;
	rc = h.received ?
		     add_message(c, other->node, other->ts_ns, h.node,
				 h.ts_ns) :
		     add_message(c, h.node, h.ts_ns, other->node, other->ts_ns);
	drop(c, other);
	return rc;
}

/* --- questions ------------------------------------------------------------ */

/* Returns the number of a command's clock. These clocks are numbered after the
 * clocks of the nodes. Returns n_all if there are too many commands. */
static uint32_t command_at(struct inv_clocks *c, int64_t command)
{
	uint32_t i = 0;

	while (i < INV_CLOCKS_COMMANDS && c->commands[i] &&
	       c->commands[i] != command)
		i++;
	if (i < INV_CLOCKS_COMMANDS)
		c->commands[i] = command;
	return c->n + i;
}

static bool read_integers(struct inv_cursor *c, const struct inv_item *it,
			  int64_t *v, int n)
{
	struct inv_token tok;

	inv_cursor_init(c, INV_ENC_PACKED, it->ev.dict, it->ev.terms,
			it->ev.len);
	for (int i = 0; i < n; i++)
		if (inv_cursor_next(c, &tok) || !inv_token_i64(&tok, &v[i]))
			return false;
	return true;
}

int inv_clocks_note(struct inv_clocks *c, const struct inv_item *it,
		    struct inv_cursor *cursor)
{
	enum {
		COMMAND,
		NUMBER,
		SENT,
		ANSWERED,
		FIELDS
	};
	uint32_t node = it->node->number;
	struct inv_clock_node *x = &c->nodes[node];
	int64_t v[FIELDS];
	uint32_t command;
	int rc = 0;

	if (node >= c->n || !read_integers(cursor, it, v, FIELDS) ||
	    v[COMMAND] <= 0)
		return 0;
	if (see_node(c, it))
		return INV_ENOMEM;
	command = command_at(c, v[COMMAND]);
	if (command < c->n_all && x->question.command == v[COMMAND] &&
	    x->question.number == v[NUMBER] - 1 && v[SENT] > 0 &&
	    v[ANSWERED] >= v[SENT]) {
		rc = add_message(c, command, v[SENT], node, x->question.at);
		if (!rc)
			rc = add_message(c, node, x->question.at, command,
					 v[ANSWERED]);
	}
	x->question.command = v[COMMAND];
	x->question.number = v[NUMBER];
	x->question.at = it->ts_ns;
	return rc;
}

/* --- paths ---------------------------------------------------------------- */

#define UNCONNECTED 1e300

static double width_of(const struct inv_clocks *c, uint32_t i, uint32_t j)
{
	const struct inv_offset *o = i < j ? pair(c, i, j) : pair(c, j, i);

	return o->n ? (double)inv_offset_width(o) : UNCONNECTED;
}

static bool is_connected(double width)
{
	return width < UNCONNECTED;
}

/* Finds the narrowest paths between all nodes and commands (algorithm of Floyd
 * and Warshall), and then each node's reference. */
static void find_paths(struct inv_clocks *c, double *width, uint32_t *next)
{
	uint32_t n = c->n_all;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++) {
			width[i * n + j] = i == j ? 0 : width_of(c, i, j);
			next[i * n + j] = j;
		}
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < n; j++) {
				double w = width[i * n + k] + width[k * n + j];

				if (!is_connected(w) || w >= width[i * n + j])
					continue;
				width[i * n + j] = w;
				next[i * n + j] = next[i * n + k];
			}
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t r = 0;

		while (!is_connected(width[i * n + r]))
			r++;
		c->nodes[i].reference = r;
	}
}

/* Stores in *to how far clock j is ahead of clock i, at times of clock i. */
static int direct(struct inv_clocks *c, uint32_t i, uint32_t j,
		  struct inv_offset *to)
{
	if (i > j)
		return inv_offset_reverse(to, pair(c, j, i));
	*to = *pair(c, i, j);
	memset(pair(c, i, j), 0, sizeof(*to));
	return 0;
}

/*
 * Stores in *to how far clock j is ahead of clock i. The result comes from the
 * questions of a command that has asked both nodes: it is the sum of the offset
 * from i to the command and the offset from the command to j.
 */
static int through(struct inv_clocks *c, uint32_t i, uint32_t command,
		   uint32_t j, struct inv_offset *to)
{
	const struct inv_offset *first = pair(c, i, command);
	struct inv_offset second = { 0 };
	int64_t low, high;
	int rc = inv_offset_reverse(&second, pair(c, j, command));

	if (!rc)
		rc = inv_offset_build(&second);
	for (uint32_t k = 0; !rc && k < first->n_bounds; k++) {
		const struct inv_offset_bound *b = &first->bounds[k];

		inv_offset_at(&second, add(b->at, b->offset), &low, &high);
		if (b->upper && high != INV_OFFSET_NONE)
			rc = inv_offset_add(to, b->at, add(b->offset, high),
					    true);
		if (!b->upper && low != -INV_OFFSET_NONE)
			rc = inv_offset_add(to, b->at, add(b->offset, low),
					    false);
	}
	inv_offset_release(&second);
	return rc;
}

/* Finds the next node on the path from node i to its reference, and computes
 * how far that node's clock is ahead of the clock of node i. A command on the
 * path is skipped. */
static int make_offset(struct inv_clocks *c, uint32_t i, const uint32_t *next)
{
	struct inv_clock_node *x = &c->nodes[i];
	uint32_t hop = next[i * c->n_all + x->reference];
	int rc;

	x->agrees = true;
	x->next = i;
	if (x->reference == i)
		return 0;
	x->next = hop < c->n ? hop : next[hop * c->n_all + x->reference];
	rc = hop < c->n ? direct(c, i, hop, &x->offset) :
			  through(c, i, hop, x->next, &x->offset);
	if (!rc)
		rc = inv_offset_build(&x->offset);
	x->agrees = inv_offset_agrees(&x->offset);
	c->corrects = c->corrects || !x->agrees;
	return rc;
}

/* Computes the knots of each pair (struct inv_offset_knot), from which width_of
 * computes the pair's width. Uses a copy of the bounds, because the bounds are
 * needed again in make_offset. */
static int measure(struct inv_clocks *c)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < c->n_all * c->n_all; i++) {
		struct inv_offset *o = &c->pairs[i];
		struct inv_offset copy = { 0 };
		struct inv_offset_bound *bounds = o->bounds;
		uint32_t n = o->n_bounds;

		if (!n)
			continue;
		copy.bounds = malloc(n * sizeof(*bounds));
		if (!copy.bounds)
			return INV_ENOMEM;
		memcpy(copy.bounds, bounds, n * sizeof(*bounds));
		copy.n_bounds = n;
		rc = inv_offset_build(&copy);
		o->knots = copy.knots;
		o->n = copy.n;
	}
	return rc;
}

int inv_clocks_solve(struct inv_clocks *c)
{
	size_t all = (size_t)c->n_all * c->n_all;
	double *width = malloc(all * sizeof(*width));
	uint32_t *next = malloc(all * sizeof(*next));
	int rc = width && next ? measure(c) : INV_ENOMEM;

	if (!rc)
		find_paths(c, width, next);
	for (uint32_t i = 0; i < all; i++) {
		free(c->pairs[i].knots);
		c->pairs[i].knots = NULL;
		c->pairs[i].n = 0;
	}
	for (uint32_t i = 0; !rc && i < c->n; i++)
		rc = make_offset(c, i, next);
	free(width);
	free(next);
	release_pairs(c);
	return rc;
}

/* --- times ---------------------------------------------------------------- */

int64_t inv_clocks_correct(struct inv_clocks *c, uint32_t node, int64_t ts_ns)
{
	int64_t low, high;

	while (node < c->n && c->nodes[node].next != node) {
		struct inv_clock_node *x = &c->nodes[node];

		if (!x->agrees) {
			inv_offset_at(&x->offset, ts_ns, &low, &high);
			ts_ns = add(ts_ns, inv_offset_middle(low, high));
		}
		node = x->next;
	}
	return ts_ns;
}

/* Returns sum + bound. `none' is the value of an unknown bound: returns `none'
 * if `sum' or `bound' is unknown, or if the result is too large. */
static int64_t add_bound(int64_t sum, int64_t bound, int64_t none)
{
	if (sum == none || bound == none)
		return none;
	sum += bound;
	return sum > -INV_OFFSET_NONE && sum < INV_OFFSET_NONE ? sum : none;
}

bool inv_clocks_interval(struct inv_clocks *c, uint32_t node, int64_t ts_ns,
			 struct inv_clock_interval *i)
{
	int64_t at = ts_ns;

	*i = (struct inv_clock_interval){ 0 };
	if (node >= c->n || c->nodes[node].next == node)
		return false;
	i->estimate = add(inv_clocks_correct(c, node, ts_ns), -ts_ns);
	for (; c->nodes[node].next != node; node = c->nodes[node].next) {
		struct inv_clock_node *x = &c->nodes[node];
		int64_t low, high;

		inv_offset_at(&x->offset, at, &low, &high);
		i->low = add_bound(i->low, low, -INV_OFFSET_NONE);
		i->high = add_bound(i->high, high, INV_OFFSET_NONE);
		if (!x->agrees)
			at = add(at, inv_offset_middle(low, high));
	}
	return true;
}
