/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_RING_LARGE_H
#define INV_RING_LARGE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/ring.h"

/*
 * The large slots of a mapping, for events that are larger than a packet. All
 * threads of the VM share them. Claiming a slot takes no lock, and searches the
 * slots at most four times. If all slots are in use, the event is dropped.
 */
struct inv_larges {
	uint8_t *base; /* where slot 0 begins */
	uint32_t n;    /* how many large slots the mapping has */
	uint32_t bytes;
	uint32_t data_len; /* how many bytes of a slot are for an event and its
			     definitions */
};

/* The mapping must have passed inv_layout_check, or come from
 * inv_layout_add_large. `len' is its length. Another program may have changed
 * the numbers in the mapping since the check; if the slots then exceed `len',
 * l->n becomes 0. */
void inv_larges_init(struct inv_larges *l, void *map, uint64_t len);

static inline struct inv_ring_large *inv_large_at(const struct inv_larges *l,
						  uint32_t i)
{
	return (struct inv_ring_large *)(l->base + (uint64_t)i * l->bytes);
}

/*
 * Claims a slot for the packet `seq' of ring `ring'. If no slot is free, with
 * keep => newest (a flight recorder), takes the slot with the oldest event.
 * Never takes a slot that a thread is writing, or whose packet the spooler is
 * reading. Returns the slot's number, or -1 if it could not take a slot.
 */
int inv_large_claim(const struct inv_larges *l, void *map, uint32_t ring,
		    uint64_t seq);

/* Frees a claimed slot. Call it instead of inv_large_finish if no event was
 * written to the slot. */
void inv_large_abandon(const struct inv_larges *l, uint32_t i);

/* Gives the claimed slot to the packet, after the event was written to the
 * slot. Call it before the packet is committed. */
void inv_large_finish(const struct inv_larges *l, uint32_t i, uint32_t ring,
		      uint64_t seq, uint64_t now);

/* Returns true if the slot still belongs to the packet. With keep => newest,
 * the caller must have set the ring's hold to the packet, so that the producer
 * does not overwrite it. */
static inline bool inv_large_is_of(const struct inv_larges *l, uint32_t i,
				   uint32_t ring, uint64_t seq)
{
	return atomic_load_explicit(&inv_large_at(l, i)->owner,
				    memory_order_seq_cst) ==
	       INV_LARGE_OWNER(ring, seq);
}

#endif
