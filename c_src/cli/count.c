/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/count.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "sink/duration.h"

static void take(struct inv_count *c, struct inv_members *ms,
		 const struct inv_member *m, const struct inv_ask *ask)
{
	struct inv_count_node *node = &c->v[c->n];
	struct inv_err err = { 0 };

	if (!ask->done) {
		inv_screen_note(ms->cluster->screen,
				"%s: interrupted; its counters are not shown",
				m->name);
	} else if (inv_session_counters_got(ask, &node->counters, &err)) {
		inv_screen_note(ms->cluster->screen, "%s: counters: %s",
				m->name, err.text);
	} else {
		snprintf(node->node, sizeof(node->node), "%s", m->name);
		c->n++;
	}
}

void inv_count_take(struct inv_count *c, struct inv_members *ms)
{
	struct inv_ask *asks = calloc(ms->n + 1, sizeof(*asks));

	c->v = calloc(ms->n + 1, sizeof(*c->v));
	if (!asks || !c->v) {
		inv_screen_note(ms->cluster->screen, "no memory");
		free(asks);
		return;
	}
	for (size_t i = 0; i < ms->n; i++) {
		if (ms->v[i].there)
			inv_session_ask(&asks[i], &ms->v[i].session,
					INV_VERB_COUNTERS,
					inv_cluster_ms(ms->cluster));
		else
			asks[i].done = true;
	}
	inv_gather(ms->cluster->in, asks, ms->n, ms->cluster->stop.fd);
	for (size_t i = 0; i < ms->n; i++)
		if (ms->v[i].there)
			take(c, ms, &ms->v[i], &asks[i]);
	inv_asks_release(asks, ms->n);
	free(asks);
}

void inv_count_release(struct inv_count *c)
{
	for (size_t i = 0; i < c->n; i++)
		inv_counters_release(&c->v[i].counters);
	free(c->v);
	c->v = NULL;
	c->n = 0;
}

bool inv_count_any(const struct inv_count *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].counters.n)
			return true;
	return false;
}

/* Appends a time, or spaces if ns is negative, 12 columns wide. */
static void put_time(struct inv_buf *b, int64_t ns)
{
	struct inv_buf text = { 0 };

	if (ns >= 0)
		inv_duration_put(ns, &text);
	inv_buf_putc(&text, 0);
	inv_buf_printf(b, " %12s", text.error ? "" : (const char *)text.data);
	inv_buf_release(&text);
}

static void put_node(struct inv_buf *b, const struct inv_count_node *node,
		     bool *timed)
{
	const struct inv_counters *t = &node->counters;

	inv_buf_printf(b, "-- %s: %10s %12s %12s\n", node->node, "calls",
		       "own time", "a call");
	for (size_t i = 0; i < t->n; i++) {
		const struct inv_counter *f = &t->v[i];

		inv_buf_printf(b, "-- %*s  %10" PRIu64, (int)strlen(node->node),
			       "", f->calls);
		put_time(b, f->ns);
		put_time(b, f->ns < 0 || !f->calls ? -1 :
						     f->ns / (int64_t)f->calls);
		inv_buf_printf(b, "  %s\n", f->mfa);
		*timed = *timed || f->ns >= 0;
	}
}

void inv_count_put_text(const struct inv_count *c, struct inv_buf *b)
{
	bool timed = false;

	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].counters.n)
			put_node(b, &c->v[i], &timed);
	if (timed)
		inv_buf_puts(b, "-- own time: while processes run in the "
				"function itself; not while they wait, nor in "
				"other functions of the SPECs\n");
}

void inv_count_put_json(const struct inv_count *c, struct inv_json *j)
{
	inv_json_open(j, "counts", '[');
	for (size_t i = 0; i < c->n; i++) {
		for (size_t k = 0; k < c->v[i].counters.n; k++) {
			const struct inv_counter *f = &c->v[i].counters.v[k];

			inv_json_open(j, NULL, '{');
			inv_json_text(j, "node", c->v[i].node);
			inv_json_text(j, "mfa", f->mfa);
			inv_json_uint(j, "calls", f->calls);
			if (f->ns >= 0)
				inv_json_int(j, "ns", f->ns);
			inv_json_close(j, '}');
		}
	}
	inv_json_close(j, ']');
}
