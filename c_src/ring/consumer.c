/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/consumer.h"

#include "base/err.h"
#include "base/testpoint.h"
#include "base/varint.h"
#include "ring/layout.h"

/* The parts of a packet's commit word: how many bytes of events, how many bytes
 * of definitions, and how many events are committed. */
struct commit {
	uint32_t ev;
	uint32_t def;
	uint32_t n;
};

static uint64_t load(const _Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

int inv_consumer_init(struct inv_consumer *c, void *map, uint64_t len,
		      uint32_t i)
{
	const struct inv_ring_ctl *ctl = map;
	uint64_t off, bytes;

	*c = (struct inv_consumer){ 0 };
	c->ring = inv_layout_ring(map, i);
	/*
	 * Each field is read once, and the copy is checked, because another
	 * program may change the field in the shared memory.
	 */
	off = c->ring->slots_off;
	c->n_slots = c->ring->n_slots;
	c->packet_bytes = ctl->packet_bytes;
	c->keep = ctl->keep;
	bytes = (uint64_t)c->n_slots * c->packet_bytes;
	if (c->n_slots < INV_SLOTS_MIN || c->packet_bytes < INV_PACKET_MIN ||
	    c->packet_bytes > INV_PACKET_MAX || bytes > len ||
	    off > len - bytes || off % INV_CACHE_LINE)
		return INV_EDAMAGED;
	c->slots = (uint8_t *)map + off;
	c->index = i;
	inv_larges_init(&c->large, map, len);
	c->data_len = c->packet_bytes - sizeof(struct inv_ring_slot);

	c->pos.seq = load(&c->ring->read_seq);
	c->pos.off = load(&c->ring->read_off);
	c->pos.event = load(&c->ring->read_event);
	c->pos.overwritten = load(&c->ring->overwritten);
	c->pos.recorded = load(&c->ring->recorded);
	c->pos.unwritten = load(&c->ring->unwritten);
	c->pos.damaged = load(&c->ring->damaged);
	if (c->pos.seq == 0)
		c->pos.seq = 1;
	/* An earlier spooler may have died without releasing a packet. */
	inv_consumer_release(c);
	return 0;
}

uint64_t inv_consumer_top(const struct inv_consumer *c)
{
	/* Acquire: pairs with the producer's release store to `seq', so that
	 * this thread sees all earlier packets complete. */
	return atomic_load_explicit(&c->ring->seq, memory_order_acquire);
}

void inv_consumer_release(struct inv_consumer *c)
{
	/* Release: pairs with the producer's load of `hold'. So the producer
	 * overwrites the packet only after this thread has read it. */
	atomic_store_explicit(&c->ring->hold, 0, memory_order_release);
}

bool inv_consumer_is_behind(const struct inv_consumer *c)
{
	uint64_t top = inv_consumer_top(c);

	return top > c->pos.seq && top - c->pos.seq > c->n_slots / 2;
}

bool inv_fragment_is_sound(const uint8_t *ev, uint32_t len, uint32_t n,
			   const uint8_t *def, uint32_t def_len)
{
	const uint8_t *end = ev + len;
	uint64_t size;

	for (; ev < end; ev += size) {
		ev = inv_varint_get(ev, end, &size);
		if (!ev || size == 0 || size > (uint64_t)(end - ev))
			return false;
		if ((*ev & INV_HEAD_TAG) == INV_HEAD_NOTE)
			continue;
		if (n == 0)
			return false;
		n--;
	}
	if (n != 0)
		return false;
	for (end = def + def_len; def < end; def += size) {
		def = inv_varint_get(def + 1, end, &size);
		if (!def || size > (uint64_t)(end - def))
			return false;
	}
	return true;
}

static struct inv_ring_slot *slot_of(const struct inv_consumer *c, uint64_t seq)
{
	return (struct inv_ring_slot *)(c->slots +
					(seq % c->n_slots) * c->packet_bytes);
}

/*
 * For keep => newest: sets the hold, so that the producer does not overwrite
 * packet `seq'. Returns true if the producer has not begun to overwrite it
 * (next_not_held() in producer.c).
 */
static bool hold(struct inv_consumer *c, uint64_t seq)
{
	uint64_t next;

	atomic_store_explicit(&c->ring->hold, seq, memory_order_seq_cst);
	INV_TESTPOINT("ring.held");
	next = atomic_load_explicit(&c->ring->next_seq, memory_order_seq_cst);
	if (next < seq || next - seq < c->n_slots)
		return true;
	inv_consumer_release(c);
	return false;
}

/* Returns the number of the oldest packet that can still exist if `top' is the
 * number of the newest packet. */
static uint64_t oldest(const struct inv_consumer *c, uint64_t top)
{
	return top < c->n_slots ? 1 : top - c->n_slots + 1;
}

static void step(struct inv_ring_pos *pos, uint64_t seq)
{
	pos->seq = seq;
	pos->off = 0;
}

/*
 * Returns true if the fields of the packet's slot agree with each other and
 * with the position.
 */
static bool slot_is_sound(const struct inv_consumer *c,
			  const struct inv_ring_slot *slot,
			  const struct inv_ring_pos *pos,
			  const struct commit *now)
{
	uint64_t first = slot->first_event;
	uint64_t produced = load(&c->ring->produced);

	if (now->ev > c->data_len || now->def > c->data_len - now->ev ||
	    now->n > produced || first > produced - now->n ||
	    now->ev < pos->off)
		return false;
	if (pos->off == 0)
		return first >= pos->event;
	return first <= pos->event && pos->event <= first + now->n;
}

/*
 * Sets f->dropped, the counts of lost events. When a packet is opened, its slot
 * gets a copy of the ring's counts. The packet's first fragment gets this copy.
 * Later fragments get the copy in the next packet's slot, or the ring's current
 * counts. Counts only increase, so the counts of a later fragment are never
 * lower than those of the first.
 */
static void fill_dropped(const struct inv_consumer *c, struct inv_fragment *f,
			 const struct inv_ring_slot *slot, bool open)
{
	const struct inv_ring_slot *from = slot;
	bool now = open && f->ev_off > 0;
	unsigned i;

	if (!open && f->ev_off > 0) {
		from = slot_of(c, f->seq + 1);
		/*
		 * With keep => newest, the producer may overwrite the next
		 * packet while this thread reads it. So use the ring's current
		 * counts.
		 */
		now = c->keep == INV_KEEP_NEWEST ||
		      atomic_load_explicit(&from->seq, memory_order_acquire) !=
			      f->seq + 1;
	}
	for (i = 0; i < INV_LOSS_COUNT; i++)
		f->dropped[i] = now ? load(&c->ring->dropped[i]) :
				      from->dropped[i];
}

/*
 * Adds the times of the records in [p, end) to *ns; each time is relative to
 * the time of the previous record. Returns false if a record is invalid.
 */
static bool add_times(const uint8_t *p, const uint8_t *end, uint64_t *ns)
{
	while (p < end) {
		const uint8_t *next;
		uint64_t size, delta;

		p = inv_varint_get(p, end, &size);
		if (!p || size < 2 || size > (uint64_t)(end - p))
			return false;
		next = p + size;
		p += *p & INV_HEAD_FLAGS ? 2 : 1;
		if (!inv_varint_get(p, next, &delta))
			return false;
		*ns += delta;
		p = next;
	}
	return true;
}

static uint32_t large_of(const struct inv_ring_slot *slot)
{
	return atomic_load_explicit(&slot->large, memory_order_relaxed);
}

/* Returns true if the event of packet `seq' is in a large slot. Such a packet
 * gets no other event, so it is complete even if it is the newest one. */
static bool has_large(const struct inv_ring_slot *slot, uint64_t seq)
{
	return atomic_load_explicit(&slot->seq, memory_order_acquire) == seq &&
	       atomic_load_explicit(&slot->commit, memory_order_acquire) != 0 &&
	       large_of(slot) != 0;
}

/*
 * Sets the bytes of *f to the bytes in large slot i. Returns 0, INV_EDAMAGED,
 * or INV_END if the event was overwritten.
 */
static int find_large(const struct inv_consumer *c, uint32_t i,
		      const struct commit *now, struct inv_fragment *f)
{
	uint32_t len = c->large.data_len;
	const struct inv_ring_large *large;

	if (i >= c->large.n || now->n != 1 || now->ev || now->def)
		return INV_EDAMAGED;
	if (!inv_large_is_of(&c->large, i, c->index, f->seq))
		return c->keep == INV_KEEP_NEWEST ? INV_END : INV_EDAMAGED;
	large = inv_large_at(&c->large, i);
	/* Each length is read once, and the copy is checked, because another
	 * program may change the length in the shared memory. */
	f->ev_len = *(const volatile uint32_t *)&large->ev;
	f->def_len = *(const volatile uint32_t *)&large->def;
	if (f->ev_len > len || f->def_len > len - f->ev_len)
		return INV_EDAMAGED;
	f->ev = large->data;
	f->def = large->data + (len - f->def_len);
	return 0;
}

/* Sets the bytes of *f to the packet's bytes from f->ev_off on or, if the
 * packet has a large slot, to the bytes in that slot. Returns the same codes as
 * find_large. */
static int find_bytes(const struct inv_consumer *c,
		      const struct inv_ring_slot *slot,
		      const struct commit *now, struct inv_fragment *f)
{
	uint32_t large = now->n ? large_of(slot) : 0;

	if (large)
		return find_large(c, large - 1, now, f);
	f->ev = slot->data + f->ev_off;
	f->ev_len = now->ev - f->ev_off;
	f->def_len = now->def;
	f->def = slot->data + (c->data_len - f->def_len);
	return 0;
}

/*
 * Takes events from the packet at `pos'. The producer must not overwrite the
 * packet during the call. Returns 0 and sets *f if the packet has new events,
 * INV_END if it has none, INV_EDAMAGED if the packet is invalid. If the event
 * in the packet's large slot was overwritten, also returns 0; *f then contains
 * only a new position.
 */
static int take_from(struct inv_consumer *c, struct inv_ring_slot *slot,
		     bool open, const struct inv_ring_pos *pos,
		     struct inv_fragment *f)
{
	uint64_t word, gap;
	struct commit now;
	int r;

	/* Acquire: pairs with the producer's release store to `commit', so that
	 * this thread sees all committed bytes. */
	word = atomic_load_explicit(&slot->commit, memory_order_acquire);
	now = (struct commit){ INV_COMMIT_EV(word), INV_COMMIT_DEF(word),
			       INV_COMMIT_N(word) };
	/* The caller computed `open' before this thread loaded the commit word.
	 * If an event in a large slot was committed in the meantime, the packet
	 * is complete now. */
	if (now.n && large_of(slot))
		open = false;
	if (!slot_is_sound(c, slot, pos, &now))
		return INV_EDAMAGED;

	*f = (struct inv_fragment){ .seq = pos->seq, .next = *pos };
	gap = pos->off == 0 ? slot->first_event - pos->event : 0;
	if (c->keep == INV_KEEP_NEWEST && !c->spoiled)
		f->next.overwritten += gap;
	else
		f->next.damaged += gap;
	f->first_event = pos->event + gap;
	f->n_events = (uint32_t)(slot->first_event + now.n - f->first_event);
	f->ev_off = (uint32_t)pos->off;
	f->begin_ns = slot->begin_ns;
	/* The time of the fragment's first record is relative to the time of
	 * the record before it, which is in an earlier fragment of the
	 * packet. */
	if (!add_times(slot->data, slot->data + pos->off, &f->begin_ns))
		return INV_EDAMAGED;
	f->end_ns = load(&slot->end_ns);
	f->next.event = f->first_event + f->n_events;
	r = find_bytes(c, slot, &now, f);
	if (r == INV_END) {
		f->n_events = 0;
		f->next.overwritten++;
		step(&f->next, pos->seq + 1);
		return 0;
	}
	if (r < 0 || !inv_fragment_is_sound(f->ev, f->ev_len, f->n_events,
					    f->def, f->def_len))
		return INV_EDAMAGED;
	if (f->ev_len == 0)
		return INV_END;
	fill_dropped(c, f, slot, open);
	f->next.recorded += f->n_events;
	if (open)
		f->next.off = now.ev;
	else
		step(&f->next, pos->seq + 1);
	return 0;
}

static bool moved(const struct inv_ring_pos *a, const struct inv_ring_pos *b)
{
	return a->seq != b->seq || a->off != b->off;
}

int inv_consumer_next(struct inv_consumer *c, uint64_t limit, unsigned take,
		      struct inv_fragment *f)
{
	struct inv_ring_pos pos = c->pos;

	for (;;) {
		uint64_t top = inv_consumer_top(c);
		struct inv_ring_slot *slot;
		bool open;
		int r;

		if (pos.seq < oldest(c, top))
			step(&pos, oldest(c, top));
		/*
		 * No ring ever has 2^63 packets, so a larger number means that
		 * the memory is damaged.
		 */
		if (pos.seq > top || pos.seq > limit || top > UINT64_MAX / 2)
			break;
		slot = slot_of(c, pos.seq);
		open = pos.seq == top && !has_large(slot, pos.seq);
		if (open && !(take & (INV_TAKE_OPEN | INV_TAKE_LAST)))
			break;
		if (c->keep == INV_KEEP_NEWEST && !hold(c, pos.seq)) {
			step(&pos, pos.seq + 1);
			continue;
		}
		if (atomic_load_explicit(&slot->seq, memory_order_acquire) !=
		    pos.seq) { /* the producer has skipped this number, or the
				  slot is damaged */
			step(&pos, pos.seq + 1);
			continue;
		}
		r = take_from(c, slot, open, &pos, f);
		if (r == 0)
			return 0;
		if (r == INV_EDAMAGED && (!open || take & INV_TAKE_LAST))
			c->spoiled = true;
		else if (open)
			break;
		step(&pos, pos.seq + 1);
	}
	inv_consumer_release(c);
	if (!moved(&pos, &c->pos))
		return INV_END;
	*f = (struct inv_fragment){ .seq = pos.seq, .next = pos };
	return 0;
}
