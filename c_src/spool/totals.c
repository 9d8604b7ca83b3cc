/* SPDX-License-Identifier: Apache-2.0 */

/* Writes the totals of each stream of events into the log. The totals count
 * every event that was produced, also those that are not in the log. */

#include "spool/spool_int.h"

#include <stdlib.h>

static bool is_final(enum inv_log_end why)
{
	return why == INV_END_CLOSED || why == INV_END_OWNER ||
	       why == INV_END_VM || why == INV_END_RECOVERED;
}

uint64_t inv_spool_totals_len(uint32_t n_rings)
{
	return sizeof(struct inv_log_packet) +
	       ((uint64_t)n_rings + 1) * sizeof(struct inv_log_totals);
}

static uint64_t dropped_sum(const struct inv_log_totals *t)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < INV_LOSS_COUNT; i++)
		sum += t->dropped[i];
	return sum;
}

static void fill(const struct inv_consumer *c, struct inv_log_totals *t)
{
	unsigned i;

	for (i = 0; i < INV_LOSS_COUNT; i++)
		t->dropped[i] = atomic_load_explicit(&c->ring->dropped[i],
						     memory_order_relaxed);
	t->recorded = c->pos.recorded;
	t->dropped[INV_LOSS_OVERWRITTEN] = c->pos.overwritten;
	t->dropped[INV_LOSS_UNWRITTEN] = c->pos.unwritten;
	t->dropped[INV_LOSS_DAMAGED] = c->pos.damaged;
	t->dropped[INV_LOSS_UNFINISHED] = 0;
	t->produced = t->recorded + dropped_sum(t);
}

void inv_spool_totals(const struct inv_spool *s, uint32_t ring,
		      struct inv_log_totals *t)
{
	const struct inv_consumer *c = &s->rings[ring];
	uint64_t produced =
		atomic_load_explicit(&c->ring->produced, memory_order_relaxed);

	*t = (struct inv_log_totals){ .stream = ring };
	fill(c, t);
	if (produced == t->produced + 1) {
		t->dropped[INV_LOSS_UNFINISHED] = 1;
		t->produced = produced;
	}
}

/*
 * Counts the events that the totals do not contain yet. It is called at the
 * very end, when the VM's threads write no more and all valid packets were
 * read. Each of these events was in an invalid packet, or its thread died while
 * it wrote the event.
 */
static void account_for_rest(struct inv_spool *s, uint32_t ring,
			     struct inv_log_totals *t)
{
	struct inv_consumer *c = &s->rings[ring];
	uint64_t produced =
		atomic_load_explicit(&c->ring->produced, memory_order_relaxed);
	uint64_t rest;
	struct inv_ring_pos pos = c->pos;

	if (produced <= t->produced)
		return;
	rest = produced - t->produced;
	if (!c->spoiled) {
		t->dropped[INV_LOSS_UNFINISHED] = 1;
		rest--;
	}
	if (rest > 0) {
		pos.damaged += rest;
		pos.event += rest;
		inv_spool_moved(s, ring, &pos);
		inv_consumer_advance(c, &pos);
	}
	t->dropped[INV_LOSS_DAMAGED] = pos.damaged;
	t->produced = produced;
}

int inv_spool_put_totals(struct inv_spool *s, enum inv_log_end why,
			 struct inv_err *err)
{
	struct inv_log_packet p = { .type = INV_LOG_TOTALS, .seq = why };
	struct inv_log_totals *all;
	uint32_t i, n = s->mem->n_rings;
	struct iovec body;
	uint64_t no_ring;
	int r;

	all = calloc((size_t)n + 1, sizeof(*all));
	if (!all)
		return inv_err_set(err, INV_ENOMEM, "no memory for totals");
	for (i = 0; i < n; i++) {
		all[i].stream = i;
		fill(&s->rings[i], &all[i]);
		if (is_final(why))
			account_for_rest(s, i, &all[i]);
	}
	no_ring = atomic_load_explicit(&s->mem->ctl->no_ring,
				       memory_order_relaxed);
	if (no_ring > 0) {
		all[n].stream = UINT32_MAX;
		all[n].produced = no_ring;
		all[n].dropped[INV_LOSS_NO_RING] = no_ring;
		n++;
	}
	p.n_events = n;
	body = (struct iovec){ all, n * sizeof(*all) };
	r = inv_log_writer_put_last(&s->log, &p, &body, 1, err);
	free(all);
	return r;
}

/*
 * Removes the file whose number follows that of the log's last file. An earlier
 * spooler may have created this file just before it died. So only a second or
 * later spooler, or a recovery, can find such a file.
 */
static void remove_leftover(struct inv_spool *s, enum inv_log_end why)
{
	uint64_t n = atomic_load_explicit(&s->mem->ctl->respawns,
					  memory_order_relaxed);

	if (s->files.rotates && is_final(why) &&
	    (n > 1 || why == INV_END_RECOVERED))
		inv_files_remove(&s->files, s->at.file + 1, NULL);
}

int inv_spool_finish(struct inv_spool *s, enum inv_log_end why,
		     struct inv_err *err)
{
	int r = inv_spool_log_ready(s, err);

	if (r == 0)
		r = inv_spool_put_totals(s, why, err);
	if (r == 0) {
		inv_spool_moved(s, INV_JOURNAL_NO_RING, NULL);
		remove_leftover(s, why);
	}
	return r;
}

void inv_spool_give_up(struct inv_spool *s)
{
	struct inv_fragment f;
	uint32_t i;

	for (i = 0; i < s->mem->n_rings; i++) {
		struct inv_consumer *c = &s->rings[i];

		while (!inv_consumer_next(c, UINT64_MAX,
					  INV_TAKE_OPEN | INV_TAKE_LAST, &f)) {
			f.next.recorded -= f.n_events;
			f.next.unwritten += f.n_events;
			inv_journal_commit(s->mem->ctl, i, &f.next, &s->at);
			inv_consumer_advance(c, &f.next);
		}
		inv_consumer_release(c);
	}
}
