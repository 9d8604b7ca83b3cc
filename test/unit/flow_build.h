/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TEST_FLOW_BUILD_H
#define INV_TEST_FLOW_BUILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "abi/term.h"
#include "base/varint.h"
#include "flow/flow.h"

/*
 * Makes the events that a test gives to a flow, as items of one node. The
 * traced functions are m:f0 to m:f9. Each has one argument: an integer that
 * identifies the call. Each event is in a packet of its own, which the next
 * event overwrites.
 */
struct feed {
	struct inv_flow flow;
	struct inv_node node;
	struct inv_item item;
	struct inv_dict dict;
	uint8_t defs[128];
	size_t n_defs;
	uint8_t terms[64];
	size_t n_terms;
	int64_t now;
	uint32_t feed; /* from which feed of a merge the next item
			  comes */
};

static inline void feed_open(struct feed *f, const struct inv_flow_opts *opts)
{
	memset(f, 0, sizeof(*f));
	f->node.name = (char *)(uintptr_t) "a@h";
	f->node.otp_release = 27;
	assert_int_equal(inv_flow_init(&f->flow, opts), 0);
}

static inline void feed_close(struct feed *f)
{
	inv_flow_release(&f->flow);
	inv_dict_release(&f->dict);
}

/* Adds a definition to the dictionary. The new definition is before the older
 * definitions, because a packet has its newest definition first. */
static inline void feed_define(struct feed *f, unsigned kind, const void *p,
			       size_t n)
{
	memmove(f->defs + n + 2, f->defs, f->n_defs);
	f->defs[0] = (uint8_t)kind;
	f->defs[1] = (uint8_t)n;
	memcpy(f->defs + 2, p, n);
	f->n_defs += n + 2;
	assert_true(f->n_defs < sizeof(f->defs) - 32);
}

static inline void feed_put(struct feed *f, unsigned code)
{
	f->terms[f->n_terms++] = (uint8_t)code;
}

/* Begins an event. The dictionary first has `shift' other entries. The next
 * four entries are the process, the atom m, the function's name, and the
 * function with arity 1. */
static inline void feed_begin(struct feed *f, unsigned tag, uint32_t pid,
			      unsigned function, unsigned shift)
{
	uint8_t name[2] = { 'f', (uint8_t)('0' + function) };
	uint8_t id[2 * INV_VARINT_MAX], *end;

	memset(f->defs, 0xff, sizeof(f->defs));
	memset(f->terms, 0xff, sizeof(f->terms));
	f->n_defs = f->n_terms = 0;
	for (unsigned i = 0; i < shift; i++)
		feed_define(f, INV_DEF_ATOM, "xyz", 1 + i % 3);
	end = inv_varint_put(inv_varint_put(id, pid), 0);
	feed_define(f, INV_DEF_PID, id, (size_t)(end - id));
	feed_define(f, INV_DEF_ATOM, "m", 1);
	feed_define(f, INV_DEF_ATOM, name, 2);
	feed_define(f, INV_DEF_FUNCTION,
		    (uint8_t[]){ (uint8_t)(shift + 1), (uint8_t)(shift + 2),
				 1 },
		    3);
	memset(&f->item, 0, sizeof(f->item));
	f->item.kind = INV_ITEM_EVENT;
	f->item.node = &f->node;
	f->item.mono_ns = f->now;
	/* Erlang's clock runs faster than the clock of the events, as if the VM
	 * were correcting it. */
	f->item.erl_ns = (int64_t)((uint64_t)f->now + (uint64_t)f->now / 7);
	f->item.ts_ns = (int64_t)(1000000 + (uint64_t)f->now);
	f->item.feed = f->feed;
	f->item.ev.tag = (uint8_t)tag;
	feed_put(f, INV_T_DICT_SMALL + shift);
}

/* Appends {m,F,[Id]} if id >= 0, otherwise {m,F,1}. Alternates between two
 * encodings: a tuple, as in a log of version 1, and a reference to the
 * function's entry in the dictionary. */
static inline void feed_mfa(struct feed *f, unsigned shift, int64_t id)
{
	static unsigned turn;

	if (turn++ % 2) {
		feed_put(f, (id < 0 ? INV_T_DICT_SMALL : INV_T_APPLY_SMALL) +
				    shift + 3);
		if (id < 0)
			return;
		feed_put(f, INV_T_INT);
		f->n_terms = (size_t)(inv_varint_put(f->terms + f->n_terms,
						     (uint64_t)id << 1) -
				      f->terms);
		return;
	}
	feed_put(f, INV_T_TUPLE_SMALL + 3);
	feed_put(f, INV_T_DICT_SMALL + shift + 1);
	feed_put(f, INV_T_DICT_SMALL + shift + 2);
	if (id < 0) {
		feed_put(f, 1);
		return;
	}
	feed_put(f, INV_T_LIST);
	feed_put(f, INV_T_INT);
	f->n_terms = (size_t)(inv_varint_put(f->terms + f->n_terms,
					     (uint64_t)id << 1) -
			      f->terms);
	feed_put(f, INV_T_END);
}

static inline const struct inv_facts *feed_end(struct feed *f)
{
	const struct inv_item *it;

	assert_int_equal(inv_dict_parse(&f->dict, f->defs, f->n_defs, NULL), 0);
	f->item.ev.dict = &f->dict;
	f->item.ev.terms = f->terms;
	f->item.ev.len = f->n_terms;
	it = inv_flow_item(&f->flow, &f->item);
	assert_non_null(it);
	assert_non_null(it->facts);
	return it->facts;
}

static inline const struct inv_facts *feed_call(struct feed *f, uint32_t pid,
						unsigned function, int64_t id)
{
	unsigned shift = (unsigned)(id % 5);

	feed_begin(f, INV_TAG_CALL, pid, function, shift);
	feed_mfa(f, shift, id);
	return feed_end(f);
}

/* Adds the end of a call. `tag' is that of return_from or exception_from. */
static inline const struct inv_facts *feed_ended(struct feed *f, unsigned tag,
						 uint32_t pid,
						 unsigned function)
{
	feed_begin(f, tag, pid, function, 1);
	feed_mfa(f, 1, -1);
	f->item.ev.extra = true;
	feed_put(f, 7);
	return feed_end(f);
}

static inline const struct inv_facts *feed_return(struct feed *f, uint32_t pid,
						  unsigned function)
{
	return feed_ended(f, INV_TAG_RETURN_FROM, pid, function);
}

static inline const struct inv_facts *feed_exit(struct feed *f, uint32_t pid)
{
	feed_begin(f, INV_TAG_EXIT, pid, 0, 0);
	feed_put(f, INV_T_DICT_SMALL + 1);
	return feed_end(f);
}

/* Adds the event by which the process registers the name f0. */
static inline const struct inv_facts *feed_register(struct feed *f,
						    uint32_t pid)
{
	feed_begin(f, INV_TAG_REGISTER, pid, 0, 0);
	feed_put(f, INV_T_DICT_SMALL + 2);
	return feed_end(f);
}

/* Turns the event that was begun into a note. */
static inline void feed_end_note(struct feed *f, enum inv_note kind)
{
	assert_int_equal(inv_dict_parse(&f->dict, f->defs, f->n_defs, NULL), 0);
	f->item.kind = INV_ITEM_NOTE;
	f->item.ev.note = kind;
	f->item.ev.dict = &f->dict;
	f->item.ev.terms = f->terms;
	f->item.ev.len = f->n_terms;
	assert_non_null(inv_flow_item(&f->flow, &f->item));
}

/* Adds a note. It says whether the log has marks at calls whose ends will be
 * reported. `known' is "true" or "false". */
static inline void feed_marks(struct feed *f, const char *known)
{
	feed_begin(f, 0, 0, 0, 0);
	f->n_terms = 0;
	feed_define(f, INV_DEF_ATOM, known, strlen(known));
	feed_put(f, INV_T_DICT_SMALL + 4);
	feed_end_note(f, INV_NOTE_ENDS);
}

/* Adds a call. If `ends' is true, the call has the mark that its end will be
 * reported. */
static inline void feed_marked(struct feed *f, uint32_t pid, unsigned function,
			       int64_t id, bool ends)
{
	unsigned shift = (unsigned)(id % 5);

	feed_begin(f, INV_TAG_CALL, pid, function, shift);
	feed_mfa(f, shift, id);
	f->item.ev.ends = ends;
	feed_end(f);
}

static inline void feed_loss(struct feed *f)
{
	memset(&f->item, 0, sizeof(f->item));
	f->item.kind = INV_ITEM_LOSS;
	f->item.node = &f->node;
	f->item.lost.n = 1;
	f->item.feed = f->feed;
	assert_non_null(inv_flow_item(&f->flow, &f->item));
}

/* Returns the integer argument of a call whose event the flow has stored. */
static inline int64_t feed_id(const struct inv_call *call)
{
	static struct inv_cursor c;
	struct inv_token tok;
	int64_t id = -1;

	assert_non_null(call->event);
	assert_int_equal(call->event->tag, INV_TAG_CALL);
	inv_mfa_third(call->mfa, &c, call->event);
	assert_int_equal(inv_cursor_next(&c, &tok), 0);
	assert_int_equal(inv_cursor_next(&c, &tok), 0);
	assert_true(inv_token_i64(&tok, &id));
	return id;
}

#endif
