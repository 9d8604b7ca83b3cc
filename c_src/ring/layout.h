/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_RING_LAYOUT_H
#define INV_RING_LAYOUT_H

#include <stdint.h>

#include "abi/ring.h"

/*
 * Where things lie in the memory of abi/ring.h.  No allocation, no system
 * call: used in the VM and in the spooler.
 */

/*
 * Bytes of a mapping with n_rings rings, ring i of n_slots[i] packets of
 * packet_bytes.  0 if a number is out of its range: n_rings 1 to
 * INV_RINGS_MAX, n_slots at least INV_SLOTS_MIN, packet_bytes a multiple of
 * 4096 from INV_PACKET_MIN to INV_PACKET_MAX.
 */
uint64_t inv_layout_len(uint32_t n_rings, const uint32_t *n_slots,
			uint32_t packet_bytes);

/*
 * Fills the layout part of the control page and the ring heads of map, which
 * has inv_layout_len() bytes, all zero.  What the tracer is and what the
 * spooler shall do remain to be filled in; magic is set by
 * inv_layout_publish() when all of it is.
 */
void inv_layout_init(void *map, uint32_t n_rings, const uint32_t *n_slots,
		     uint32_t packet_bytes, enum inv_keep keep);
void inv_layout_publish(void *map);

/*
 * Whether the len bytes at map are such a mapping, complete, and everything in
 * it lies within it.  INV_EFORMAT, INV_EVERSION, INV_EDAMAGED if not.  Texts
 * of the control page end within their arrays afterwards: a caller that does
 * not trust the other side copies what it checked.
 */
int inv_layout_check(const void *map, uint64_t len);

static inline struct inv_ring_head *inv_layout_ring(void *map, uint32_t i)
{
	const struct inv_ring_ctl *ctl = map;

	return (struct inv_ring_head *)((uint8_t *)map + ctl->rings_off +
					(uint64_t)i * ctl->ring_len);
}

#endif
