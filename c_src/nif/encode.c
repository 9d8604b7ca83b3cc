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

static ERL_NIF_TERM nil; /* an immediate: the same word everywhere */

/*
 * What a term is, guessed from its low bits, which are looked up in samples
 * when the library is loaded.  A guess decides only which question the VM is
 * asked first: a wrong one costs time and nothing else.
 */
#define GUESS_BITS 15u
enum guess { GUESS_NOTHING, GUESS_INT, GUESS_LIST, GUESS_TUPLE };
static uint8_t guesses[GUESS_BITS + 1]; /* enum guess */

void inv_encode_init(ErlNifEnv *env)
{
	ERL_NIF_TERM one = enif_make_int(env, 1);
	unsigned low;

	nil = enif_make_list(env, 0);
	/* Cells and tuples lie on words: the third low bit is the address's. */
	for (low = 0; low <= GUESS_BITS; low++) {
		if (low == (one & GUESS_BITS))
			guesses[low] = GUESS_INT;
		else if ((low & 3) == (enif_make_list1(env, one) & 3))
			guesses[low] = GUESS_LIST;
		else if ((low & 3) == (enif_make_tuple1(env, one) & 3))
			guesses[low] = GUESS_TUPLE;
	}
}

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

bool inv_encode_uint(struct inv_encoder *e, uint32_t value)
{
	return inv_put_int(e, value);
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
 * other term has such a word, so there is no need to ask what it is.  Written
 * at p, which has KNOWN_MAX bytes of room; returns past it, or NULL.
 */
#define KNOWN_MAX (1 + INV_VARINT_MAX)

static inline uint8_t *put_known(const struct inv_dict *dict, uint8_t *p,
				 ERL_NIF_TERM term)
{
	uint32_t number;

	if (!inv_dict_find(dict, term, &number))
		return NULL;
	if (number < 64) {
		*p++ = (uint8_t)(INV_T_DICT_SMALL + number);
		return p;
	}
	*p++ = INV_T_DICT;
	return inv_varint_put(p, number);
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
	size_t budget = inv_put_left(e);
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
	if (cell != nil)
		return true;
	*is_string = true;
	return finish_string(e, start, n, 0);
}

/* The list of that head and tail. */
static enum put open_list(struct walk *w, ERL_NIF_TERM list, ERL_NIF_TERM head)
{
	struct inv_encoder *e = w->e;
	bool is_string = false;

	if (guesses[head & GUESS_BITS] == GUESS_INT &&
	    !try_string(e, list, &is_string))
		return NO_ROOM;
	if (is_string)
		return WRITTEN;
	if (w->depth >= e->max_depth)
		return result(put_hole_list(e, list));
	push(w, FRAME_LIST)->u.tail = list;
	return inv_put_byte(e, INV_T_LIST) ? OPENED : NO_ROOM;
}

static enum put open_tuple(struct walk *w, uint32_t arity,
			   const ERL_NIF_TERM *elements)
{
	struct frame *f;

	if (arity > 0 && w->depth >= w->e->max_depth)
		return result(inv_scalar_missing(w->e, INV_T_HOLE,
						 INV_CUT_TUPLE, arity));
	if (!inv_encode_tuple(w->e, arity))
		return NO_ROOM;
	if (arity == 0)
		return WRITTEN;
	f = push(w, FRAME_TUPLE);
	f->left = arity;
	f->u.elements = elements;
	return OPENED;
}

static enum put open_map(struct walk *w, ERL_NIF_TERM term)
{
	ErlNifEnv *env = w->e->env;
	struct frame *f;
	size_t size = 0;

	enif_get_map_size(env, term, &size);
	if (size > 0 && w->depth >= w->e->max_depth)
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

static enum put put_bitstring(struct inv_encoder *e, ERL_NIF_TERM term)
{
	ErlNifBinary bin;

	if (!enif_inspect_binary(e->env, term, &bin))
		return result(inv_scalar_bits(e, term));
	return result(inv_scalar_binary(e, bin.data, bin.size));
}

static enum put put_by_type(struct walk *w, ERL_NIF_TERM term)
{
	struct inv_encoder *e = w->e;
	const ERL_NIF_TERM *elements;
	int arity;

	switch (enif_term_type(e->env, term)) {
	case ERL_NIF_TERM_TYPE_BITSTRING:
		return put_bitstring(e, term);
	case ERL_NIF_TERM_TYPE_MAP:
		return open_map(w, term);
	case ERL_NIF_TERM_TYPE_ATOM:
		return result(inv_ident_atom(e, term));
	case ERL_NIF_TERM_TYPE_PID:
		return result(inv_ident_pid(e, term));
	case ERL_NIF_TERM_TYPE_REFERENCE:
		return result(inv_ident_ref(e, term));
	case ERL_NIF_TERM_TYPE_PORT:
		return result(inv_ident_port(e, term));
	case ERL_NIF_TERM_TYPE_INTEGER:
		return result(inv_scalar_integer(e, term));
	case ERL_NIF_TERM_TYPE_FLOAT:
		return result(inv_scalar_float(e, term));
	case ERL_NIF_TERM_TYPE_FUN:
		return result(inv_ident_fun(e, term));
	case ERL_NIF_TERM_TYPE_TUPLE: /* here and below: guessed wrong */
		enif_get_tuple(e->env, term, &arity, &elements);
		return open_tuple(w, (uint32_t)arity, elements);
	case ERL_NIF_TERM_TYPE_LIST:
		if (term == nil)
			return result(inv_put_byte(e, INV_T_NIL));
		return open_list(w, term, nil);
	default:
		return result(inv_encode_hole(e));
	}
}

/* Any term that is not known to the packet. */
static enum put put_other(struct walk *w, ERL_NIF_TERM term)
{
	struct inv_encoder *e = w->e;
	const ERL_NIF_TERM *elements;
	ERL_NIF_TERM head;
	ERL_NIF_TERM tail;
	ErlNifSInt64 i;
	int arity;

	switch (guesses[term & GUESS_BITS]) {
	case GUESS_TUPLE:
		if (enif_get_tuple(e->env, term, &arity, &elements))
			return open_tuple(w, (uint32_t)arity, elements);
		break;
	case GUESS_LIST:
		if (enif_get_list_cell(e->env, term, &head, &tail))
			return open_list(w, term, head);
		break;
	case GUESS_INT:
		if (enif_get_int64(e->env, term, &i))
			return result(inv_put_int(e, i));
		break;
	default:
		if (term == nil)
			return result(inv_put_byte(e, INV_T_NIL));
		break;
	}
	return put_by_type(w, term);
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
 * The known ones are written right here, with the place in a register.
 */
static enum put run_tuple(struct walk *w, struct frame *f)
{
	struct inv_encoder *e = w->e;
	uint8_t *p = e->p;

	while (f->left > 0 && p < e->limit) {
		ERL_NIF_TERM term = *f->u.elements++;
		uint8_t *next;
		enum put put;

		f->left--;
		if ((size_t)(e->top - p) < KNOWN_MAX)
			return NO_ROOM;
		next = put_known(e->dict, p, term);
		if (next) {
			p = next;
			continue;
		}
		e->p = p;
		put = put_other(w, term);
		if (put != WRITTEN)
			return put;
		p = e->p;
	}
	e->p = p;
	if (f->left == 0)
		leave(w);
	return WRITTEN;
}

static enum put put_term(struct walk *w, ERL_NIF_TERM term)
{
	struct inv_encoder *e = w->e;
	uint8_t *next;

	if ((size_t)(e->top - e->p) < KNOWN_MAX)
		return NO_ROOM;
	next = put_known(e->dict, e->p, term);
	if (!next)
		return put_other(w, term);
	e->p = next;
	return WRITTEN;
}

static enum put end_list(struct walk *w, struct frame *f, ERL_NIF_TERM tail)
{
	if (tail == nil) {
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
	struct inv_encoder *e = w->e;
	ERL_NIF_TERM tail = f->u.tail;
	uint8_t *p = e->p;

	while (p < e->limit) {
		ERL_NIF_TERM head;
		uint8_t *next;
		enum put put;

		if (tail == nil ||
		    !enif_get_list_cell(e->env, tail, &head, &tail)) {
			e->p = p;
			return end_list(w, f, tail);
		}
		if ((size_t)(e->top - p) < KNOWN_MAX)
			return NO_ROOM;
		next = put_known(e->dict, p, head);
		if (next) {
			p = next;
			continue;
		}
		e->p = p;
		f->u.tail = tail;
		put = put_other(w, head);
		if (put != WRITTEN)
			return put;
		p = e->p;
	}
	e->p = p;
	f->u.tail = tail;
	return WRITTEN;
}

static enum put run_map(struct walk *w, struct frame *f)
{
	ERL_NIF_TERM key;
	enum put put;

	while (w->e->p < w->e->limit) {
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

	if (tail == nil)
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
	e->limit = e->p + e->max_bytes;
	put = put_term(&w, term);
	if (put != OPENED)
		return put == WRITTEN;
	ok = true;
	while (ok && w.depth > 0)
		ok = e->p < e->limit ? run(&w) != NO_ROOM : cut_innermost(&w);
	while (w.depth > 0) /* iterators of maps are to be destroyed */
		leave(&w);
	return ok;
}
