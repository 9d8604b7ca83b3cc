/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/clock_report.h"

#include <inttypes.h>

/* In JSON, offsets are written for windows of time. A window is a second, or
 * longer if there would be more than WINDOWS_MAX windows. */
#define WINDOW_NS INT64_C(1000000000)
#define WINDOWS_MAX 1000
/* If there are more nodes than this, nodes whose clocks agree get no line. */
#define NODES_SHOWN 8

static uint64_t absolute(int64_t ns)
{
	return ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
}

static void put_ns(struct inv_buf *out, int64_t ns)
{
	uint64_t n = absolute(ns);

	if (ns < 0)
		inv_buf_putc(out, '-');
	if (n < 1000000)
		inv_buf_printf(out, "%.1f us", (double)n / 1e3);
	else if (n < 1000000000)
		inv_buf_printf(out, "%.3f ms", (double)n / 1e6);
	else
		inv_buf_printf(out, "%.6f s", (double)n / 1e9);
}

static void put_bound(struct inv_buf *out, int64_t ns)
{
	if (absolute(ns) >= (uint64_t)INV_OFFSET_NONE)
		inv_buf_puts(out, "unknown");
	else
		put_ns(out, ns);
}

/* Returns true if the node has no messages to or from another node. */
static bool is_alone(const struct inv_clocks *c, uint32_t i)
{
	if (c->nodes[i].next != i)
		return false;
	for (uint32_t j = 0; j < c->n; j++)
		if (j != i && c->nodes[j].reference == i && c->nodes[j].name)
			return false;
	return true;
}

static bool is_odd(const struct inv_clocks *c, uint32_t i)
{
	return is_alone(c, i) || !c->nodes[i].agrees;
}

static int64_t middle_of(const struct inv_clock_node *x)
{
	return x->first_ns +
	       (int64_t)(((uint64_t)x->last_ns - (uint64_t)x->first_ns) / 2);
}

static void node_text(struct inv_clocks *c, uint32_t i, const char *prefix,
		      struct inv_buf *out)
{
	const struct inv_clock_node *x = &c->nodes[i];
	struct inv_clock_interval at;

	if (is_alone(c, i)) {
		inv_buf_printf(out,
			       "%sthe clock of %s cannot be compared: no "
			       "message of a sequential trace, and no command, "
			       "connects it with another node\n",
			       prefix, x->name);
		return;
	}
	if (!inv_clocks_interval(c, i, middle_of(x), &at))
		return;
	if (at.estimate) {
		inv_buf_printf(out,
			       "%sthe clock of %s was ahead of that of %s by ",
			       prefix, c->nodes[x->reference].name, x->name);
		put_ns(out, at.estimate);
		inv_buf_printf(out, ", which corrects the times of %s; ",
			       x->name);
	} else {
		inv_buf_printf(out, "%sthe clocks of %s and %s agree; ", prefix,
			       c->nodes[x->reference].name, x->name);
	}
	inv_buf_puts(out, "a difference is possible of ");
	put_bound(out, at.low);
	inv_buf_puts(out, " to ");
	put_bound(out, at.high);
	inv_buf_putc(out, '\n');
}

void inv_clock_report_text(struct inv_order *o, const char *prefix,
			   struct inv_buf *out)
{
	struct inv_clocks *c = &o->clocks;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n; i++)
		n += c->nodes[i].name != NULL;
	for (uint32_t i = 0; n > 1 && i < c->n; i++)
		if (c->nodes[i].name && (n <= NODES_SHOWN || is_odd(c, i)))
			node_text(c, i, prefix, out);
	if (!o->moved)
		return;
	inv_buf_printf(out,
		       "%s%" PRIu64 " event(s) were moved behind their "
		       "causes, by at most ",
		       prefix, o->moved);
	put_ns(out, o->moved_most);
	inv_buf_putc(out, '\n');
}

static void bound_json(struct inv_json *j, const char *key, int64_t ns)
{
	if (absolute(ns) >= (uint64_t)INV_OFFSET_NONE)
		inv_json_null(j, key);
	else
		inv_json_int(j, key, ns);
}

static void windows_json(struct inv_clocks *c, uint32_t i, struct inv_json *j)
{
	const struct inv_clock_node *x = &c->nodes[i];
	uint64_t span = (uint64_t)x->last_ns - (uint64_t)x->first_ns;
	uint64_t width = span / WINDOWS_MAX > (uint64_t)WINDOW_NS ?
				 span / WINDOWS_MAX :
				 (uint64_t)WINDOW_NS;

	inv_json_open(j, "windows", '[');
	for (uint64_t off = 0; off <= span; off += width) {
		uint64_t end = span - off < width ? span : off + width;
		int64_t at = (int64_t)((uint64_t)x->first_ns + off +
				       (end - off) / 2);
		struct inv_clock_interval v;

		inv_clocks_interval(c, i, at, &v);
		inv_json_open(j, NULL, '{');
		inv_json_int(j, "at", at);
		inv_json_int(j, "estimate_ns", v.estimate);
		bound_json(j, "low_ns", v.low);
		bound_json(j, "high_ns", v.high);
		inv_json_close(j, '}');
		if (span - off < width)
			break;
	}
	inv_json_close(j, ']');
}

static void node_json(struct inv_clocks *c, uint32_t i, struct inv_json *j)
{
	const struct inv_clock_node *x = &c->nodes[i];

	inv_json_open(j, NULL, '{');
	inv_json_text(j, "node", x->name);
	if (is_alone(c, i) || x->next == i) {
		inv_json_null(j, "reference");
	} else {
		inv_json_text(j, "reference", c->nodes[x->reference].name);
		inv_json_text(j, "via", c->nodes[x->next].name);
		inv_json_uint(j, "messages", x->offset.uppers);
		inv_json_uint(j, "messages_back", x->offset.lowers);
		inv_json_uint(j, "steps", x->offset.steps);
		windows_json(c, i, j);
	}
	inv_json_close(j, '}');
}

void inv_clock_report_json(struct inv_order *o, struct inv_json *j)
{
	struct inv_clocks *c = &o->clocks;

	if (!c->n && !o->moved)
		return;
	inv_json_open(j, "clocks", '{');
	inv_json_uint(j, "moved", o->moved);
	inv_json_int(j, "moved_most_ns", o->moved_most);
	inv_json_open(j, "nodes", '[');
	for (uint32_t i = 0; i < c->n; i++)
		if (c->nodes[i].name)
			node_json(c, i, j);
	inv_json_close(j, ']');
	inv_json_close(j, '}');
}
