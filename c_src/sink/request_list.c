/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink that lists requests: inviso merge --requests.
 *
 * A request is written when all events of the log were read, because no event
 * says that it is the last event of its request. If there are too many
 * requests, the requests whose last events are the oldest are written earlier.
 */
#include "sink/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/uthash.h"
#include "flow/flow.h"
#include "flow/hops.h"
#include "flow/seq.h"
#include "sink/duration.h"
#include "sink/fit.h"
#include "sink/hop_text.h"
#include "sink/timefmt.h"

/* A set of hashes, which are not 0. */
struct set {
	uint64_t *v;
	uint32_t cap; /* a power of two, or 0 */
	uint32_t n;
};

struct request {
	uint64_t number;
	char *label;
	char *first; /* description of the request's first event */
	int64_t first_ns;
	int64_t last_ns;
	uint64_t messages;
	uint64_t not_received;
	uint64_t orphans;
	uint64_t lost_before; /* lost events of all nodes before the request
			       * began */
	uint64_t lost;	      /* lost events of all nodes between the first and
			       * the last event of the request */
	struct set processes;
	struct set nodes;
	size_t size;
	bool selected; /* one of the request's events is selected */
	bool stored;
	UT_hash_handle hh;
};

struct list_sink {
	struct inv_sink sink;
	struct request *table; /* the request whose last event is the oldest
			        * comes first */
	size_t size;
	uint64_t newest; /* number of the newest request */
	uint64_t requests;
	uint64_t listed; /* how many selected requests were written */
	uint64_t late;	 /* events of requests that were already written */
	uint64_t lost;
	bool begun;	      /* the headings of the list were written */
	struct inv_hops hops; /* the hops of the current event */
	struct inv_timefmt time;
	struct inv_buf spare;
};

#define LIST_MEMORY ((size_t)64 << 20)

/* --- sets ----------------------------------------------------------------- */

static bool set_put(struct set *s, uint64_t key)
{
	uint32_t i = (uint32_t)key & (s->cap - 1);

	while (s->v[i] && s->v[i] != key)
		i = (i + 1) & (s->cap - 1);
	if (s->v[i])
		return false;
	s->v[i] = key;
	s->n++;
	return true;
}

/* Adds a key to the set. Adds the bytes that this function allocates to *size.
 * Returns 0 or INV_ENOMEM. */
static int set_add(struct set *s, uint64_t key, size_t *size)
{
	struct set more = { .cap = s->cap ? s->cap * 2 : 8 };

	if (s->n + s->n / 2 >= s->cap) {
		more.v = calloc(more.cap, sizeof(*more.v));
		if (!more.v)
			return INV_ENOMEM;
		for (uint32_t i = 0; i < s->cap; i++)
			if (s->v[i])
				set_put(&more, s->v[i]);
		free(s->v);
		*size += (more.cap - s->cap) * sizeof(*more.v);
		*s = more;
	}
	set_put(s, key ? key : 1);
	return 0;
}

/* --- the parts of a line -------------------------------------------------- */

/* Describes the hops of one event. */
static void describe(const struct inv_hops *h, struct inv_buf *out)
{
	const struct inv_hop *p = &h->v[h->n - 1];

	inv_hop_process_text(h, p->from, out);
	if (p->kind == INV_HOP_MESSAGE) {
		inv_buf_puts(out, " to ");
		if (inv_hop_arrived(p))
			inv_hop_process_text(h, p->to, out);
		else
			inv_hop_aim_text(h, p, out);
	}
	inv_buf_putc(out, ' ');
	inv_hop_what(h, p, out);
	inv_buf_putc(out, 0);
}

static void free_request(struct request *r)
{
	free(r->label);
	free(r->first);
	free(r->processes.v);
	free(r->nodes.v);
	free(r);
}

static struct request *new_request(struct list_sink *l,
				   const struct inv_item *it)
{
	struct request *r = calloc(1, sizeof(*r));
	struct inv_buf b = { 0 };

	inv_sink_manner(&l->sink, it);
	inv_hops_reset(&l->hops);
	if (!r || inv_hops_add(&l->hops, it, &l->sink.print)) {
		free(r);
		return NULL;
	}
	r->number = it->facts->cause->request;
	r->first_ns = it->ts_ns;
	r->lost_before = l->lost;
	if (l->hops.n) {
		describe(&l->hops, &b);
		r->label = strdup(inv_hops_text(&l->hops, l->hops.v[0].label));
	}
	r->first = (char *)b.data;
	r->size = sizeof(*r) + b.cap + 64;
	r->stored = true;
	return r;
}

/* --- output --------------------------------------------------------------- */

static const char *text_or(const char *text)
{
	return text ? text : "?";
}

/* On a terminal with fewer columns than this, times are printed without a
 * date. */
#define BRIEF_BELOW 120u

static void head(struct list_sink *l)
{
	bool brief = l->sink.opts.width && l->sink.opts.width < BRIEF_BELOW;

	l->begun = true;
	inv_buf_printf(l->sink.out,
		       "   # %-*s   duration proc node  msgs orph lost label, "
		       "first event\n",
		       brief ? 15 : 26, "start");
}

static void put_text(struct list_sink *l, const struct request *r)
{
	struct inv_buf *out = l->sink.out;
	unsigned width = l->sink.opts.width;
	size_t line = out->len, from = line;

	inv_buf_u64(out, r->number);
	inv_fit_right(out, from, 4);
	inv_buf_putc(out, ' ');
	l->time.brief = width && width < BRIEF_BELOW;
	inv_timefmt_put(&l->time, r->first_ns, out);
	from = out->len;
	inv_duration_put(r->last_ns - r->first_ns, out);
	inv_fit_right(out, from, 11);
	inv_buf_printf(out,
		       " %4" PRIu32 " %4" PRIu32 " %5" PRIu64 " %4" PRIu64
		       " %4" PRIu64 " %s, %s\n",
		       r->processes.n, r->nodes.n, r->messages, r->orphans,
		       r->lost, text_or(r->label), text_or(r->first));
	if (width)
		l->sink.cut += inv_fit_lines(out, line, width, "", &l->spare);
}

static void put_json(struct list_sink *l, const struct request *r)
{
	struct inv_json j = { .out = l->sink.out };
	struct inv_timefmt time = { .utc = true };
	size_t begin;

	inv_json_open(&j, NULL, '{');
	inv_json_uint(&j, "request", r->number);
	inv_json_text(&j, "label", text_or(r->label));
	inv_json_int(&j, "ts", r->first_ns);
	begin = inv_json_begin(&j, "time");
	inv_timefmt_iso(&time, r->first_ns, j.out);
	inv_json_end(&j, begin);
	inv_json_text(&j, "first", text_or(r->first));
	inv_json_uint(&j, "processes", r->processes.n);
	inv_json_uint(&j, "nodes", r->nodes.n);
	inv_json_uint(&j, "messages", r->messages);
	inv_json_uint(&j, "not_received", r->not_received);
	inv_json_int(&j, "duration_ns", r->last_ns - r->first_ns);
	inv_json_uint(&j, "orphans", r->orphans);
	inv_json_uint(&j, "lost", r->lost);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

/* Writes the request if it is selected, and removes it from the table. */
static void put(struct list_sink *l, struct request *r)
{
	if (r->selected && l->sink.opts.json) {
		put_json(l, r);
	} else if (r->selected) {
		if (!l->begun)
			head(l);
		put_text(l, r);
	}
	l->listed += r->selected;
	l->requests++;
	l->size -= r->size;
	HASH_DELETE(hh, l->table, r);
	free_request(r);
}

/* --- events --------------------------------------------------------------- */

static int count(struct list_sink *l, struct request *r,
		 const struct inv_item *it)
{
	const struct inv_cause *c = it->facts->cause;
	struct inv_seq s;
	size_t more = 0;
	int rc = 0;

	r->selected |= !it->facts->context;
	if (it->ts_ns > r->last_ns || !r->last_ns)
		r->last_ns = it->ts_ns;
	if (it->ts_ns < r->first_ns)
		r->first_ns = it->ts_ns;
	r->orphans += c->orphan != INV_ORPHAN_NOT;
	r->lost = l->lost - r->lost_before;
	if (!inv_seq_read(&s, l->sink.cursor, it))
		return 0;
	if (s.kind == INV_SEQ_SEND) {
		r->messages++;
		r->not_received++;
	} else if (s.kind == INV_SEQ_RECEIVE) {
		if (c->certain && !c->orphan)
			r->not_received -= r->not_received > 0;
		else
			r->messages++;
		rc = set_add(&r->processes, s.to, &more) ||
		     set_add(&r->nodes, inv_seq_home(it->node), &more);
	}
	if (rc || set_add(&r->processes, s.from, &more) ||
	    set_add(&r->nodes, s.from_node, &more))
		return INV_ENOMEM;
	r->size += more;
	l->size += more;
	return 0;
}

/* Finds or adds the item's request, and moves it to the end of the table, as
 * the request with the newest event. Returns 0 or INV_ENOMEM. Sets *found to
 * NULL if the request was written already. */
static int get(struct list_sink *l, const struct inv_item *it,
	       struct request **found)
{
	uint64_t number = it->facts->cause->request;
	struct request *r;

	HASH_FIND(hh, l->table, &number, sizeof(number), r);
	*found = r;
	if (r) {
		HASH_DELETE(hh, l->table, r);
	} else if (number <= l->newest) {
		l->late++;
		return 0;
	} else {
		r = new_request(l, it);
		if (!r)
			return INV_ENOMEM;
		l->newest = number;
		l->size += r->size;
	}
	HASH_ADD(hh, l->table, number, sizeof(r->number), r);
	if (!r->stored) {
		free_request(r);
		return INV_ENOMEM;
	}
	*found = r;
	return 0;
}

static int list_event(struct inv_sink *s, const struct inv_item *it)
{
	struct list_sink *l = (struct list_sink *)s;
	size_t most = s->opts.request_memory ? s->opts.request_memory :
					       LIST_MEMORY;
	struct request *r;

	if (!it->facts || !it->facts->cause)
		return 0;
	if (get(l, it, &r) || (r && count(l, r, it)))
		s->out->error = INV_ENOMEM;
	while (l->size > most && l->table && l->table != r)
		put(l, l->table);
	return 0;
}

static void list_loss(struct inv_sink *s, const struct inv_item *it)
{
	if (it->lost.reason != INV_LOSS_LIMIT)
		((struct list_sink *)s)->lost += it->lost.n;
}

static int by_number(const struct request *a, const struct request *b)
{
	return a->number < b->number ? -1 : a->number > b->number;
}

static void list_end(struct inv_sink *s)
{
	struct list_sink *l = (struct list_sink *)s;

	HASH_SORT(l->table, by_number);
	while (l->table)
		put(l, l->table);
	if (s->opts.json) {
		if (l->late)
			inv_buf_printf(s->out, "{\"late\":%" PRIu64 "}\n",
				       l->late);
		return;
	}
	inv_buf_printf(s->out, "-- %" PRIu64, l->listed);
	if (l->listed < l->requests)
		inv_buf_printf(s->out, " of %" PRIu64, l->requests);
	inv_buf_printf(s->out, " request%s\n", l->requests == 1 ? "" : "s");
	if (l->late)
		inv_buf_printf(s->out,
			       "*** %" PRIu64 " events came after their "
			       "request had been listed, because there were "
			       "too many requests; see --request-memory\n",
			       l->late);
	inv_buf_puts(s->out, "-- ");
	inv_summary_text(&s->sum, s->out);
	inv_buf_putc(s->out, '\n');
}

static int list_init(struct inv_sink *s)
{
	struct list_sink *l = (struct list_sink *)s;

	l->time.utc = s->opts.utc;
	inv_sink_for_people(s);
	return inv_hops_init(&l->hops, 0);
}

static void list_release(struct inv_sink *s)
{
	struct list_sink *l = (struct list_sink *)s;
	struct request *r = l->table;

	HASH_CLEAR(hh, l->table);
	while (r) {
		struct request *next = r->hh.next;

		free_request(r);
		r = next;
	}
	inv_hops_release(&l->hops);
	inv_buf_release(&l->spare);
}

const struct inv_sink_ops inv_sink_requests = {
	.name = "requests",
	.help = "a list of requests",
	.size = sizeof(struct list_sink),
	.init = list_init,
	.event = list_event,
	.loss = list_loss,
	.end = list_end,
	.release = list_release,
};
