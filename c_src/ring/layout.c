/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/layout.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"

#define PAGE 4096u

static uint64_t page_up(uint64_t n)
{
	return (n + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static uint64_t rings_off(void)
{
	return page_up(sizeof(struct inv_ring_ctl));
}

static uint64_t slots_off(uint32_t n_rings)
{
	return rings_off() +
	       page_up((uint64_t)n_rings * sizeof(struct inv_ring_head));
}

static bool packet_bytes_ok(uint32_t n)
{
	return n >= INV_PACKET_MIN && n <= INV_PACKET_MAX && n % PAGE == 0;
}

uint64_t inv_layout_len(uint32_t n_rings, const uint32_t *n_slots,
			uint32_t packet_bytes)
{
	uint64_t len = slots_off(n_rings);
	uint32_t i;

	if (n_rings < 1 || n_rings > INV_RINGS_MAX)
		return 0;
	if (!packet_bytes_ok(packet_bytes))
		return 0;
	for (i = 0; i < n_rings; i++) {
		if (n_slots[i] < INV_SLOTS_MIN)
			return 0;
		len += (uint64_t)n_slots[i] * packet_bytes; /* < 2^63 */
	}
	return len;
}

void inv_layout_init(void *map, uint32_t n_rings, const uint32_t *n_slots,
		     uint32_t packet_bytes, enum inv_keep keep)
{
	struct inv_ring_ctl *ctl = map;
	uint64_t off = slots_off(n_rings);
	uint32_t i;

	ctl->version = INV_RING_VERSION;
	ctl->n_rings = n_rings;
	ctl->total_len = inv_layout_len(n_rings, n_slots, packet_bytes);
	ctl->rings_off = (uint32_t)rings_off();
	ctl->ring_len = sizeof(struct inv_ring_head);
	ctl->packet_bytes = packet_bytes;
	ctl->keep = keep;
	for (i = 0; i < n_rings; i++) {
		struct inv_ring_head *ring = inv_layout_ring(map, i);

		ring->slots_off = off;
		ring->n_slots = n_slots[i];
		atomic_store_explicit(&ring->read_seq, 1, memory_order_relaxed);
		off += (uint64_t)n_slots[i] * packet_bytes;
	}
	atomic_store_explicit(&ctl->state, INV_TRACER_OPEN,
			      memory_order_relaxed);
}

uint64_t inv_layout_large_len(uint32_t n, uint64_t bytes)
{
	if (n < 1 || n > INV_LARGE_MAX || bytes % PAGE || bytes < 2 * PAGE ||
	    bytes > INV_LARGE_BYTES_MAX)
		return 0;
	return n * bytes;
}

void inv_layout_add_large(void *map, uint32_t n, uint32_t bytes)
{
	struct inv_ring_ctl *ctl = map;

	ctl->n_large = n;
	ctl->large_bytes = bytes;
	ctl->total_len += (uint64_t)n * bytes;
}

/*
 * Returns the offset of the large slots. If the mapping has no large slots, the
 * offset is the mapping's end. Returns 0 if the slots do not lie within the
 * mapping.
 */
static uint64_t large_off(const struct inv_ring_ctl *ctl)
{
	uint64_t len = inv_layout_large_len(ctl->n_large, ctl->large_bytes);

	if (ctl->n_large == 0)
		return ctl->total_len;
	return len > 0 && len <= ctl->total_len ? ctl->total_len - len : 0;
}

void inv_layout_publish(void *map)
{
	struct inv_ring_ctl *ctl = map;

	atomic_thread_fence(memory_order_release);
	ctl->magic = INV_RING_MAGIC;
}

static bool ends_within(const char *text, size_t len)
{
	return memchr(text, 0, len) != NULL;
}

int inv_layout_check(const void *map, uint64_t len)
{
	const struct inv_ring_ctl *ctl = map;
	uint64_t heads;
	uint32_t i;

	if (len < rings_off() || ctl->magic != INV_RING_MAGIC)
		return INV_EFORMAT;
	if (ctl->version > INV_RING_VERSION ||
	    ctl->version < INV_RING_VERSION_MIN)
		return INV_EVERSION;
	if (ctl->total_len > len || ctl->n_rings < 1 ||
	    ctl->n_rings > INV_RINGS_MAX || ctl->keep > INV_KEEP_NEWEST ||
	    !packet_bytes_ok(ctl->packet_bytes) ||
	    ctl->ring_len != sizeof(struct inv_ring_head) ||
	    ctl->rings_off != rings_off())
		return INV_EDAMAGED;
	heads = (uint64_t)ctl->n_rings * sizeof(struct inv_ring_head);
	if (heads > len || ctl->rings_off > len - heads)
		return INV_EDAMAGED;
	len = large_off(ctl);
	for (i = 0; i < ctl->n_rings; i++) {
		const struct inv_ring_head *ring =
			inv_layout_ring((void *)(uintptr_t)map, i);
		uint64_t bytes = (uint64_t)ring->n_slots * ctl->packet_bytes;

		if (ring->n_slots < INV_SLOTS_MIN || bytes > len ||
		    ring->slots_off > len - bytes ||
		    ring->slots_off < ctl->rings_off + heads ||
		    ring->slots_off % INV_CACHE_LINE)
			return INV_EDAMAGED;
	}
	if (!ends_within(ctl->node, sizeof(ctl->node)) ||
	    !ends_within(ctl->otp_release, sizeof(ctl->otp_release)) ||
	    !ends_within(ctl->erts_version, sizeof(ctl->erts_version)) ||
	    !ends_within(ctl->path, sizeof(ctl->path)))
		return INV_EDAMAGED;
	return 0;
}
