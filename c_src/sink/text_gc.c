/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage collections. The line for the start of a collection is held back.
 * When the end of the collection follows, one line is printed for both. If the
 * process has another event first, the line for the start is printed.
 */
#include "sink/text.h"

#include <inttypes.h>

#include "sink/duration.h"

/* A line is held at most this long, in the time of the events. */
#define HELD_NS INT64_C(1000000000)
#define ARROW " \xe2\x86\x92 "

void inv_line_sizes(struct inv_buf *out, const uint64_t *sizes, unsigned count)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	uint64_t most = 0;
	unsigned unit = 0;

	for (unsigned i = 0; i < count; i++)
		if (sizes[i] > most)
			most = sizes[i];
	while (unit < 3 && most >> (10 * (unit + 1)))
		unit++;
	for (unsigned i = 0; i < count; i++) {
		double n =
			(double)sizes[i] / (double)(UINT64_C(1) << (10 * unit));

		inv_buf_puts(out, i ? ARROW : "");
		inv_buf_printf(out, unit && n < 9.95 ? "%.1f" : "%.0f", n);
	}
	inv_buf_printf(out, " %s", units[unit]);
}

void inv_line_gc(struct inv_line *t, const struct inv_gc *gc)
{
	struct inv_buf *out = t->sink.out;

	inv_buf_puts(out, gc->major ? "gc major, " : "gc minor, ");
	inv_duration_put(gc->duration_ns, out);
	if (gc->before && gc->after) {
		const uint64_t sizes[] = { gc->before, gc->after };

		inv_buf_puts(out, ", ");
		inv_line_sizes(out, sizes, 2);
	}
}

static void release(struct inv_line *t, unsigned i)
{
	inv_buf_release(&t->held[i].line);
	t->held[i] = t->held[--t->n_held];
}

static unsigned oldest(const struct inv_line *t)
{
	unsigned found = 0;

	for (unsigned i = 1; i < t->n_held; i++)
		if (t->held[i].number < t->held[found].number)
			found = i;
	return found;
}

static void give(struct inv_line *t, unsigned i)
{
	inv_buf_put(t->sink.out, t->held[i].line.data, t->held[i].line.len);
	release(t, i);
}

void inv_line_give_held(struct inv_line *t)
{
	while (t->n_held)
		give(t, oldest(t));
}

static bool is_of(const struct inv_held *h, const struct inv_item *it,
		  const struct inv_token *tok)
{
	return h->node == it->node->number && h->id[0] == tok->id[0] &&
	       h->id[1] == tok->id[1];
}

void inv_line_before(struct inv_line *t, const struct inv_item *it)
{
	struct inv_token tok = { 0 };
	bool is_event = it->kind == INV_ITEM_EVENT && !it->ev.bare;
	bool ends = is_event && it->facts && it->facts->gc;
	bool known = is_event &&
		     !inv_event_tracee(&it->ev, t->sink.cursor, &tok) &&
		     tok.kind == INV_TOK_PID;

	for (unsigned i = 0; i < t->n_held;) {
		if (!known || !is_of(&t->held[i], it, &tok))
			i++;
		else if (ends)
			release(t, i);
		else
			give(t, i);
	}
	while (t->n_held && it->ts_ns - t->held[oldest(t)].ts_ns > HELD_NS)
		give(t, oldest(t));
}

void inv_line_hold(struct inv_line *t, const struct inv_item *it, size_t from)
{
	struct inv_buf *out = t->sink.out;
	struct inv_held h = { .node = it->node->number, .ts_ns = it->ts_ns };
	struct inv_token tok;

	if (out->error || inv_event_tracee(&it->ev, t->sink.cursor, &tok) ||
	    tok.kind != INV_TOK_PID)
		return;
	h.id[0] = tok.id[0];
	h.id[1] = tok.id[1];
	h.number = ++t->held_number;
	inv_buf_put(&h.line, out->data + from, out->len - from);
	if (h.line.error) {
		inv_buf_release(&h.line);
		return;
	}
	out->len = from;
	if (t->n_held == INV_HELD_MAX)
		give(t, oldest(t));
	t->held[t->n_held++] = h;
}
