/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks of nodes, of their schedulers, and of streams with losses. */
#include "sink/perfetto_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* At most this many schedulers of a node, and streams of a log, have tracks. */
#define SCHEDULERS 4096u
#define STREAMS 65536u

#define SCHEDULER_DESCRIBED 1u
#define SCHEDULER_RUNS 2u /* a slice is open on the scheduler's track */

/* Mixes the bits of x, so that identifiers of tracks are different. */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t inv__pf_uuid(enum inv_pf_group group, uint64_t node, uint64_t a,
		      uint64_t b)
{
	uint64_t uuid = mix(mix(mix(mix(group) ^ node) ^ a) ^ b);

	return uuid ? uuid : 1; /* 0 is the default track, of the whole trace */
}

/* Makes f->nodes long enough. */
static struct inv_pf_node *node_of(struct inv_perfetto *f,
				   const struct inv_node *node)
{
	uint32_t n = node->number + 1;
	struct inv_pf_node *more;

	if (inv_likely(n <= f->n_nodes))
		return &f->nodes[node->number];
	more = realloc(f->nodes, n * sizeof(*more));
	if (!more) {
		f->sink.out->error = INV_ENOMEM;
		return NULL;
	}
	memset(more + f->n_nodes, 0, (n - f->n_nodes) * sizeof(*more));
	f->nodes = more;
	f->n_nodes = n;
	return &more[node->number];
}

static void describe_node(struct inv_perfetto *f, const struct inv_node *node,
			  uint64_t track)
{
	size_t len = strlen(node->name), at;
	struct inv_pf_open o = inv__pf_track(f, track, 0, node->name, len);

	/* The reader groups tracks by processes of the operating system, so the
	 * node is written as such a process. */
	at = inv_proto_open(f->sink.out, PF_TRACK_PROCESS);
	inv_proto_u64(f->sink.out, PF_PROCESS_PID, node->number + 1);
	inv_proto_bytes(f->sink.out, PF_PROCESS_NAME, node->name, len);
	inv_proto_close(f->sink.out, at);
	inv__pf_close(f, o);
}

uint64_t inv__pf_group(struct inv_perfetto *f, const struct inv_node *node,
		       enum inv_pf_group group)
{
	static const char *const names[] = {
		[INV_PF_PROCESSES] = "processes",
		[INV_PF_SYSTEM] = "system processes",
		[INV_PF_PORTS] = "ports",
		[INV_PF_SCHEDULERS] = "schedulers",
		[INV_PF_LOSSES] = "lost events",
	};
	uint64_t uuid = inv__pf_uuid(group, node->number, 0, 0), parent;
	struct inv_pf_node *n = node_of(f, node);

	if (!n || inv_likely(n->described & 1u << group))
		return uuid;
	n->described |= 1u << group;
	if (group == INV_PF_NODE) {
		describe_node(f, node, uuid);
		return uuid;
	}
	parent = inv__pf_group(f, node, INV_PF_NODE);
	inv__pf_close(f, inv__pf_track(f, uuid, parent, names[group],
				       strlen(names[group])));
	return uuid;
}

/* --- schedulers ----------------------------------------------------------- */

static void describe_scheduler(struct inv_perfetto *f,
			       const struct inv_item *it, uint64_t track)
{
	uint64_t group = inv__pf_group(f, it->node, INV_PF_SCHEDULERS);
	char name[40];
	int n = snprintf(name, sizeof(name), "scheduler %" PRIu64,
			 it->ev.sched);

	inv__pf_close(f, inv__pf_track(f, track, group, name, (size_t)n));
}

static void begin_to_run(struct inv_perfetto *f, uint64_t track)
{
	const struct inv_buf *name = &f->process->name;
	struct inv_pf_open o = inv__pf_event(f, INV_PF_BEGIN, track, f->ts_ns);

	inv_proto_bytes(f->sink.out, PF_EVENT_NAME_TEXT, name->data, name->len);
	inv__pf_close(f, o);
}

void inv__pf_runs(struct inv_perfetto *f, const struct inv_item *it, bool runs)
{
	struct inv_pf_node *n = node_of(f, it->node);
	uint64_t track;
	uint8_t *s;

	/* All dirty schedulers have the number 0, so they get no tracks. */
	if (!n || !it->ev.has_sched || !it->ev.sched ||
	    it->ev.sched >= SCHEDULERS)
		return;
	if (!n->schedulers)
		n->schedulers = calloc(SCHEDULERS, 1);
	if (!n->schedulers) {
		f->sink.out->error = INV_ENOMEM;
		return;
	}
	s = &n->schedulers[it->ev.sched];
	track = inv__pf_uuid(INV_PF_SCHEDULER, it->node->number, it->ev.sched,
			     0);
	if (!(*s & SCHEDULER_DESCRIBED))
		describe_scheduler(f, it, track);
	if (*s & SCHEDULER_RUNS)
		inv__pf_end(f, track, f->ts_ns, NULL);
	if (runs)
		begin_to_run(f, track);
	*s = SCHEDULER_DESCRIBED | (runs ? SCHEDULER_RUNS : 0);
}

/* --- losses --------------------------------------------------------------- */

/*
 * Returns where the time of the last event of the item's stream is stored.
 * Returns NULL if there are too many streams, or no memory.
 */
static int64_t *stream_of(struct inv_perfetto *f, const struct inv_item *it)
{
	struct inv_pf_feed *feed;

	if (inv_unlikely(it->feed >= f->n_feeds)) {
		uint32_t n = it->feed + 1;

		feed = realloc(f->feeds, n * sizeof(*feed));
		if (!feed)
			goto no_memory;
		memset(feed + f->n_feeds, 0, (n - f->n_feeds) * sizeof(*feed));
		f->feeds = feed;
		f->n_feeds = n;
	}
	feed = &f->feeds[it->feed];
	if (inv_unlikely(it->stream >= feed->n)) {
		uint32_t n = (it->stream | 15u) + 1;
		int64_t *last;

		if (it->stream >= STREAMS)
			return NULL;
		last = realloc(feed->last, n * sizeof(*last));
		if (!last)
			goto no_memory;
		memset(last + feed->n, 0, (n - feed->n) * sizeof(*last));
		feed->last = last;
		feed->n = n;
	}
	return &feed->last[it->stream];

no_memory:
	f->sink.out->error = INV_ENOMEM;
	return NULL;
}

void inv__pf_seen(struct inv_perfetto *f, const struct inv_item *it)
{
	int64_t *last = stream_of(f, it);

	if (last && it->ts_ns > *last)
		*last = it->ts_ns;
}

/* Returns the stream's track. Describes it each time, because losses are
 * rare. */
static uint64_t stream_track(struct inv_perfetto *f, const struct inv_item *it)
{
	uint64_t group = inv__pf_group(f, it->node, INV_PF_LOSSES);
	uint64_t track = inv__pf_uuid(INV_PF_STREAM, it->node->number, it->feed,
				      it->stream);
	char name[60];
	int n = snprintf(name, sizeof(name),
			 "lost events of thread %" PRIu32 " in log %" PRIu32,
			 it->stream, it->feed + 1);

	inv__pf_close(f, inv__pf_track(f, track, group, name, (size_t)n));
	return track;
}

void inv__pf_gap(struct inv_perfetto *f, const struct inv_item *it)
{
	int64_t *last = stream_of(f, it);
	uint64_t track = stream_track(f, it);
	const char *reason = inv_lost_text(it->lost.reason);
	struct inv_buf *b = &f->text;
	int64_t from = last && *last ? *last : it->ts_ns;
	int64_t to = it->ts_ns > from ? it->ts_ns : from;
	struct inv_pf_open o;

	inv_buf_reset(b);
	inv_buf_printf(b, "lost %" PRIu64 ": %s", it->lost.n, reason);
	o = inv__pf_event(f, INV_PF_BEGIN, track, from);
	inv_proto_bytes(f->sink.out, PF_EVENT_NAME_TEXT, b->data, b->len);
	inv_proto_text(f->sink.out, PF_EVENT_CATEGORY_TEXT, "lost");
	inv__pf_uint(f, INV_PF_KEY_LOST, it->lost.n);
	inv__pf_text(f, INV_PF_KEY_REASON, reason, strlen(reason));
	inv__pf_close(f, o);
	inv__pf_end(f, track, to, NULL);
	if (last)
		*last = to;
}

void inv__pf_tracks_release(struct inv_perfetto *f)
{
	for (uint32_t i = 0; i < f->n_nodes; i++)
		free(f->nodes[i].schedulers);
	for (uint32_t i = 0; i < f->n_feeds; i++)
		free(f->feeds[i].last);
	free(f->nodes);
	free(f->feeds);
}
