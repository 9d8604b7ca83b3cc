/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/journal.h"

#include "base/testpoint.h"
#include "ring/layout.h"

/*
 * Stores v with release order: other programs see this store only after all
 * earlier stores of this spooler. So if this spooler is killed, the next
 * spooler never finds a store whose earlier stores are missing.
 */
static void put(_Atomic uint64_t *p, uint64_t v)
{
	atomic_store_explicit(p, v, memory_order_release);
}

void inv_log_pos_load(const struct inv_ring_ctl *ctl, struct inv_log_pos *log)
{
	log->file = atomic_load_explicit(&ctl->log_file, memory_order_relaxed);
	log->off = atomic_load_explicit(&ctl->log_off, memory_order_relaxed);
	log->bytes =
		atomic_load_explicit(&ctl->log_bytes, memory_order_relaxed);
	log->anchors =
		atomic_load_explicit(&ctl->anchors_done, memory_order_relaxed);
}

/*
 * Copies the journal's values to the ring and the control page. Stores read_seq
 * last, because this store frees the slot: read_seq is the only one of these
 * fields that the producer reads.
 */
static void apply(struct inv_ring_ctl *ctl)
{
	const struct inv_ring_journal *j = &ctl->journal;

	put(&ctl->log_off, j->log_off);
	INV_TESTPOINT("journal.log_off");
	put(&ctl->log_bytes, j->log_bytes);
	put(&ctl->anchors_done, j->anchors_done);
	atomic_store_explicit(&ctl->log_file, j->log_file,
			      memory_order_release);
	INV_TESTPOINT("journal.log");
	if (j->ring != INV_JOURNAL_NO_RING) {
		struct inv_ring_head *ring = inv_layout_ring(ctl, j->ring);

		put(&ring->overwritten, j->overwritten);
		put(&ring->recorded, j->recorded);
		put(&ring->unwritten, j->unwritten);
		put(&ring->damaged, j->damaged);
		INV_TESTPOINT("journal.counters");
		put(&ring->read_event, j->read_event);
		put(&ring->read_off, j->read_off);
		INV_TESTPOINT("journal.read_off");
		put(&ring->read_seq, j->read_seq);
	}
	INV_TESTPOINT("journal.applied");
	atomic_store_explicit(&ctl->journal.valid, 0, memory_order_release);
	/* The compiler must not move the plain stores of the next journal entry
	 * in front of this store. */
	atomic_signal_fence(memory_order_seq_cst);
	INV_TESTPOINT("journal.done");
}

void inv_journal_commit(struct inv_ring_ctl *ctl, uint32_t ring,
			const struct inv_ring_pos *pos,
			const struct inv_log_pos *log)
{
	struct inv_ring_journal *j = &ctl->journal;

	j->ring = ring;
	if (ring != INV_JOURNAL_NO_RING) {
		j->read_seq = pos->seq;
		j->read_off = pos->off;
		j->read_event = pos->event;
		j->overwritten = pos->overwritten;
		j->recorded = pos->recorded;
		j->unwritten = pos->unwritten;
		j->damaged = pos->damaged;
	}
	INV_TESTPOINT("journal.half");
	j->log_off = log->off;
	j->log_bytes = log->bytes;
	j->anchors_done = log->anchors;
	j->log_file = log->file;
	INV_TESTPOINT("journal.filled");
	atomic_store_explicit(&j->valid, 1, memory_order_release);
	INV_TESTPOINT("journal.valid");
	apply(ctl);
}

void inv_journal_redo(struct inv_ring_ctl *ctl, uint32_t n_rings)
{
	struct inv_ring_journal *j = &ctl->journal;

	if (atomic_load_explicit(&j->valid, memory_order_acquire) == 0)
		return;
	if (j->ring == INV_JOURNAL_NO_RING || j->ring < n_rings)
		apply(ctl);
	else
		atomic_store_explicit(&j->valid, 0, memory_order_release);
}
