/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_UNIT_RING_BUILD_H
#define INV_UNIT_RING_BUILD_H

/* Rings without a VM, for the tests of rings and spooler. The functions
 * create rings, write numbered events, and check events that were read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/term.h"
#include "base/clock.h"
#include "base/varint.h"
#include "ring/layout.h"
#include "ring/producer.h"

#define CHECK(c)                                                           \
	do {                                                               \
		if (!(c)) {                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				#c);                                       \
			abort();                                           \
		}                                                          \
	} while (0)

#define BUILD_RINGS_MAX 8

struct ring_build {
	int fd;
	uint64_t len;
	struct inv_ring_ctl *ctl;
	struct inv_producer p[BUILD_RINGS_MAX];
};

/* If this is not 0, it is the time of all events. Then the events have the same
 * times each time the test runs. */
static uint64_t build_clock_ns;

/* If this is not 0, build_open makes this number of large slots with
 * build_large_bytes each. A large slot has space for an event that does not fit
 * into a packet. */
static uint32_t build_n_large;
static uint32_t build_large_bytes = 2048 * 1024;

static inline uint64_t build_now(void)
{
	if (build_clock_ns)
		return build_clock_ns += 100;
	return inv_mono_ns();
}

/* Takes an anchor (a reading of several clocks at once), as the keeper of a
 * tracer does once a second. */
static inline void build_anchor(struct ring_build *b, int64_t offset)
{
	uint64_t n = atomic_load(&b->ctl->n_anchors);
	struct inv_anchor *a = &b->ctl->anchors[n % INV_N_ANCHORS];

	a->mono = build_now();
	a->erl = (int64_t)a->mono - 5000000000;
	a->offset = offset;
	a->real = (int64_t)inv_real_ns();
	atomic_store(&b->ctl->n_anchors, n + 1);
}

/* Makes the shared memory of a tracer in fd, or in a new memfd if fd is -1. A
 * test may change the fields of the memory until it starts the spooler. */
static inline void build_open(struct ring_build *b, int fd, uint32_t n_rings,
			      uint32_t n_slots, uint32_t packet_bytes,
			      enum inv_keep keep, const char *path)
{
	uint32_t slots[BUILD_RINGS_MAX], i;

	CHECK(n_rings <= BUILD_RINGS_MAX);
	for (i = 0; i < n_rings; i++)
		slots[i] = n_slots;
	memset(b, 0, sizeof(*b));
	b->fd = fd >= 0 ? fd : memfd_create("ring", MFD_CLOEXEC);
	b->len = inv_layout_len(n_rings, slots, packet_bytes);
	CHECK(b->fd >= 0 && b->len > 0);
	if (build_n_large)
		b->len +=
			inv_layout_large_len(build_n_large, build_large_bytes);
	CHECK(ftruncate(b->fd, (off_t)b->len) == 0);
	b->ctl = mmap(NULL, b->len, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd,
		      0);
	CHECK(b->ctl != MAP_FAILED);
	inv_layout_init(b->ctl, n_rings, slots, packet_bytes, keep);
	if (build_n_large)
		inv_layout_add_large(b->ctl, build_n_large, build_large_bytes);
	b->ctl->vm_pid = getpid();
	b->ctl->drain_ms = 2;
	b->ctl->flush_ms = 50;
	memset(b->ctl->uuid, 0xa5, sizeof(b->ctl->uuid));
	snprintf(b->ctl->node, sizeof(b->ctl->node), "test@localhost");
	snprintf(b->ctl->otp_release, sizeof(b->ctl->otp_release), "25");
	snprintf(b->ctl->erts_version, sizeof(b->ctl->erts_version), "13.1.5");
	snprintf(b->ctl->path, sizeof(b->ctl->path), "%s", path);
	build_anchor(b, 0);
	inv_layout_publish(b->ctl);
	for (i = 0; i < n_rings; i++)
		inv_producer_init(&b->p[i], b->ctl, i);
}

static inline void build_close(struct ring_build *b)
{
	munmap(b->ctl, b->len);
	close(b->fd);
}

#define BUILD_EVENT_MAX(pad) (64u + (pad))

/* Reserves memory for one event in the ring. Returns a pointer to the memory,
 * or NULL if the ring is full and the event is dropped. */
static inline uint8_t *build_reserve(struct inv_producer *p, unsigned pad)
{
	uint64_t now = build_now();

	inv_producer_offer(p);
	for (;;) {
		if (inv_producer_open(p, now)) {
			inv_producer_drop(p, INV_LOSS_FULL);
			return NULL;
		}
		if (p->data_len - p->ev - p->def >= BUILD_EVENT_MAX(pad))
			return p->data + p->ev;
		inv_producer_close(p);
	}
}

/*
 * Writes {receive, <0.77.0>, Binary} at `to'. The binary has the event's number
 * and time in 8 bytes each, and then `pad' bytes that depend on the number. The
 * pid is the first definition of a packet. Sets *def and *now, with which the
 * caller commits the event. Returns a pointer to the byte after the event.
 */
static inline uint8_t *build_write(struct inv_producer *p, uint8_t *to,
				   unsigned pad, uint32_t *def, uint64_t *now)
{
	static const uint8_t pid[] = { INV_DEF_PID, 2, 77, 0 };
	uint8_t *body = to + 3, *q = body; /* leaves 3 bytes for the length */
	uint64_t number = p->next_event;
	uint32_t len;

	*def = p->def;
	if (p->def == 0) {
		*def = sizeof(pid);
		memcpy(p->data + p->data_len - sizeof(pid), pid, sizeof(pid));
	}
	*now = build_now();
	*q++ = INV_TAG_RECEIVE;
	q = inv_varint_put(q, *now - p->last_ns);
	*q++ = INV_T_DICT_SMALL;
	*q++ = INV_T_BINARY;
	q = inv_varint_put(q, 16 + pad);
	memcpy(q, &number, 8);
	memcpy(q + 8, now, 8);
	memset(q + 16, (int)(number * 7 + 1) & 0xff, pad);
	q += 16 + pad;
	len = (uint32_t)(q - body);
	to[0] = (uint8_t)(len | 0x80);
	to[1] = (uint8_t)(len >> 7 | 0x80);
	to[2] = (uint8_t)(len >> 14);
	return q;
}

/* Writes one event. Returns 1 if the event was recorded, and 0 if not. */
static inline int build_event(struct inv_producer *p, unsigned pad)
{
	uint8_t *to = build_reserve(p, pad), *end;
	uint64_t now;
	uint32_t def;

	if (!to)
		return 0;
	end = build_write(p, to, pad, &def, &now);
	inv_producer_commit(p, (uint32_t)(end - p->data), def, now);
	return 1;
}

/* Writes one event into the large slot i, and commits it in the open packet. */
static inline void build_large_commit(struct inv_producer *p, int i,
				      unsigned pad, uint64_t now)
{
	static const uint8_t pid[] = { INV_DEF_PID, 2, 77, 0 };
	struct inv_ring_large *large = inv_large_at(&p->large, (uint32_t)i);
	uint64_t number = p->next_event;
	uint8_t *q;
	uint32_t len;
	int k;

	memcpy(large->data + p->large.data_len - sizeof(pid), pid, sizeof(pid));
	q = large->data + 4;
	*q++ = INV_TAG_RECEIVE;
	*q++ = 0;
	*q++ = INV_T_DICT_SMALL;
	*q++ = INV_T_BINARY;
	q = inv_varint_put(q, 16 + pad);
	memcpy(q, &number, 8);
	memcpy(q + 8, &now, 8);
	memset(q + 16, (int)(number * 7 + 1) & 0xff, pad);
	q += 16 + pad;
	len = (uint32_t)(q - large->data) - 4;
	for (k = 0; k < 4; k++, len >>= 7)
		large->data[k] = (uint8_t)((len & 0x7f) | (k < 3 ? 0x80 : 0));
	inv_producer_commit_large(p, (uint32_t)i, (uint32_t)(q - large->data),
				  sizeof(pid), now);
}

/* Writes one event into a large slot, as write_large of nif/record.c does. Returns
 * 1 if the event was recorded, and 0 if not. */
static inline int build_large_event(struct inv_producer *p, unsigned pad)
{
	uint64_t now = build_now();
	int i;

	inv_producer_offer(p);
	if (inv_producer_open_new(p, now) || (i = inv_producer_claim(p)) < 0) {
		inv_producer_drop(p, INV_LOSS_FULL);
		return 0;
	}
	build_large_commit(p, i, pad, now);
	return 1;
}

/* Returns 1 if `ev' has n events as build_write makes them, with the numbers
 * from `first' on. Times in the events are relative to begin_ns. */
static inline int build_sound(const uint8_t *ev, uint64_t len, uint64_t first,
			      uint32_t n, const uint8_t *def, uint32_t def_len,
			      uint64_t begin_ns)
{
	const uint8_t *end = ev + len;
	uint64_t size, v, i, now = begin_ns;

	if (def_len != 4 || def[0] != INV_DEF_PID || def[2] != 77)
		return 0;
	for (; n > 0; n--, first++) {
		const uint8_t *q = inv_varint_get(ev, end, &size);

		if (!q || size > (uint64_t)(end - q) || q[0] != INV_TAG_RECEIVE)
			return 0;
		ev = q + size;
		q = inv_varint_get(q + 1, ev, &v);
		now += v;
		if (!q || q[0] != INV_T_DICT_SMALL || q[1] != INV_T_BINARY)
			return 0;
		q = inv_varint_get(q + 2, ev, &size);
		if (!q || size != (uint64_t)(ev - q) || size < 16 ||
		    memcmp(q, &first, 8) != 0 || memcmp(q + 8, &now, 8) != 0)
			return 0;
		for (i = 16; i < size; i++)
			if (q[i] != ((first * 7 + 1) & 0xff))
				return 0;
	}
	return ev == end;
}

#endif
