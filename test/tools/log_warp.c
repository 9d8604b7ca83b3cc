/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a log of one file, with another clock or with fewer events, for
 * test/ct/inviso_requests_SUITE.erl.
 *
 *	log_warp IN OUT OFFSET-NS PPM PPM2 DROP SEED
 *
 * In the copy, the node's system time is OFFSET-NS nanoseconds ahead at the
 * first anchor. In the first half of the time between the first and the last
 * anchor it runs PPM millionths too fast, and in the second half PPM2
 * millionths. Of 1000 events, about DROP are replaced by notes of a kind that
 * readers ignore; SEED seeds the choice. The program prints the new system time
 * of each anchor, and by how many nanoseconds this time is ahead.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "abi/log.h"
#include "base/varint.h"

static int64_t offset;
static double ppm, ppm2;
static unsigned long drop;
#define STREAMS 1024
static uint64_t losses[STREAMS]; /* of each stream, so far */
static uint64_t first, last;	 /* times of the anchors */

static int64_t ahead(uint64_t mono)
{
	uint64_t half = (last - first) / 2;
	uint64_t t = mono - first;
	uint64_t early = t < half ? t : half;

	return offset +
	       (int64_t)(((double)early * ppm + (double)(t - early) * ppm2) /
			 1e6);
}

static void each_anchor(uint8_t *body, const struct inv_log_packet *p,
			void (*f)(struct inv_anchor *a))
{
	for (uint32_t i = 0; i < p->n_events; i++) {
		struct inv_anchor a;

		memcpy(&a, body + i * sizeof(a), sizeof(a));
		f(&a);
		memcpy(body + i * sizeof(a), &a, sizeof(a));
	}
}

static void measure(struct inv_anchor *a)
{
	if (!first)
		first = a->mono;
	last = a->mono;
}

static void warp(struct inv_anchor *a)
{
	int64_t d = ahead(a->mono);
	long long at;

	a->offset += d;
	a->real += d;
	at = a->erl + a->offset;
	printf("%lld %lld\n", at, (long long)d);
}

static uint32_t drop_events(uint8_t *p, const uint8_t *end)
{
	uint32_t dropped = 0;

	uint8_t delta[INV_VARINT_MAX];
	uint64_t n, ns;

	while (p < end) {
		uint8_t *q = (uint8_t *)(uintptr_t)inv_varint_get(p, end, &n);
		const uint8_t *from;
		const uint8_t *to;

		if (!q)
			exit(4);
		p = q + n;
		if ((unsigned long)random() % 1000 >= drop)
			continue;
		from = q + (*q & INV_HEAD_FLAGS ? 2 : 1);
		to = inv_varint_get(from, p, &ns);
		memcpy(delta, from, (size_t)(to - from));
		*q++ = INV_HEAD_NOTE;
		memcpy(q, delta, (size_t)(to - from));
		q[to - from] = 77;
		dropped++;
	}
	return dropped;
}

/* The head of a packet counts the events that were lost before the packet. So
 * the events that are dropped from this packet are added to the losses in the
 * heads of the next packets of its stream. */
static void lose(struct inv_log_packet *h, uint8_t *body)
{
	uint64_t *lost = &losses[h->stream % STREAMS];
	/* A packet without events contains only notes. */
	uint32_t now = h->n_events ? drop_events(body + h->def_len,
						 body + h->raw_len) :
				     0;

	h->n_events -= now;
	h->first_event -= *lost;
	h->dropped[INV_LOSS_FULL] += *lost;
	*lost += now;
}

static void lose_totals(const struct inv_log_packet *h, uint8_t *body)
{
	for (uint32_t i = 0; i < h->n_events; i++) {
		struct inv_log_totals t;

		memcpy(&t, body + i * sizeof(t), sizeof(t));
		t.recorded -= losses[t.stream % STREAMS];
		t.dropped[INV_LOSS_FULL] += losses[t.stream % STREAMS];
		memcpy(body + i * sizeof(t), &t, sizeof(t));
	}
}

static void each_packet(uint8_t *p, const uint8_t *end, bool change)
{
	while (p < end) {
		struct inv_log_packet h;
		uint8_t *body;

		memcpy(&h, p, sizeof(h));
		if (h.sync != INV_LOG_SYNC || h.codec != INV_CODEC_NONE)
			exit(3);
		body = p + h.head_len;
		if (h.type == INV_LOG_ANCHORS)
			each_anchor(body, &h, change ? warp : measure);
		if (h.type == INV_LOG_EVENTS && change)
			lose(&h, body);
		if (h.type == INV_LOG_TOTALS && change)
			lose_totals(&h, body);
		h.body_sum = XXH64(body, h.body_len, 0);
		h.head_sum =
			XXH64(&h, offsetof(struct inv_log_packet, head_sum), 0);
		memcpy(p, &h, sizeof(h));
		p = body + h.body_len;
	}
}

int main(int argc, char **argv)
{
	static uint8_t log[64 << 20];
	struct inv_log_head head;
	size_t n;
	FILE *f;

	if (argc != 8)
		return 2;
	offset = strtoll(argv[3], NULL, 10);
	ppm = strtod(argv[4], NULL);
	ppm2 = strtod(argv[5], NULL);
	drop = strtoul(argv[6], NULL, 10);
	srandom((unsigned)strtoul(argv[7], NULL, 10));
	f = fopen(argv[1], "rb");
	if (!f)
		return 1;
	n = fread(log, 1, sizeof(log), f);
	fclose(f);
	memcpy(&head, log, sizeof(head));
	each_packet(log + head.head_len, log + n, false);
	each_packet(log + head.head_len, log + n, true);
	f = fopen(argv[2], "wb");
	if (!f || fwrite(log, 1, n, f) != n || fclose(f))
		return 1;
	return 0;
}
