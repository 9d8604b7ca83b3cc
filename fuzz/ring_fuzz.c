/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads rings whose memory was overwritten. The input is a list of patches to
 * two valid rings. A patch has an offset (3 bytes, little-endian), a length
 * from 1 to 8 (a byte), and bytes. Reading must end, stay within the mapping,
 * and return fragments with valid lengths and event counts.
 */
#include "../test/unit/ring_build.h"
#include "ring/consumer.h"
#include "ring/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N_RINGS 2u
#define N_SLOTS 4u

static uint8_t *template;
static size_t len;

/* Writes a packet with n notes of kind 1, which have no terms. */
static void build_notes(struct inv_producer *p, unsigned n)
{
	static const uint8_t note[] = { 3, INV_HEAD_NOTE, 0, 1 };
	uint64_t now = build_now();

	inv_producer_close(p);
	CHECK(inv_producer_open(p, now) == 0);
	while (n--) {
		memcpy(p->data + p->ev, note, sizeof(note));
		inv_producer_commit_note(p, p->ev + sizeof(note), 0, now);
	}
	inv_producer_close(p);
}

static void make_template(enum inv_keep keep)
{
	struct ring_build b;
	unsigned i;

	build_clock_ns = 1000000000;
	build_n_large = 2;
	build_large_bytes = 8192;
	build_open(&b, -1, N_RINGS, N_SLOTS, 4096, keep, "/nowhere");
	for (i = 0; i < 40; i++) {
		build_event(&b.p[0], 300);
		if (i % 8 == 0)
			build_event(&b.p[1], 10);
	}
	build_notes(&b.p[1], 3);
	build_event(&b.p[1], 10);
	/* Both rings get a large event. The first ring is full. With
	 * INV_KEEP_OLDEST, a full ring drops new events. */
	build_large_event(&b.p[1], 5000);
	CHECK(build_large_event(&b.p[0], 6000) == (keep == INV_KEEP_NEWEST));
	len = b.len;
	template = malloc(len);
	CHECK(template);
	memcpy(template, b.ctl, len);
	build_close(&b);
}

static void scribble(uint8_t *map, const uint8_t *data, size_t size)
{
	while (size > 4) {
		size_t off = data[0] | (size_t)data[1] << 8 |
			     (size_t)data[2] << 16;
		size_t n = data[3] % 8 + 1;

		data += 4;
		size -= 4;
		if (n > size)
			n = size;
		off %= len;
		if (n > len - off)
			n = len - off;
		memcpy(map + off, data, n);
		data += n;
		size -= n;
	}
}

static void read_ring(uint8_t *map, uint32_t i, unsigned take)
{
	struct inv_ring_ctl *ctl = (struct inv_ring_ctl *)map;
	struct inv_log_pos log = { 0 };
	struct inv_fragment f;
	struct inv_consumer c;
	unsigned turns = 0;

	if (inv_consumer_init(&c, map, len, i) < 0)
		return;
	while (!inv_consumer_next(&c, UINT64_MAX, take, &f)) {
		CHECK(turns++ <= 2 * c.n_slots + 2);
		if (f.ev_len > 0) {
			CHECK(f.ev >= map && f.ev + f.ev_len <= map + len);
			CHECK(f.def >= map && f.def + f.def_len <= map + len);
			CHECK(f.def >= f.ev + f.ev_len);
			CHECK(f.next.event == f.first_event + f.n_events);
			CHECK(inv_fragment_is_sound(f.ev, f.ev_len, f.n_events,
						    f.def, f.def_len));
		}
		inv_journal_commit(ctl, i, &f.next, &log);
		inv_consumer_advance(&c, &f.next);
	}
	inv_consumer_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *map;
	uint32_t i;

	if (!template)
		make_template(INV_KEEP_OLDEST);
	map = aligned_alloc(4096, len);
	CHECK(map);
	memcpy(map, template, len);
	if (size > 0) /* keep oldest, or newest */
		((struct inv_ring_ctl *)map)->keep = data[0] & 1;
	scribble(map, data, size);
	if (inv_layout_check(map, len) == 0) {
		inv_journal_redo((struct inv_ring_ctl *)map, N_RINGS);
		for (i = 0; i < N_RINGS; i++) {
			read_ring(map, i, INV_TAKE_OPEN);
			read_ring(map, i, INV_TAKE_OPEN | INV_TAKE_LAST);
		}
	}
	free(map);
	return 0;
}
