/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_UNIT_LOG_CHECK_H
#define INV_UNIT_LOG_CHECK_H

/*
 * Reads a log exactly as abi/log.h specifies it, without the code of the
 * readers. Stops the test at the first wrong byte. The events are those of
 * ring_build.h.
 */
#include <sys/stat.h>
#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "abi/log.h"
#include "unit/ring_build.h"

struct log_stream {
	uint64_t next_event; /* the next event has this number, or a larger
				one if events were lost */
	uint64_t recorded;
	uint64_t missing; /* event numbers that were skipped */
	uint64_t packets;
	uint64_t seq;
	uint64_t dropped[INV_LOSS_COUNT];
	struct inv_log_totals totals; /* this stream's entry in the last TOTALS
					 packet */
};

struct log_check {
	struct inv_log_head head; /* of the last file read */
	char node[256];
	unsigned files;
	unsigned anchors;
	unsigned ends;	 /* how many TOTALS packets there are */
	uint64_t end;	 /* the reason in the last TOTALS packet */
	uint64_t packed; /* how many packets were compressed */
	uint64_t bytes;
	struct inv_log_totals no_ring;
	struct log_stream s[BUILD_RINGS_MAX];
};

static inline void check_events(struct log_check *c,
				const struct inv_log_packet *p,
				const uint8_t *body)
{
	struct log_stream *s = &c->s[p->stream];
	unsigned i;

	CHECK(p->stream < c->head.n_streams);
	CHECK(p->n_events > 0 && p->def_len <= p->raw_len);
	CHECK(p->first_event >= s->next_event); /* no event is in the log
						   twice */
	CHECK(p->seq > s->seq || (p->seq == s->seq && p->ev_off > 0));
	CHECK(p->end_ns >= p->begin_ns);
	for (i = 0; i < INV_LOSS_COUNT; i++)
		CHECK(p->dropped[i] >= s->dropped[i]);
	CHECK(build_sound(body + p->def_len, p->raw_len - p->def_len,
			  p->first_event, p->n_events, body, p->def_len,
			  p->begin_ns));
	memcpy(s->dropped, p->dropped, sizeof(s->dropped));
	s->seq = p->seq;
	s->missing += p->first_event - s->next_event;
	s->next_event = p->first_event + p->n_events;
	s->recorded += p->n_events;
	s->packets++;
}

static inline void check_totals(struct log_check *c,
				const struct inv_log_packet *p,
				const uint8_t *body)
{
	struct inv_log_totals t;
	uint32_t i, k;

	CHECK(p->raw_len == p->n_events * sizeof(t));
	CHECK(p->seq >= INV_END_CLOSED && p->seq <= INV_END_FLUSHED);
	for (i = 0; i < p->n_events; i++) {
		uint64_t sum;

		memcpy(&t, body + i * sizeof(t), sizeof(t));
		sum = t.recorded;
		for (k = 0; k < INV_LOSS_COUNT; k++)
			sum += t.dropped[k];
		CHECK(t.produced == sum);
		if (t.stream == UINT32_MAX)
			c->no_ring = t;
		else
			c->s[t.stream].totals = t;
	}
	c->end = p->seq;
	c->ends++;
}

/* Checks one packet. Returns a pointer to the byte after the packet. */
static inline const uint8_t *check_packet(struct log_check *c,
					  const uint8_t *at, const uint8_t *end)
{
	static uint8_t raw[INV_PACKET_MAX];
	struct inv_log_packet p;
	const uint8_t *body = at + sizeof(p);

	CHECK(sizeof(p) <= (size_t)(end - at));
	memcpy(&p, at, sizeof(p));
	CHECK(p.sync == INV_LOG_SYNC && p.head_len == sizeof(p));
	CHECK(p.head_sum ==
	      XXH64(at, offsetof(struct inv_log_packet, head_sum), 0));
	CHECK(p.body_len <= (size_t)(end - body));
	CHECK(p.body_sum == XXH64(body, p.body_len, 0));
	at = body + p.body_len;
	if (p.codec == INV_CODEC_ZSTD) {
		CHECK(p.raw_len <= sizeof(raw));
		CHECK(ZSTD_decompress(raw, p.raw_len, body, p.body_len) ==
		      p.raw_len);
		body = raw;
		c->packed++;
	} else {
		CHECK(p.raw_len == p.body_len);
	}
	switch (p.type) {
	case INV_LOG_EVENTS:
		check_events(c, &p, body);
		break;
	case INV_LOG_ANCHORS:
		CHECK(p.raw_len == p.n_events * sizeof(struct inv_anchor));
		c->anchors += p.n_events;
		break;
	case INV_LOG_TOTALS:
		check_totals(c, &p, body);
		break;
	default:
		CHECK(!"a packet of a known type");
	}
	return at;
}

/* Checks a file of the log. Must be called for all files in their order. */
static inline void log_check_file(struct log_check *c, const char *path)
{
	const uint8_t *map, *at, *end;
	struct stat st;
	uint64_t sum;
	uint16_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 64);
	CHECK((st.st_mode & 0777) == 0600);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(map != MAP_FAILED);
	close(fd);
	end = map + st.st_size;
	memcpy(&c->head, map, sizeof(c->head));
	CHECK(memcmp(c->head.magic, INV_LOG_MAGIC, 8) == 0);
	CHECK(c->head.version == INV_LOG_VERSION_SMALL ||
	      c->head.version == INV_LOG_VERSION);
	CHECK(c->head.head_len < st.st_size);
	memcpy(&sum, map + c->head.head_len - 8, 8);
	CHECK(sum == XXH64(map, c->head.head_len - 8, 0));
	memcpy(&n, map + sizeof(c->head), 2);
	CHECK(n < sizeof(c->node));
	memcpy(c->node, map + sizeof(c->head) + 2, n);
	for (at = map + c->head.head_len; at < end;)
		at = check_packet(c, at, end);
	munmap((void *)(uintptr_t)map, (size_t)st.st_size);
	c->bytes += (uint64_t)st.st_size;
	c->files++;
}

/* Checks that the stream's totals have the same numbers of recorded and lost
 * events as its packets. */
static inline void log_check_counts(const struct log_check *c, uint32_t stream)
{
	const struct log_stream *s = &c->s[stream];

	CHECK(s->totals.recorded == s->recorded);
	CHECK(s->totals.dropped[INV_LOSS_OVERWRITTEN] +
		      s->totals.dropped[INV_LOSS_UNWRITTEN] +
		      s->totals.dropped[INV_LOSS_DAMAGED] >=
	      s->missing);
}

#endif
