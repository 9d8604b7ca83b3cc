/* SPDX-License-Identifier: Apache-2.0 */
/* The data of sequence charts. */
#include "sink/sequence_json.h"

#include <stdlib.h>

#include "base/err.h"
#include "sink/hop_sum.h"
#include "sink/hop_text.h"

struct writer {
	const struct inv_hops *h;
	struct inv_json *j;
	struct inv_buf text;
	uint32_t *send;	   /* send[i]: the row of the send event of hop i;
			    * INV_HOP_NONE: no row */
	uint32_t *receive; /* receive[i]: the row of the receive event */
	struct inv_hop_sums sums;
	size_t rows;
};

/* Writes the text that was collected in w->text, as the value of `key'. */
static void put_text(struct writer *w, const char *key)
{
	inv_json_bytes(w->j, key, w->text.data, w->text.len);
	inv_buf_reset(&w->text);
}

static void number(struct writer *w, const char *key, uint32_t n)
{
	if (n == INV_HOP_NONE)
		inv_json_null(w->j, key);
	else
		inv_json_uint(w->j, key, n);
}

static void optional(struct writer *w, const char *key, int64_t ns)
{
	if (ns < 0)
		inv_json_null(w->j, key);
	else
		inv_json_int(w->j, key, ns);
}

static void processes(struct writer *w)
{
	inv_json_open(w->j, "nodes", '[');
	for (uint32_t i = 0; i < w->h->n_nodes; i++)
		inv_json_text(w->j, NULL, w->h->nodes[i].name);
	inv_json_close(w->j, ']');
	inv_json_open(w->j, "processes", '[');
	for (uint32_t i = 0; i < w->h->n_processes; i++) {
		inv_json_open(w->j, NULL, '{');
		inv_json_uint(w->j, "node", w->h->processes[i]->node);
		inv_hop_name_text(w->h, i, &w->text);
		put_text(w, "name");
		inv_json_close(w->j, '}');
	}
	inv_json_close(w->j, ']');
}

/* Writes the rows, one for each of the first w->rows events. Stores the numbers
 * of the rows in w->send and w->receive. */
static void rows(struct writer *w)
{
	int64_t begin = w->h->n ? inv_hop_time(&w->h->v[0]) : 0;

	inv_json_open(w->j, "rows", '[');
	for (size_t n = 0; n < w->rows; n++) {
		const struct inv_hop_event *e = &w->h->events[n];
		const struct inv_hop *p = &w->h->v[e->hop];
		bool sent = e->id == p->send_id;

		(sent ? w->send : w->receive)[e->hop] = (uint32_t)n;
		inv_json_open(w->j, NULL, '{');
		inv_json_uint(w->j, "process", sent ? p->from : p->to);
		inv_json_int(w->j, "at",
			     (sent ? p->sent_ns : p->received_ns) - begin);
		inv_json_close(w->j, '}');
	}
	inv_json_close(w->j, ']');
}

static const char *const kinds[] = { [INV_HOP_BEGIN] = "begin",
				     [INV_HOP_MESSAGE] = "message",
				     [INV_HOP_PRINT] = "print" };

static void hop(struct writer *w, uint32_t i)
{
	const struct inv_hop *p = &w->h->v[i];

	inv_json_open(w->j, NULL, '{');
	inv_json_text(w->j, "kind", kinds[p->kind]);
	number(w, "parent", p->parent);
	number(w, "from", p->from);
	number(w, "to", p->to);
	number(w, "aim", p->aim);
	number(w, "send", w->send[i]);
	number(w, "receive", w->receive[i]);
	inv_json_text(w->j, "name", inv_hops_text(w->h, p->to_text));
	inv_hop_doubt(p, &w->text);
	put_text(w, "doubt");
	inv_hop_short(w->h, p, &w->text);
	put_text(w, "text");
	optional(w, "mailbox", inv_hop_mailbox(p));
	optional(w, "handler", inv_hop_handler(p));
	inv_json_bool(w->j, "crosses", p->crosses);
	inv_json_bool(w->j, "critical", p->critical);
	inv_json_close(w->j, '}');
}

/* Returns true if the hop is the beginning of a request, or if the diagram has
 * a row for one of the hop's events. */
static bool is_drawn(const struct writer *w, uint32_t i)
{
	const struct inv_hop *p = &w->h->v[i];

	return p->kind == INV_HOP_BEGIN || w->send[i] != INV_HOP_NONE ||
	       w->receive[i] != INV_HOP_NONE;
}

/* Writes the hops that are drawn. They come before all other hops, so the
 * numbers of their parents need no change. */
static void hops(struct writer *w)
{
	inv_json_open(w->j, "hops", '[');
	for (uint32_t i = 0; i < w->h->n && is_drawn(w, i); i++)
		hop(w, i);
	inv_json_close(w->j, ']');
}

static uint32_t first_row(const struct writer *w, uint32_t root)
{
	uint32_t first = w->h->v[root].first;

	if (w->receive[root] != INV_HOP_NONE || first == INV_HOP_NONE)
		return w->receive[root];
	return w->send[first];
}

static void requests(struct writer *w)
{
	struct inv_hop_sum sum;

	inv_json_open(w->j, "requests", '[');
	for (uint32_t i = 0; i < w->h->n; i++) {
		const struct inv_hop *p = &w->h->v[i];

		if (p->parent != INV_HOP_NONE ||
		    first_row(w, i) == INV_HOP_NONE)
			continue;
		inv_hop_sum(&w->sums, i, &sum);
		inv_json_open(w->j, NULL, '{');
		inv_json_uint(w->j, "number", p->request);
		inv_json_text(w->j, "label", inv_hops_text(w->h, p->label));
		inv_json_uint(w->j, "row", first_row(w, i));
		inv_hop_sum_text(&sum, &w->text);
		put_text(w, "summary");
		inv_json_close(w->j, '}');
	}
	inv_json_close(w->j, ']');
}

static void put_data(struct writer *w, uint64_t left_out, uint64_t lost)
{
	inv_json_open(w->j, NULL, '{');
	processes(w);
	rows(w);
	requests(w);
	hops(w);
	inv_json_uint(w->j, "left_out", left_out);
	inv_json_uint(w->j, "lost", lost);
	inv_json_close(w->j, '}');
}

uint64_t inv_sequence_json(const struct inv_hops *h, size_t most,
			   uint64_t left_out, uint64_t lost, struct inv_json *j)
{
	size_t n = h->n + 1u;
	struct writer w = { .h = h,
			    .j = j,
			    .send = malloc(n * sizeof(*w.send)),
			    .receive = malloc(n * sizeof(*w.receive)) };
	bool failed = inv_hop_sums_init(&w.sums, h) || !w.send || !w.receive;

	w.rows = h->n_events < most ? h->n_events : most;
	left_out += h->n_events - w.rows;
	for (uint32_t i = 0; !failed && i < h->n; i++)
		w.send[i] = w.receive[i] = INV_HOP_NONE;
	if (!failed)
		put_data(&w, left_out, lost);
	if (failed || w.text.error)
		j->out->error = INV_ENOMEM;
	free(w.send);
	free(w.receive);
	inv_hop_sums_release(&w.sums);
	inv_buf_release(&w.text);
	return left_out;
}
