/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows requests of sequential traces in all views. Some of the events would be
 * impossible in a VM.
 *
 *	byte 0    bits 0 to 2: the view; bit 4: as JSON; bit 5: narrow lines;
 *	          bits 6, 7: the bounds of the memory
 *	the rest  events of OP_SIZE bytes each:
 *	          byte 0  bits 0, 1: send, receive, print, something else;
 *	                  bit 2: the label; bit 3: a filter removes the event;
 *	                  bits 4 to 6: the message
 *	          byte 1  bits 0 to 3: the sender; bits 4 to 7: the receiver
 *	          byte 2  Prev, a serial
 *	          byte 3  Cur, a serial
 *
 * The target checks that a cause is an earlier event of the same request, that
 * the certain cause of a received message is the event that sent it, and that
 * the hops (messages and prints) of a request are a tree. The output must be
 * UTF-8 without control characters except line ends. A second run must have the
 * same output.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/term.h"
#include "base/varint.h"
#include "flow/flow.h"
#include "flow/hops.h"
#include "flow/seq.h"
#include "sink/formats.h"
#include "sink/sink.h"
#include "text_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OP_SIZE 4
#define EVENTS_MAX 4096
#define NODES 3

/* The indexes of the dictionary's definitions. In a pid, the node is a number
 * from 1 to NODES, or 0 for the node that records the event. */
enum {
	D_SEND,
	D_RECEIVE,
	D_PRINT,
	D_SPAWN_REQUEST,
	D_SPAWN_REPLY,
	D_EXIT,
	D_NAME,
	D_OVER,
	D_NODES,
};

static const char *const atoms[] = { "send",	    "receive",
				     "print",	    "spawn_request",
				     "spawn_reply", "EXIT",
				     "shop\x1b[1m", "$inviso_seq_over" };
static const char *const names[NODES] = { "a@h", "b@h", "c@i" };

struct seen {
	struct inv_seq seq;
	uint64_t request;
	bool read;
};

struct world {
	struct inv_node nodes[NODES];
	struct inv_flow flow;
	struct inv_hops hops;
	struct inv_sink *sink;
	struct inv_dict dict;
	uint8_t defs[256];
	size_t n_defs;
	uint8_t terms[256];
	size_t n_terms;
	struct inv_cursor cursor;
	struct seen seen[EVENTS_MAX + 1]; /* by id */
	uint64_t requests;
	int64_t now;
};

/* --- events --------------------------------------------------------------- */

/* Adds a definition to the dictionary, whose definitions are in memory in
 * reverse order. */
static void define(struct world *w, unsigned kind, const void *p, size_t n)
{
	CHECK(w->n_defs + n + 2 <= sizeof(w->defs));
	memmove(w->defs + n + 2, w->defs, w->n_defs);
	w->defs[0] = (uint8_t)kind;
	w->defs[1] = (uint8_t)n;
	memcpy(w->defs + 2, p, n);
	w->n_defs += n + 2;
}

static void define_all(struct world *w)
{
	for (size_t i = 0; i < sizeof(atoms) / sizeof(*atoms); i++)
		define(w, INV_DEF_ATOM, atoms[i], strlen(atoms[i]));
	for (unsigned i = 0; i < NODES; i++) {
		uint8_t b[16] = { (uint8_t)(i + 1), 1 };

		memcpy(b + 2, names[i], 3);
		define(w, INV_DEF_NODE, b, 5);
	}
	CHECK(!inv_dict_parse(&w->dict, w->defs, w->n_defs, NULL));
}

static void put(struct world *w, unsigned code)
{
	CHECK(w->n_terms < sizeof(w->terms) - INV_VARINT_MAX);
	w->terms[w->n_terms++] = (uint8_t)code;
}

static void put_int(struct world *w, uint64_t n)
{
	uint8_t *at;

	put(w, INV_T_INT);
	at = w->terms + w->n_terms;
	w->n_terms += (size_t)(inv_varint_put(at, n << 1) - at);
}

static unsigned home_of(unsigned process)
{
	return process % NODES;
}

static void put_pid(struct world *w, unsigned process, unsigned node)
{
	unsigned home = home_of(process);

	put(w, INV_T_XPID);
	put(w, home == node ? 0 : home + 1);
	put(w, 10 + process);
	put(w, 0);
}

/* Returns the serial for a byte of input. Small serials are often equal. Large
 * serials are like those of spawned processes. */
static uint64_t serial(uint8_t b)
{
	return b < 0xc0 ? b : (UINT64_C(1) << (b & 0x3f)) - 1;
}

static void put_message(struct world *w, unsigned what, unsigned from)
{
	switch (what) {
	case 1:
	case 2:
		put(w, INV_T_TUPLE_SMALL + 5);
		put(w, INV_T_DICT_SMALL + D_SPAWN_REQUEST);
		put_int(w, 1);
		put_pid(w, from, home_of(from));
		put_pid(w, from, home_of(from));
		put(w, INV_T_TUPLE_SMALL + 3);
		put(w, INV_T_DICT_SMALL + D_NAME);
		put(w, INV_T_DICT_SMALL + D_PRINT);
		put_int(w, 0);
		return;
	case 3:
		put(w, INV_T_TUPLE_SMALL + 4);
		put(w, INV_T_DICT_SMALL + D_SPAWN_REPLY);
		put_int(w, 1);
		put(w, INV_T_DICT_SMALL + D_NAME);
		put_pid(w, from, home_of(from));
		return;
	case 4:
		put(w, INV_T_TUPLE_SMALL + 3);
		put(w, INV_T_DICT_SMALL + D_EXIT);
		put_pid(w, from, home_of(from));
		put(w, INV_T_DICT_SMALL + D_NAME);
		return;
	case 5: /* the end of the event is missing */
		put(w, INV_T_TUPLE_SMALL + 3);
		return;
	case 6:
		put(w, INV_T_DICT_SMALL + D_NAME);
		return;
	default:
		put_int(w, what);
	}
}

/* Writes the terms of {seq_trace,Label,{What,{Prev,Cur},From,To,Message}}. */
static void put_event(struct world *w, const uint8_t *op, unsigned process,
		      unsigned what)
{
	unsigned node = home_of(process), to = op[1] >> 4;

	put_int(w, 7 + (op[0] >> 2 & 1));
	put(w, INV_T_TUPLE_SMALL + 5);
	put(w, INV_T_DICT_SMALL + D_SEND + what);
	put(w, INV_T_TUPLE_SMALL + 2);
	put_int(w, serial(op[2]));
	put_int(w, serial(op[3]));
	put_pid(w, op[1] & 15, node);
	if (to == 15 && what != 1)
		put(w, INV_T_DICT_SMALL + D_NAME);
	else
		put_pid(w, to, node);
	put_message(w, op[0] >> 4 & 7, op[1] & 15);
}

/* Writes a call whose match spec's value says that the request of its process
 * has ended. */
static void put_over(struct world *w, unsigned process)
{
	put_pid(w, process, home_of(process));
	put(w, INV_T_TUPLE_SMALL + 3);
	put(w, INV_T_DICT_SMALL + D_NAME);
	put(w, INV_T_DICT_SMALL + D_NAME);
	put_int(w, 0);
	put(w, INV_T_DICT_SMALL + D_OVER);
}

/* --- checks --------------------------------------------------------------- */

static void check_cause(struct world *w, const struct inv_item *it)
{
	const struct inv_cause *c = it->facts->cause;
	struct seen *s = &w->seen[c->id], *from = &w->seen[c->cause];

	CHECK(c->id > 0 && c->id <= EVENTS_MAX && c->cause < c->id);
	s->request = c->request;
	s->read = inv_seq_read(&s->seq, &w->cursor, it);
	CHECK(s->read);
	if (!c->cause) {
		CHECK(c->request == w->requests + 1);
		w->requests++;
		return;
	}
	CHECK(from->read && from->request == c->request);
	if (s->seq.kind != INV_SEQ_RECEIVE || !c->certain)
		return;
	CHECK(!c->orphan && from->seq.kind == INV_SEQ_SEND &&
	      from->seq.label == s->seq.label &&
	      from->seq.from == s->seq.from && from->seq.prev == s->seq.prev &&
	      from->seq.cur == s->seq.cur);
}

static void check_hops(const struct inv_hops *h)
{
	uint32_t below = 0, roots = 0;

	for (uint32_t i = 0; i < h->n; i++) {
		const struct inv_hop *p = &h->v[i];

		CHECK(p->from == INV_HOP_NONE || p->from < h->n_processes);
		CHECK(p->to == INV_HOP_NONE || p->to < h->n_processes);
		CHECK(p->aim == INV_HOP_NONE || p->aim < h->n_processes);
		if (p->parent == INV_HOP_NONE) {
			CHECK(p->root == i);
			roots++;
		} else {
			CHECK(p->parent < i &&
			      h->v[p->parent].root == p->root &&
			      h->v[p->parent].request == p->request);
		}
		for (uint32_t c = p->first; c != INV_HOP_NONE;
		     c = h->v[c].next) {
			CHECK(c < h->n && h->v[c].parent == i);
			CHECK(++below <= h->n);
		}
	}
	CHECK(below + roots == h->n);
}

/* --- runs ----------------------------------------------------------------- */

static void add(struct world *w, const uint8_t *op)
{
	unsigned what = op[0] & 3;
	unsigned process = what == 1 ? op[1] >> 4 : op[1] & 15;
	const struct inv_node *node = &w->nodes[home_of(process)];
	struct inv_item item = { .kind = INV_ITEM_EVENT,
				 .node = node,
				 .erl_ns = w->now,
				 .ts_ns = w->now,
				 .feed = node->number };
	struct inv_item *it;

	w->now += 100;
	w->n_terms = 0;
	if (what == 3 && op[2] & 1) {
		item.kind = INV_ITEM_LOSS;
		item.lost.n = 1;
	} else if (what == 3) {
		item.ev.tag = INV_TAG_CALL;
		item.ev.ms_result = true;
		put_over(w, process);
	} else {
		item.ev.tag = INV_TAG_SEQ_TRACE;
		put_event(w, op, process, what);
	}
	item.ev.dict = &w->dict;
	item.ev.terms = w->terms;
	item.ev.len = w->n_terms;
	it = inv_flow_item(&w->flow, &item);
	CHECK(it);
	if (it->facts && it->facts->cause) {
		check_cause(w, it);
		w->flow.facts.context = op[0] >> 3 & 1;
		inv_flow_show(&w->flow, it);
		CHECK(!inv_hops_add(&w->hops, it, &w->sink->print));
	}
	CHECK(!inv_sink_item(w->sink, it));
}

static void run(const uint8_t *data, size_t size, struct inv_buf *out)
{
	static const struct inv_sink_ops *const views[] = {
		&inv_sink_tree,	   &inv_sink_requests, &inv_sink_compare,
		&inv_sink_mermaid, &inv_sink_shiviz,   &inv_sink_sequence,
		&inv_sink_json,	   &inv_sink_text,
	};
	static const size_t bounds[4] = { 0, 1 << 14, 1 << 16, 1 << 12 };
	const size_t bound = bounds[data[0] >> 6];
	const struct inv_flow_opts flow_opts = { .request_memory = bound };
	const struct inv_sink_opts opts = { .utc = 1,
					    .json = data[0] >> 4 & 1,
					    .width = data[0] & 32 ? 40 : 0,
					    .request_memory = bound,
					    .requests = { 1, 2 } };
	struct world *w = calloc(1, sizeof(*w));

	CHECK(w);
	for (uint32_t i = 0; i < NODES; i++)
		w->nodes[i] =
			(struct inv_node){ .name = (char *)(uintptr_t)names[i],
					   .number = i,
					   .otp_release = 27 };
	define_all(w);
	CHECK(!inv_flow_init(&w->flow, &flow_opts));
	CHECK(!inv_hops_init(&w->hops, bound));
	CHECK(!inv_sink_new(&w->sink, views[data[0] & 7], &opts, out));
	for (size_t i = 0; i < EVENTS_MAX && size > 1 + i * OP_SIZE + 3; i++)
		add(w, data + 1 + i * OP_SIZE);
	CHECK(!inv_hops_finish(&w->hops));
	check_hops(&w->hops);
	CHECK(!inv_sink_end(w->sink));
	inv_sink_free(w->sink);
	inv_hops_release(&w->hops);
	inv_flow_release(&w->flow);
	inv_dict_release(&w->dict);
	free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inv_buf out[2] = { 0 };

	if (size < 1 + OP_SIZE)
		return 0;
	run(data, size, &out[0]);
	run(data, size, &out[1]);
	CHECK(out[0].len == out[1].len &&
	      (!out[0].len || !memcmp(out[0].data, out[1].data, out[0].len)));
	check_text(&out[0], false);
	inv_buf_release(&out[0]);
	inv_buf_release(&out[1]);
	return 0;
}
