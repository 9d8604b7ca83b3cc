/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of messages: a row for each message that was sent or received.
 *
 * If a message belongs to a sequential trace, the cause of its receive event
 * is its send event. For other messages the VM does not say which send event
 * belongs to a receive event. Such a receive event is combined with the oldest
 * send event that has the same receiver and the same text, and is not combined
 * yet.
 */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "table/rows_int.h"

/* A message that was sent, and not received yet. */
struct message {
	struct inv_row held;
	uint64_t id;
	int64_t ts_ns;
	uint32_t from;
	uint32_t to;
	uint64_t request;
	bool no_process;
	size_t len;
	uint8_t text[];
};

static const struct inv_row_process *process_of(const struct inv_rows *r,
						uint32_t number)
{
	return number ? &r->cast.v[number - 1] : NULL;
}

/* The keys of messages of sequential traces are odd, all other keys are
 * even. */
static uint64_t key_of_seq(uint64_t id)
{
	return id << 1 | 1;
}

static uint64_t key_of(const struct inv_rows *r, uint64_t to,
		       const struct inv_span *text)
{
	uint64_t h =
		XXH3_64bits_withSeed(r->text.data + text->off, text->len, to);

	return h & ~UINT64_C(1);
}

static void put(struct inv_rows *r, const struct message *m, struct inv_cell *c)
{
	inv__cell_int(&c[INV_MESSAGES_ID], (int64_t)m->id);
	inv__cell_int(&c[INV_MESSAGES_SENT_TS], m->ts_ns);
	inv__cell_number(&c[INV_MESSAGES_FROM], INV_CELL_PROCESS, m->from);
	if (c[INV_MESSAGES_TO].kind == INV_CELL_NULL)
		inv__cell_number(&c[INV_MESSAGES_TO], INV_CELL_PROCESS, m->to);
	inv__cell_text(&c[INV_MESSAGES_MESSAGE], m->text, m->len);
	if (m->no_process)
		inv__cell_int(&c[INV_MESSAGES_NO_PROCESS], 1);
	if (m->request)
		inv__cell_int(&c[INV_MESSAGES_REQUEST], (int64_t)m->request);
	inv__rows_put(r, INV_TABLE_MESSAGES, c);
}

static void put_sent(struct inv_rows *r, const struct message *m)
{
	struct inv_cell c[INV_MESSAGES_COUNT] = { 0 };

	put(r, m, c);
}

static void drop(struct inv_rows *r, struct inv_row *held)
{
	inv_row_set_remove(&r->messages, held);
	free(held);
}

static void sent(struct inv_rows *r, const struct inv_seen *s,
		 const struct inv_span *text, uint64_t key)
{
	size_t size = sizeof(struct message) + text->len;
	struct message *m = malloc(size);
	const struct inv_cause *cause = s->it->facts->cause;

	if (!m) {
		r->rc = INV_ENOMEM;
		return;
	}
	*m = (struct message){
		.held = { .key = key, .size = size },
		.id = s->id,
		.ts_ns = s->it->ts_ns,
		.from = s->process,
		.to = s->peer,
		.request = cause ? cause->request : 0,
		.no_process = s->it->ev.tag == INV_TAG_SEND_NO_PROC,
		.len = text->len,
	};
	if (text->len)
		memcpy(m->text, r->text.data + text->off, text->len);
	if (m->no_process || !key) {
		put_sent(r, m);
		free(m);
		return;
	}
	if (inv_row_set_add(&r->messages, &m->held)) {
		r->rc = INV_ENOMEM;
		free(m);
		return;
	}
	while (r->messages.size > r->memory) {
		put_sent(r, (struct message *)r->messages.oldest);
		drop(r, r->messages.oldest);
		r->forgotten++;
	}
}

static void received(struct inv_rows *r, const struct inv_seen *s,
		     const struct inv_span *text, struct inv_row *held,
		     const char *matched)
{
	struct inv_cell c[INV_MESSAGES_COUNT] = { 0 };
	const struct message *m = (const struct message *)held;
	const struct inv_cause *cause = s->it->facts->cause;

	inv__cell_int(&c[INV_MESSAGES_RECEIVED_ID], (int64_t)s->id);
	inv__cell_int(&c[INV_MESSAGES_RECEIVED_TS], s->it->ts_ns);
	inv__cell_number(&c[INV_MESSAGES_TO], INV_CELL_PROCESS, s->process);
	if (m) {
		inv__cell_int(
			&c[INV_MESSAGES_WAIT_NS],
			(int64_t)((uint64_t)s->it->ts_ns - (uint64_t)m->ts_ns));
		inv__rows_word(r, &c[INV_MESSAGES_MATCHED], matched);
		put(r, m, c);
		drop(r, held);
		return;
	}
	/* The send event was not recorded, so the time of sending is not
	 * known. */
	inv__cell_int(&c[INV_MESSAGES_ID], (int64_t)s->id);
	inv__cell_number(&c[INV_MESSAGES_FROM], INV_CELL_PROCESS, s->peer);
	inv__cell_span(&c[INV_MESSAGES_MESSAGE], r, text);
	if (cause)
		inv__cell_int(&c[INV_MESSAGES_REQUEST],
			      (int64_t)cause->request);
	inv__rows_put(r, INV_TABLE_MESSAGES, c);
}

/* Returns true if the message has this text. Different texts can have the same
 * hash. */
static bool is_text(const struct inv_rows *r, const struct inv_row *held,
		    const struct inv_span *text)
{
	const struct message *m = (const struct message *)held;

	return m && m->len == text->len &&
	       !memcmp(m->text, r->text.data + text->off, m->len);
}

/* Finds the message that the process has received, among the messages to its
 * pid and to its name. */
static struct inv_row *find(const struct inv_rows *r, const struct inv_seen *s)
{
	const struct inv_row_process *process = process_of(r, s->process);
	struct inv_row *held = NULL;
	struct inv_row_process name;

	if (!process || s->it->ev.light || !s->payload.there)
		return NULL;
	held = inv_row_set_find(&r->messages,
				key_of(r, inv_row_process_hash(process),
				       &s->payload));
	if (!held && process->name) {
		name = (struct inv_row_process){ .kind = INV_TOK_ATOM,
						 .number = process->name,
						 .node = process->node };
		held = inv_row_set_find(&r->messages,
					key_of(r, inv_row_process_hash(&name),
					       &s->payload));
	}
	return is_text(r, held, &s->payload) ? held : NULL;
}

/* Returns true if the message and the receive event have the same sender. If
 * not, the cause of the receive event is not the send event of its message, but
 * an earlier event. */
static bool is_from(const struct inv_rows *r, const struct inv_row *held,
		    const struct inv_seen *s)
{
	const struct message *m = (const struct message *)held;
	const struct inv_row_process *from = m ? process_of(r, m->from) : NULL;
	const struct inv_row_process *peer = process_of(r, s->peer);

	return from && peer &&
	       inv_row_process_hash(from) == inv_row_process_hash(peer);
}

static void seq_message(struct inv_rows *r, const struct inv_seen *s)
{
	const struct inv_cause *cause = s->it->facts->cause;
	struct inv_row *held = NULL;

	if (s->seq_kind == INV_SEQ_SEND) {
		sent(r, s, &s->message, cause ? key_of_seq(cause->id) : 0);
	} else if (s->seq_kind == INV_SEQ_RECEIVE) {
		if (cause && cause->cause)
			held = inv_row_set_find(&r->messages,
						key_of_seq(cause->cause));
		received(r, s, &s->message, is_from(r, held, s) ? held : NULL,
			 "serial");
	}
}

void inv__rows_message(struct inv_rows *r, const struct inv_seen *s)
{
	const struct inv_row_process *to;

	switch (s->it->ev.tag) {
	case INV_TAG_SEND:
	case INV_TAG_SEND_NO_PROC:
		to = process_of(r, s->peer);
		sent(r, s, &s->payload,
		     to && !s->it->ev.light ?
			     key_of(r, inv_row_process_hash(to), &s->payload) :
			     0);
		return;
	case INV_TAG_RECEIVE:
		received(r, s, &s->payload, find(r, s), "content");
		return;
	case INV_TAG_SEQ_TRACE:
		seq_message(r, s);
		return;
	default:
		return;
	}
}

void inv__rows_messages_end(struct inv_rows *r)
{
	while (r->messages.oldest) {
		put_sent(r, (struct message *)r->messages.oldest);
		drop(r, r->messages.oldest);
	}
}
