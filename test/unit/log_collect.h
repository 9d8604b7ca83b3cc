/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TEST_LOG_COLLECT_H
#define INV_TEST_LOG_COLLECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "log/inputs.h"
#include "log/merge.h"
#include "unit/log_build.h"

/* An item that a merge has returned. If it is an event, `n' is the argument of
 * build_event. If it is a note, `n' is the kind of the note. */
struct got {
	int64_t ts;
	int64_t mono;
	int64_t n; /* of a loss: the number of lost events */
	int lost;  /* reason; -1: an event; -2: a note; -3: an early note */
	uint32_t stream;
	char node[32];
};

struct collected {
	struct inv_notices notices;
	struct inv_inputs inputs;
	struct inv_err err;
	struct got *got;
	size_t n;
	uint64_t n_events;
	uint64_t lost[INV_LOST_COUNT];
	uint64_t rotated;
	uint64_t last_damage; /* offset of the last damage */
	char said[4096];      /* the texts of all notices, one after the
				 other */
};

static inline void collect_notice(void *arg, const struct inv_notice *n)
{
	struct collected *c = arg;
	size_t len = strlen(c->said);

	if (n->kind == INV_NOTICE_DAMAGE) {
		assert_true(n->len > 0);
		c->last_damage = n->off;
	}
	snprintf(c->said + len, sizeof(c->said) - len, "%s: %s\n", n->file,
		 n->text);
}

static inline void collect_init(struct collected *c)
{
	memset(c, 0, sizeof(*c));
	c->notices.notify = collect_notice;
	c->notices.arg = c;
	inv_inputs_init(&c->inputs, &c->notices);
}

/* Adds an input of n bytes. The bytes must exist until collect_release. */
static inline int collect_add(struct collected *c, const char *name,
			      const void *p, size_t n)
{
	struct inv_source src;

	assert_int_equal(inv_source_memory(&src, name, p, n), 0);
	return inv_inputs_add_source(&c->inputs, &src, NULL, &c->err);
}

static inline void collect_item(struct collected *c,
				const struct inv_item *item)
{
	struct got *g;

	if (!(c->n & (c->n + 1))) { /* full */
		c->got = realloc(c->got, (2 * c->n + 1) * sizeof(*c->got));
		assert_non_null(c->got);
	}
	g = &c->got[c->n++];
	memset(g, 0, sizeof(*g));
	g->ts = item->ts_ns;
	g->mono = item->mono_ns;
	g->stream = item->stream;
	snprintf(g->node, sizeof(g->node), "%s", item->node->name);
	if (item->kind == INV_ITEM_LOSS) {
		assert_true(item->lost.reason < INV_LOST_COUNT);
		assert_true(item->lost.n > 0);
		g->n = (int64_t)item->lost.n;
		g->lost = (int)item->lost.reason;
		c->lost[item->lost.reason] += item->lost.n;
		return;
	}
	if (item->kind == INV_ITEM_NOTE) {
		g->lost = item->early ? -3 : -2;
		g->n = item->ev.note;
		return;
	}
	g->lost = -1;
	g->n = item->ev.len ? item->ev.terms[item->ev.len - 1] : 0;
	c->n_events++;
}

static inline void collect_run(struct collected *c)
{
	struct inv_item *item;
	struct inv_merge m;
	int rc;

	assert_int_equal(inv_inputs_open(&c->inputs, &c->err), 0);
	assert_int_equal(inv_merge_init(&m, c->inputs.feeds, c->inputs.n_feeds),
			 0);
	while (!(rc = inv_merge_next(&m, &item)))
		collect_item(c, item);
	assert_int_equal(rc, INV_END);
	for (uint32_t i = 0; i < c->inputs.n_feeds; i++)
		c->rotated += c->inputs.feeds[i]->rotated;
	inv_merge_release(&m);
}

static inline void collect_release(struct collected *c)
{
	inv_inputs_release(&c->inputs);
	free(c->got);
}

/* Reads one log of n bytes. */
static inline void collect_one(struct collected *c, const void *p, size_t n)
{
	collect_init(c);
	assert_int_equal(collect_add(c, "x", p, n), 0);
	collect_run(c);
}

static inline uint64_t collect_lost(const struct collected *c)
{
	uint64_t n = 0;

	for (int i = 0; i < INV_LOST_COUNT; i++)
		n += c->lost[i];
	return n;
}

#endif
