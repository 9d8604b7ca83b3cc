/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of ShiViz: events with vector clocks.
 *
 * The first line is the regular expression with which ShiViz reads the events.
 * The second line is the regular expression that separates executions; each
 * request is an execution. Then each event has two lines: its text, and its
 * process with the vector clock.
 */
#include "sink/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sink/hop_text.h"
#include "sink/request_sink.h"

#define EVENTS "(?<event>.*)\\n(?<host>\\S*) (?<clock>{.*})"
#define EXECUTIONS "^=== (?<trace>.*) ===$"

/* An element of a vector clock: how many events of the process `process' are
 * known. The elements are sorted by process. */
struct tick {
	uint32_t process;
	uint32_t n;
};

struct clock {
	struct tick *v;
	uint32_t n;
	uint32_t cap;
};

struct writer {
	const struct inv_hops *h;
	struct inv_buf *out;
	struct clock *processes;
	struct clock *sent; /* for each hop: the clock of its send event, until
			     * the message is received */
	uint32_t *begin;    /* begin[i]: if hop i is the root of a request: the
			     * request's first event; otherwise NO_EVENT */
	uint32_t *next;	    /* next[i]: the event of the same request after
			       event i */
	size_t written;	    /* how many events were written */
	size_t size;	    /* bytes of memory of all vector clocks */
	size_t from;	    /* where the sink's output begins in the buffer */
};

#define NO_EVENT UINT32_MAX

/* --- clocks --------------------------------------------------------------- */

static struct tick *tick_of(struct writer *w, struct clock *c, uint32_t process)
{
	uint32_t low = 0, high = c->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (c->v[mid].process < process)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < c->n && c->v[low].process == process)
		return &c->v[low];
	if (c->n == c->cap) {
		uint32_t cap = c->cap ? c->cap * 2 : 4;
		struct tick *v = realloc(c->v, cap * sizeof(*v));

		if (!v)
			return NULL;
		w->size += (cap - c->cap) * sizeof(*v);
		c->v = v;
		c->cap = cap;
	}
	memmove(c->v + low + 1, c->v + low, (c->n - low) * sizeof(*c->v));
	c->n++;
	c->v[low] = (struct tick){ process, 0 };
	return &c->v[low];
}

static void drop(struct writer *w, struct clock *c)
{
	w->size -= c->cap * sizeof(*c->v);
	free(c->v);
	*c = (struct clock){ 0 };
}

/* Merges the vector clock `from' into c. */
static int join(struct writer *w, struct clock *c, const struct clock *from)
{
	for (uint32_t i = 0; i < from->n; i++) {
		struct tick *t = tick_of(w, c, from->v[i].process);

		if (!t)
			return INV_ENOMEM;
		if (from->v[i].n > t->n)
			t->n = from->v[i].n;
	}
	return 0;
}

/* --- events --------------------------------------------------------------- */

/* Appends the name of the process. Replaces spaces, braces, bytes that are not
 * ASCII, and characters that JSON escapes. */
static void put_host(struct writer *w, uint32_t process)
{
	size_t from = w->out->len;

	inv_hop_process_text(w->h, process, w->out);
	for (size_t i = from; i < w->out->len; i++) {
		uint8_t c = w->out->data[i];

		if (c <= ' ' || c == '"' || c == '\\' || c == '{' || c == '}' ||
		    c >= 0x7f)
			w->out->data[i] = '_';
	}
	/* Several processes can have the same name, so add the number. */
	inv_buf_printf(w->out, "/%" PRIu32, process);
}

static void put_clock(struct writer *w, uint32_t process)
{
	const struct clock *c = &w->processes[process];

	put_host(w, process);
	inv_buf_puts(w->out, " {");
	for (uint32_t i = 0; i < c->n; i++) {
		inv_buf_puts(w->out, i ? ",\"" : "\"");
		put_host(w, c->v[i].process);
		inv_buf_printf(w->out, "\":%" PRIu32, c->v[i].n);
	}
	inv_buf_puts(w->out, "}\n");
}

/* Appends the text of an event. The text must not contain a word before a
 * brace, because ShiViz would read the two as a process and its clock. */
static void put_what(struct writer *w, const struct inv_hop *p, bool sent)
{
	if (p->kind == INV_HOP_MESSAGE) {
		inv_buf_puts(w->out, sent ? "send to " : "receive from ");
		if (sent && !inv_hop_arrived(p))
			inv_hop_aim_text(w->h, p, w->out);
		else
			inv_hop_process_text(w->h, sent ? p->to : p->from,
					     w->out);
		inv_buf_puts(w->out, ": ");
	} else {
		inv_buf_puts(w->out, "did ");
	}
	inv_hop_doubt(p, w->out);
	inv_hop_what(w->h, p, w->out);
	inv_buf_putc(w->out, '\n');
}

/* If the receive event of the message that began the event's turn is missing,
 * merges the clock of this message into the clock of the process. */
static int join_missing(struct writer *w, uint32_t turn, uint32_t process)
{
	if (turn == INV_HOP_NONE || !w->sent[turn].n ||
	    w->h->v[turn].receive_id || w->h->v[turn].to != process)
		return 0;
	if (join(w, &w->processes[process], &w->sent[turn]))
		return INV_ENOMEM;
	drop(w, &w->sent[turn]);
	return 0;
}

/* shiviz_end frees the clocks; the analyzer does not see that. */
// NOLINTBEGIN(clang-analyzer-unix.Malloc)
static int put_event(struct writer *w, const struct inv_hop_event *e)
{
	const struct inv_hop *p = &w->h->v[e->hop];
	bool sent = e->id == p->send_id;
	uint32_t process = sent ? p->from : p->to;
	struct clock *c;
	struct tick *own;

	if (process == INV_HOP_NONE)
		return 0;
	c = &w->processes[process];
	if (sent && join_missing(w, p->parent, process))
		return INV_ENOMEM;
	if (!sent && p->send_id) {
		if (join(w, c, &w->sent[e->hop]))
			return INV_ENOMEM;
		drop(w, &w->sent[e->hop]);
	}
	own = tick_of(w, c, process);
	if (!own)
		return INV_ENOMEM;
	own->n++;
	if (sent && inv_hop_arrived(p) && join(w, &w->sent[e->hop], c))
		return INV_ENOMEM;
	put_what(w, p, sent);
	put_clock(w, process);
	return 0;
}
// NOLINTEND(clang-analyzer-unix.Malloc)

/* --- requests ------------------------------------------------------------- */

/* Sorts the events by request. */
static bool sort_events(struct writer *w)
{
	const struct inv_hops *h = w->h;
	uint32_t *last = malloc((h->n + 1u) * sizeof(*last));

	w->begin = malloc((h->n + 1u) * sizeof(*w->begin));
	w->next = malloc((h->n_events + 1) * sizeof(*w->next));
	if (!last || !w->begin || !w->next) {
		free(last);
		return false;
	}
	for (uint32_t i = 0; i < h->n; i++)
		w->begin[i] = NO_EVENT;
	for (uint32_t n = 0; n < h->n_events; n++) {
		uint32_t root = h->v[h->events[n].hop].root;

		w->next[n] = NO_EVENT;
		if (w->begin[root] == NO_EVENT)
			w->begin[root] = n;
		else
			w->next[last[root]] = n;
		last[root] = n;
	}
	free(last);
	return true;
}

/* Returns true if the bound is reached. Each event is written with the counts
 * of many processes, so the output can be much longer than the log. */
static bool is_full(const struct writer *w)
{
	return w->size + w->out->len - w->from > w->h->memory;
}

static int put_request(struct writer *w, uint32_t root)
{
	const struct inv_hop *r = &w->h->v[root];

	inv_buf_printf(w->out, "=== request %" PRIu64 ", label %s ===\n",
		       r->request, inv_hops_text(w->h, r->label));
	for (uint32_t n = w->begin[root]; n != NO_EVENT; n = w->next[n]) {
		if (put_event(w, &w->h->events[n]))
			return INV_ENOMEM;
		w->written++;
		if (is_full(w))
			return 0;
	}
	for (uint32_t i = root; i != INV_HOP_NONE; i = w->h->v[i].then) {
		const struct inv_hop *p = &w->h->v[i];

		if (p->from != INV_HOP_NONE)
			drop(w, &w->processes[p->from]);
		if (p->to != INV_HOP_NONE)
			drop(w, &w->processes[p->to]);
		drop(w, &w->sent[i]);
	}
	return 0;
}

static void shiviz_end(struct inv_sink *s)
{
	struct inv_request_sink *r = (struct inv_request_sink *)s;
	const struct inv_hops *h = &r->hops;
	struct writer w = {
		.h = h,
		.out = s->out,
		.from = s->out->len,
		.processes = calloc(h->n_processes + 1u, sizeof(struct clock)),
		.sent = calloc(h->n + 1u, sizeof(struct clock)),
	};
	bool failed = !w.processes || !w.sent || !sort_events(&w);

	inv_buf_puts(s->out, EVENTS "\n" EXECUTIONS "\n");
	for (uint32_t i = 0; !failed && !is_full(&w) && i < h->n; i++)
		if (w.begin[i] != NO_EVENT)
			failed = put_request(&w, i) != 0;
	if (failed)
		s->out->error = INV_ENOMEM;
	else
		s->left_out += h->n_events - w.written;
	for (uint32_t i = 0; w.processes && i < h->n_processes; i++)
		drop(&w, &w.processes[i]);
	for (uint32_t i = 0; w.sent && i < h->n; i++)
		drop(&w, &w.sent[i]);
	free(w.processes);
	free(w.sent);
	free(w.begin);
	free(w.next);
}

const struct inv_sink_ops inv_sink_shiviz = {
	.name = "shiviz",
	.help = "requests as events with vector clocks, for ShiViz",
	.size = sizeof(struct inv_request_sink),
	.init = inv_request_sink_init,
	.event = inv_request_sink_event,
	.loss = inv_request_sink_loss,
	.end = shiviz_end,
	.release = inv_request_sink_release,
};
