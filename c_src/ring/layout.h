/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_RING_LAYOUT_H
#define INV_RING_LAYOUT_H

#include <stdint.h>

#include "abi/ring.h"

/*
 * The layout of the shared memory that abi/ring.h describes. The functions
 * allocate nothing and make no system calls. The VM's library and the spooler
 * use them.
 */

/*
 * Returns the size in bytes of a mapping with n_rings rings, where ring i has
 * n_slots[i] packets of packet_bytes. Returns 0 if a number is out of its
 * range. The ranges: n_rings 1 to INV_RINGS_MAX, n_slots at least
 * INV_SLOTS_MIN, packet_bytes a multiple of 4096 from INV_PACKET_MIN to
 * INV_PACKET_MAX.
 */
uint64_t inv_layout_len(uint32_t n_rings, const uint32_t *n_slots,
			uint32_t packet_bytes);

/*
 * Sets the layout fields of the control page and of the ring heads. map has
 * inv_layout_len() bytes, all zero. The caller then sets the tracer's data and
 * the spooler's options, and calls inv_layout_publish(), which sets `magic': a
 * spooler accepts the mapping from then on.
 */
void inv_layout_init(void *map, uint32_t n_rings, const uint32_t *n_slots,
		     uint32_t packet_bytes, enum inv_keep keep);
void inv_layout_publish(void *map);

/*
 * For n large slots of `bytes' bytes each. inv_layout_large_len returns how
 * many bytes the slots add to the mapping, or 0 if a number is out of its
 * range. The ranges: n at most INV_LARGE_MAX, `bytes' a multiple of 4096 and
 * more than a packet can have. inv_layout_add_large adds the slots to the
 * mapping. Call it after inv_layout_init.
 */
uint64_t inv_layout_large_len(uint32_t n, uint64_t bytes);
void inv_layout_add_large(void *map, uint32_t n, uint32_t bytes);

/*
 * Returns 0 if the len bytes at map are a complete mapping and all its offsets
 * lie within it; otherwise INV_EFORMAT, INV_EVERSION or INV_EDAMAGED. After the
 * result 0, the texts of the control page end within their arrays. Other
 * programs can change the mapping later. A caller that does not trust them must
 * copy the values, and check the copies.
 */
int inv_layout_check(const void *map, uint64_t len);

static inline struct inv_ring_head *inv_layout_ring(void *map, uint32_t i)
{
	const struct inv_ring_ctl *ctl = map;

	return (struct inv_ring_head *)((uint8_t *)map + ctl->rings_off +
					(uint64_t)i * ctl->ring_len);
}

#endif
