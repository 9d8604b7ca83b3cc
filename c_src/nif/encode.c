/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over a term.  Containers that are open lie on a stack of our own;
 * everything else is written where it is met.  Most elements of most terms are
 * atoms, pids and small integers: those first, with as few calls into the VM
 * as the public interface allows.
 */
#include "nif/encode.h"

#include <string.h>

#include "base/varint.h"
#include "nif/ident.h"
#include "nif/put.h"
#include "nif/scalar.h"

/* How many of the elements that a cut leaves out are still counted. */
#define COUNT_MAX 4096u

/* Containers that are open. */
enum frame_kind { FRAME_TUPLE, FRAME_LIST, FRAME_TAIL, FRAME_MAP };

struct frame {
	enum frame_kind kind;
	uint32_t left; /* elements of a tuple, pairs of a map */
	bool in_value; /* of a map: its key is written */
	union {
		const ERL_NIF_TERM *elements;
		ERL_NIF_TERM tail;
		struct {
			ERL_NIF_TERM value;
			ErlNifMapIterator iter;
		} map;
	} u;
};

struct walk {
	struct inv_encoder *e;
	unsigned depth;
	struct frame frames[INV_DEPTH_MAX];
};

/* What became of an element. */
enum put { NO_ROOM, WRITTEN, OPENED };

static enum put result(bool ok)
{
	return ok ? WRITTEN : NO_ROOM;
}

bool inv_encode_tuple(struct inv_encoder *e, uint32_t arity)
{
	if (arity < 16)
		return inv_put_byte(e, (uint8_t)(INV_T_TUPLE_SMALL + arity));
	return inv_put_code(e, INV_T_TUPLE, arity);
}

static inline bool put_int(struct inv_encoder *e, int64_t v)
{
	if (v >= 0 && v < 64)
		return inv_put_byte(e, (uint8_t)v);
	return inv_put_code(e, INV_T_INT, inv_zigzag(v));
}

bool inv_encode_uint(struct inv_encoder *e, uint32_t value)
{
	return put_int(e, value);
}

bool inv_encode_hole(struct inv_encoder *e)
{
	bool was = e->cut; /* left out on purpose, not for its size */
	bool ok = inv_scalar_missing(e, INV_T_HOLE, INV_CUT_OTHER, 0);

	e->cut = was;
	return ok;
}

/*
 * A word that the packet has defined is an atom, pid or port of this node: no
 * other term has such a word, so there is no need to ask what it is.
 */
static inline bool is_known(const struct inv_encoder *e, ERL_NIF_TERM term,
			    uint32_t *number)
{
	return inv_dict_find(e->dict, term, number) &&
	       (size_t)(e->top - e->p) > 1 + INV_VARINT_MAX;
}

static inline void put_known(struct inv_encoder *e, uint32_t number)
{
	uint8_t *was = e->p;

	if (number < 64) {
		*e->p++ = (uint8_t)(INV_T_DICT_SMALL + number);
	} else {
		*e->p++ = INV_T_DICT;
		e->p = inv_varint_put(e->p, number);
	}
	e->left -= e->p - was;
}

static struct frame *push(struct walk *w, enum frame_kind kind)
{
	struct frame *f = &w->frames[w->depth++];

	f->kind = kind;
	f->left = 0;
	f->in_value = false;
	return f;
}

/* The cells of a list from here on, counted so far as is cheap. */
static enum inv_cut count_cells(ErlNifEnv *env, ERL_NIF_TERM list, uint32_t *n)
{
	ERL_NIF_TERM head;
	ERL_NIF_TERM tail = list;

	for (*n = 0; *n < COUNT_MAX; (*n)++)
		if (!enif_get_list_cell(env, tail, &head, &tail))
			return enif_is_empty_list(env, tail) ?
				       INV_CUT_LIST :
				       INV_CUT_LIST_MIN;
	return INV_CUT_LIST_MIN;
}

static bool put_hole_list(struct inv_encoder *e, ERL_NIF_TERM list)
{
	uint32_t n;
	enum inv_cut kind = count_cells(e->env, list, &n);

	return inv_scalar_missing(e, INV_T_HOLE, kind, n);
}

/* n bytes lie a little above p; tail is what did not fit the budget, or 0. */
static bool finish_string(struct inv_encoder *e, const uint8_t *bytes,
			  uint32_t n, ERL_NIF_TERM rest)
{
	enum inv_cut kind;
	uint32_t more;

	if (!rest && n <= 16)
		return inv_put_byte(e, (uint8_t)(INV_T_STRING_SMALL + n - 1)) &&
		       inv_put_moved(e, bytes, n);
	if (!rest)
		return inv_put_code(e, INV_T_STRING, n) &&
		       inv_put_moved(e, bytes, n);
	kind = count_cells(e->env, rest, &more);
	e->cut = true;
	return inv_put_code(e, INV_T_STRING_CUT, n) &&
	       inv_put_moved(e, bytes, n) && inv_put_byte(e, (uint8_t)kind) &&
	       inv_put_varint(e, more);
}

/*
 * A list of bytes is written as such: a byte an element.  Tried first, as far
 * as the elements are bytes; *is_string false, and nothing done, when one is
 * not.
 */
static bool try_string(struct inv_encoder *e, ERL_NIF_TERM list,
		       bool *is_string)
{
	size_t room = (size_t)(e->top - e->p);
	size_t budget = e->left > 0 ? (size_t)e->left : 0;
	uint8_t *start = e->p + 1 + INV_VARINT_MAX;
	ERL_NIF_TERM cell = list;
	ERL_NIF_TERM head;
	ERL_NIF_TERM tail;
	uint32_t n = 0;
	unsigned byte;

	*is_string = false;
	while (enif_get_list_cell(e->env, cell, &head, &tail)) {
		if (!enif_get_uint(e->env, head, &byte) || byte > 255)
			return true;
		if (n >= budget)
			break;
		if (room < 3 * INV_VARINT_MAX || n >= room - 3 * INV_VARINT_MAX)
			return false;
		start[n++] = (uint8_t)byte;
		cell = tail;
	}
	if (n >= budget) {
		*is_string = true;
		return finish_string(e, start, n, cell);
	}
	if (!enif_is_empty_list(e->env, cell))
		return true;
	*is_string = true;
	return finish_string(e, start, n, 0);
}

static enum put open_list(struct walk *w, ERL_NIF_TERM term, bool deep)
{
	struct inv_encoder *e = w->e;
	bool is_string = false;
	ERL_NIF_TERM head;
	ERL_NIF_TERM tail;
	uint32_t number;

	if (!enif_get_list_cell(e->env, term, &head, &tail))
		return result(inv_put_byte(e, INV_T_NIL));
	if (!is_known(e, head, &number) && !try_string(e, term, &is_string))
		return NO_ROOM;
	if (is_string)
		return WRITTEN;
	if (deep)
		return result(put_hole_list(e, term));
	push(w, FRAME_LIST)->u.tail = term;
	return inv_put_byte(e, INV_T_LIST) ? OPENED : NO_ROOM;
}

static enum put open_tuple(struct walk *w, ERL_NIF_TERM term, bool deep)
{
	const ERL_NIF_TERM *elements;
	struct frame *f;
	int arity;

	if (!enif_get_tuple(w->e->env, term, &arity, &elements))
		return result(inv_encode_hole(w->e));
	if (arity == 0)
		return result(inv_encode_tuple(w->e, 0));
	if (deep)
		return result(inv_scalar_missing(w->e, INV_T_HOLE,
						 INV_CUT_TUPLE,
						 (uint32_t)arity));
	f = push(w, FRAME_TUPLE);
	f->left = (uint32_t)arity;
	f->u.elements = elements;
	return inv_encode_tuple(w->e, (uint32_t)arity) ? OPENED : NO_ROOM;
}

static enum put open_map(struct walk *w, ERL_NIF_TERM term, bool deep)
{
	ErlNifEnv *env = w->e->env;
	struct frame *f;
	size_t size = 0;

	enif_get_map_size(env, term, &size);
	if (deep && size > 0)
		return result(inv_scalar_missing(w->e, INV_T_HOLE, INV_CUT_MAP,
						 size));
	if (!inv_put_code(w->e, INV_T_MAP, size))
		return NO_ROOM;
	if (size == 0)
		return WRITTEN;
	f = push(w, FRAME_MAP);
	f->left = (uint32_t)size;
	if (enif_map_iterator_create(env, term, &f->u.map.iter,
				     ERL_NIF_MAP_ITERATOR_FIRST))
		return OPENED;
	w->depth--;
	return result(inv_scalar_missing(w->e, INV_T_CUT, INV_CUT_MAP, size));
}

static enum put put_integer(struct inv_encoder *e, ERL_NIF_TERM term)
{
	ErlNifSInt64 i;

	if (enif_get_int64(e->env, term, &i))
		return result(put_int(e, i));
	return result(inv_scalar_bignum(e, term));
}

static enum put put_bitstring(struct inv_encoder *e, ERL_NIF_TERM term)
{
	ErlNifBinary bin;

	if (!enif_inspect_binary(e->env, term, &bin))
		return result(inv_scalar_bits(e, term));
	return result(inv_scalar_binary(e, bin.data, bin.size));
}

/* Any term that is not known to the packet. */
static enum put put_other(struct walk *w, ERL_NIF_TERM term)
{
	struct inv_encoder *e = w->e;
	bool deep = w->depth >= e->max_depth;

	switch (enif_term_type(e->env, term)) {
	case ERL_NIF_TERM_TYPE_INTEGER:
		return put_integer(e, term);
	case ERL_NIF_TERM_TYPE_TUPLE:
		return open_tuple(w, term, deep);
	case ERL_NIF_TERM_TYPE_LIST:
		return open_list(w, term, deep);
	case ERL_NIF_TERM_TYPE_BITSTRING:
		return put_bitstring(e, term);
	case ERL_NIF_TERM_TYPE_MAP:
		return open_map(w, term, deep);
	case ERL_NIF_TERM_TYPE_ATOM:
		return result(inv_ident_atom(e, term));
	case ERL_NIF_TERM_TYPE_PID:
		return result(inv_ident_pid(e, term));
	case ERL_NIF_TERM_TYPE_REFERENCE:
		return result(inv_ident_ref(e, term));
	case ERL_NIF_TERM_TYPE_PORT:
		return result(inv_ident_port(e, term));
	case ERL_NIF_TERM_TYPE_FLOAT:
		return result(inv_scalar_float(e, term));
	case ERL_NIF_TERM_TYPE_FUN:
		return result(inv_ident_fun(e, term));
	default:
		return result(inv_encode_hole(e));
	}
}

static inline enum put put_term(struct walk *w, ERL_NIF_TERM term)
{
	uint32_t number;

	if (is_known(w->e, term, &number)) {
		put_known(w->e, number);
		return WRITTEN;
	}
	return put_other(w, term);
}

static void leave(struct walk *w)
{
	struct frame *f = &w->frames[--w->depth];

	if (f->kind == FRAME_MAP)
		enif_map_iterator_destroy(w->e->env, &f->u.map.iter);
}

/*
 * Each of these goes through a container's elements until one opens another
 * container, the budget is used up, or there are no more: then it is left.
 */
static enum put run_tuple(struct walk *w, struct frame *f)
{
	while (f->left > 0) {
		enum put put;

		if (w->e->left <= 0)
			return WRITTEN;
		f->left--;
		put = put_term(w, *f->u.elements++);
		if (put != WRITTEN)
			return put;
	}
	leave(w);
	return WRITTEN;
}

static enum put end_list(struct walk *w, struct frame *f, ERL_NIF_TERM tail)
{
	if (enif_is_empty_list(w->e->env, tail)) {
		leave(w);
		return result(inv_put_byte(w->e, INV_T_END));
	}
	f->kind = FRAME_TAIL; /* left when the tail is written */
	if (!inv_put_byte(w->e, INV_T_TAIL))
		return NO_ROOM;
	return put_term(w, tail);
}

static enum put run_list(struct walk *w, struct frame *f)
{
	ErlNifEnv *env = w->e->env;
	ERL_NIF_TERM head;

	while (w->e->left > 0) {
		ERL_NIF_TERM cell = f->u.tail;
		enum put put;

		if (!enif_get_list_cell(env, cell, &head, &f->u.tail))
			return end_list(w, f, cell);
		put = put_term(w, head);
		if (put != WRITTEN)
			return put;
	}
	return WRITTEN;
}

static enum put run_map(struct walk *w, struct frame *f)
{
	ERL_NIF_TERM key;
	enum put put;

	while (w->e->left > 0) {
		if (f->in_value) {
			f->in_value = false;
			enif_map_iterator_next(w->e->env, &f->u.map.iter);
			put = put_term(w, f->u.map.value);
		} else if (f->left > 0 && enif_map_iterator_get_pair(
						  w->e->env, &f->u.map.iter,
						  &key, &f->u.map.value)) {
			f->left--;
			f->in_value = true;
			put = put_term(w, key);
		} else {
			leave(w);
			return WRITTEN;
		}
		if (put != WRITTEN)
			return put;
	}
	return WRITTEN;
}

static enum put run(struct walk *w)
{
	struct frame *f = &w->frames[w->depth - 1];

	switch (f->kind) {
	case FRAME_TUPLE:
		return run_tuple(w, f);
	case FRAME_LIST:
		return run_list(w, f);
	case FRAME_MAP:
		return run_map(w, f);
	case FRAME_TAIL:
	default:
		leave(w);
		return WRITTEN;
	}
}

/* The budget is used up: says what is missing in the innermost container. */
static bool cut_list(struct inv_encoder *e, ERL_NIF_TERM tail)
{
	enum inv_cut kind;
	uint32_t n;

	if (enif_is_empty_list(e->env, tail))
		return inv_put_byte(e, INV_T_END);
	kind = count_cells(e->env, tail, &n);
	return inv_scalar_missing(e, INV_T_CUT, kind, n);
}

static bool cut_innermost(struct walk *w)
{
	struct frame *f = &w->frames[w->depth - 1];
	struct inv_encoder *e = w->e;
	bool ok = true;

	if (f->kind == FRAME_LIST)
		ok = cut_list(e, f->u.tail);
	if (f->kind == FRAME_TUPLE && f->left > 0)
		ok = inv_scalar_missing(e, INV_T_CUT, INV_CUT_TUPLE, f->left);
	if (f->kind == FRAME_MAP && f->in_value)
		ok = inv_scalar_missing(e, INV_T_HOLE, INV_CUT_OTHER, 0);
	if (f->kind == FRAME_MAP && f->left > 0)
		ok = ok && inv_scalar_missing(e, INV_T_CUT, INV_CUT_MAP,
					      f->left);
	leave(w);
	return ok;
}

bool inv_encode_term(struct inv_encoder *e, ERL_NIF_TERM term)
{
	struct walk w;
	enum put put;
	bool ok;

	w.e = e;
	w.depth = 0;
	e->left = e->max_bytes;
	put = put_term(&w, term);
	if (put != OPENED)
		return put == WRITTEN;
	ok = true;
	while (ok && w.depth > 0)
		ok = e->left > 0 ? run(&w) != NO_ROOM : cut_innermost(&w);
	while (w.depth > 0) /* iterators of maps are to be destroyed */
		leave(&w);
	return ok;
}
