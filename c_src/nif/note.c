/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/note.h"

#include "abi/event.h"
#include "base/err.h"
#include "nif/atoms.h"
#include "nif/encode.h"
#include "nif/put.h"
#include "nif/redact.h"
#include "nif/thread.h"
#include "nif/tracer.h"

struct note {
	uint32_t kind;
	ERL_NIF_TERM terms; /* the terms of the note, a list */
	bool has_label;	    /* the last term is the label of a process */
	uint64_t now;
};

static bool put_note(struct inv_encoder *e, const struct note *n,
		     uint64_t last_ns)
{
	ERL_NIF_TERM rest = n->terms;
	ERL_NIF_TERM term;
	uint8_t *start = e->p;

	if (!inv_put_room(e, 3 + 2 * INV_VARINT_MAX))
		return false;
	e->p++;
	*e->p++ = INV_HEAD_NOTE;
	e->p = inv_varint_put(e->p, n->now - last_ns);
	e->p = inv_varint_put(e->p, n->kind);
	/* In notes, redaction rules apply only to the label of a process. */
	while (enif_get_list_cell(e->env, rest, &term, &rest))
		if (!(n->has_label && enif_is_empty_list(e->env, rest) ?
			      inv_encode_term(e, term) :
			      inv_encode_plain(e, term)))
			return false;
	if (e->cut)
		start[1] |= INV_HEAD_CUT;
	return inv_put_length(e, start);
}

/* Writes the note into the open packet. Returns false if it does not fit. */
static bool write_note(struct inv_tracer *t, struct inv_lane *lane,
		       ErlNifEnv *env, const struct note *n)
{
	struct inv_producer *p = &lane->producer;
	struct inv_encoder e = {
		.env = env,
		.dict = &lane->dict,
		.p = p->data + p->ev,
		.top = p->data + p->data_len - p->def,
		.limit = p->data + p->ev,
		.redaction = t->redaction,
		/* A note must fit into a packet: it cannot use a large slot. */
		.max_bytes = t->max_bytes < p->packet_bytes / 8 ?
				     t->max_bytes :
				     p->packet_bytes / 8,
		.max_depth = t->max_depth,
	};

	if (p->ev == 0)
		inv_packet_dict_clear(&lane->dict);
	if (!put_note(&e, n, p->last_ns))
		return false;
	inv_producer_commit_note(p, (uint32_t)(e.p - p->data),
				 (uint32_t)(p->data + p->data_len - e.top),
				 n->now);
	return true;
}

/* Writes the note into the open packet, or into a new one. Returns false if the
 * ring is full, or the note is larger than a packet. */
static bool write_somewhere(struct inv_tracer *t, struct inv_lane *lane,
			    ErlNifEnv *env, const struct note *n)
{
	struct inv_producer *p = &lane->producer;

	for (;;) {
		if (inv_producer_open(p, n->now) == INV_EFULL)
			return false;
		if (write_note(t, lane, env, n))
			return true;
		inv_producer_close(p);
		if (p->ev == 0)
			return false;
	}
}

/* Returns true if the terms of the note are a pid, INV_NAME_LABEL and a process
 * label. */
static bool has_label(ErlNifEnv *env, ERL_NIF_TERM terms)
{
	ERL_NIF_TERM pid;
	ERL_NIF_TERM kind;
	unsigned number;

	return enif_get_list_cell(env, terms, &pid, &terms) &&
	       enif_get_list_cell(env, terms, &kind, &terms) &&
	       enif_get_uint(env, kind, &number) && number == INV_NAME_LABEL;
}

static bool get_note(ErlNifEnv *env, ERL_NIF_TERM term, struct note *n)
{
	const ERL_NIF_TERM *element;
	int arity;

	if (!enif_get_tuple(env, term, &arity, &element) || arity != 2 ||
	    !enif_get_uint(env, element[0], &n->kind) ||
	    !enif_is_list(env, element[1]))
		return false;
	n->terms = element[1];
	n->has_label = n->kind == INV_NOTE_NAME && has_label(env, n->terms);
	return true;
}

/* Returns true if the note must be left out: it has the label of a process, and
 * the rules redact all data. If the note were recorded, a mark would replace
 * the label, and a mark is no name. */
static bool is_hidden(const struct inv_tracer *t, const struct note *n)
{
	return n->has_label && t->redaction && t->redaction->rules.all;
}

static unsigned write_notes(struct inv_tracer *t, struct inv_thread *thread,
			    ErlNifEnv *env, ERL_NIF_TERM list)
{
	struct inv_lane *lane = &t->lanes[thread->index];
	struct note note = { .now = inv_thread_now(thread) };
	ERL_NIF_TERM head;
	unsigned n = 0;

	/* Notes get packets of their own: a reader may skip packets of events,
	 * but must read all notes. */
	inv_producer_close(&lane->producer);
	while (n < INV_NOTES && enif_get_list_cell(env, list, &head, &list) &&
	       get_note(env, head, &note) &&
	       (is_hidden(t, &note) || write_somewhere(t, lane, env, &note)))
		n++;
	inv_producer_close(&lane->producer);
	return n;
}

ERL_NIF_TERM inv_note_write(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	struct inv_thread *thread = inv_thread_self();
	struct inv_tracer *t;
	ErlNifUInt64 handle;
	unsigned n = 0;

	(void)argc;
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0)
		return enif_make_badarg(env);
	t = inv_tracer_borrow(handle);
	if (!t)
		return inv_am_closed;
	if (thread && !t->delivery)
		n = write_notes(t, thread, env, argv[1]);
	inv_tracer_release();
	return enif_make_uint(env, n);
}

ERL_NIF_TERM inv_note_fresh(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM list = enif_make_list(env, 0);
	struct inv_tracer *t;
	ErlNifUInt64 handle;
	ErlNifPid pid;
	unsigned n = 0;
	uint32_t i;

	(void)argc;
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0)
		return enif_make_badarg(env);
	t = inv_tracer_borrow(handle);
	if (!t)
		return inv_am_closed;
	for (i = 0; !t->delivery && i < t->n_lanes; i++)
		while (n < INV_NOTES &&
		       inv_fresh_take(&t->lanes[i].fresh, &pid)) {
			list = enif_make_list_cell(
				env, enif_make_pid(env, &pid), list);
			n++;
		}
	inv_tracer_release();
	return list;
}
