/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/encode.h"

#include <string.h>

#include "abi/term.h"
#include "base/varint.h"
#include "nif/ident.h"
#include "nif/put.h"

/* How many of the elements that a cut leaves out are still counted. */
#define COUNT_MAX 4096u

/* Big integers up to this many bytes are written; larger ones are holes. */
#define BIG_BYTES_MAX 4096u

/*
 * Powers of two to compare big integers with: what the VM compares it does not
 * convert.  limits[i] is 2^(8 * 64 * 4^i), in an environment of our own.
 */
#define N_BIG_LIMITS 4
static ERL_NIF_TERM big_limits[N_BIG_LIMITS][2]; /* positive, negative */
static const uint32_t big_bytes[N_BIG_LIMITS] = { 64, 256, 1024,
						  BIG_BYTES_MAX };
static ErlNifEnv *constants;

static ERL_NIF_TERM make_power(ErlNifEnv *env, uint32_t bytes, bool negative)
{
	/* 131, LARGE_BIG_EXT, n (4), sign, n bytes */
	static uint8_t etf[7 + BIG_BYTES_MAX + 1];
	ERL_NIF_TERM term = 0;
	uint32_t n = bytes + 1;

	memset(etf, 0, sizeof(etf));
	etf[0] = 131;
	etf[1] = 111;
	etf[2] = (uint8_t)(n >> 24);
	etf[3] = (uint8_t)(n >> 16);
	etf[4] = (uint8_t)(n >> 8);
	etf[5] = (uint8_t)n;
	etf[6] = negative;
	etf[7 + bytes] = 1;
	enif_binary_to_term(env, etf, 7 + n, &term, 0);
	return term;
}

void inv_encode_end(void)
{
	enif_free_env(constants);
	constants = NULL;
}

void inv_encode_init(void)
{
	unsigned i;

	if (constants)
		return; /* the library is loaded a second time */
	constants = enif_alloc_env();
	for (i = 0; i < N_BIG_LIMITS; i++) {
		big_limits[i][0] = make_power(constants, big_bytes[i], false);
		big_limits[i][1] = make_power(constants, big_bytes[i], true);
	}
}

bool inv_encode_tuple(struct inv_encoder *e, uint32_t arity)
{
	if (arity < 16)
		return inv_put_byte(e, (uint8_t)(INV_T_TUPLE_SMALL + arity));
	return inv_put_code(e, INV_T_TUPLE, arity);
}

static bool put_int(struct inv_encoder *e, int64_t v)
{
	if (v >= 0 && v < 64)
		return inv_put_byte(e, (uint8_t)v);
	return inv_put_code(e, INV_T_INT, inv_zigzag(v));
}

bool inv_encode_uint(struct inv_encoder *e, uint32_t value)
{
	return put_int(e, value);
}

static bool put_missing(struct inv_encoder *e, enum inv_term_code code,
			enum inv_cut kind, uint64_t n)
{
	e->cut = true;
	return inv_put_byte(e, code) && inv_put_byte(e, (uint8_t)kind) &&
	       inv_put_varint(e, n);
}

bool inv_encode_hole(struct inv_encoder *e)
{
	bool was = e->cut; /* left out on purpose, not for its size */
	bool ok = put_missing(e, INV_T_HOLE, INV_CUT_OTHER, 0);

	e->cut = was;
	return ok;
}

/* An unsigned or signed magnitude of n bytes, least significant first. */
static bool put_big(struct inv_encoder *e, bool negative, const uint8_t *le,
		    uint32_t n)
{
	return inv_put_byte(e, INV_T_BIG) && inv_put_byte(e, negative) &&
	       inv_put_varint(e, n) && inv_put_bytes(e, le, n);
}

/* The smallest limit that the magnitude is below; 0: beyond all of them. */
static uint32_t big_size(ERL_NIF_TERM term)
{
	unsigned i;

	for (i = 0; i < N_BIG_LIMITS; i++)
		if (enif_compare(term, big_limits[i][0]) < 0 &&
		    enif_compare(term, big_limits[i][1]) > 0)
			return big_bytes[i];
	return 0;
}

static bool encode_bignum(struct inv_encoder *e, ERL_NIF_TERM term)
{
	uint32_t size = big_size(term);
	const uint8_t *d;
	ErlNifBinary bin;
	uint32_t n;
	bool ok;

	if (size == 0)
		return put_missing(e, INV_T_HOLE, INV_CUT_INT, BIG_BYTES_MAX);
	if (size > 64 && size > e->left)
		return put_missing(e, INV_T_HOLE, INV_CUT_INT, size / 4);
	if (!enif_term_to_binary(e->env, term, &bin))
		return put_missing(e, INV_T_HOLE, INV_CUT_INT, 0);
	d = bin.data;
	if (d[1] == 110) { /* SMALL_BIG_EXT */
		n = d[2];
		ok = put_big(e, d[3] != 0, d + 4, n);
	} else { /* LARGE_BIG_EXT */
		n = (uint32_t)d[2] << 24 | (uint32_t)d[3] << 16 |
		    (uint32_t)d[4] << 8 | d[5];
		ok = put_big(e, d[6] != 0, d + 7, n);
	}
	enif_release_binary(&bin);
	return ok;
}

static bool encode_integer(struct inv_encoder *e, ERL_NIF_TERM term)
{
	ErlNifSInt64 i;
	ErlNifUInt64 u;

	if (enif_get_int64(e->env, term, &i))
		return put_int(e, i);
	if (enif_get_uint64(e->env, term, &u))
		return put_big(e, false, (const uint8_t *)&u, 8);
	return encode_bignum(e, term);
}

static bool encode_float(struct inv_encoder *e, ERL_NIF_TERM term)
{
	double d = 0;

	enif_get_double(e->env, term, &d);
	return inv_put_byte(e, INV_T_FLOAT) &&
	       inv_put_bytes(e, (const uint8_t *)&d, 8);
}

static bool put_binary(struct inv_encoder *e, const uint8_t *data, size_t size)
{
	size_t room = e->left > 0 ? (size_t)e->left : 0;

	if (size <= 31 && size <= room)
		return inv_put_byte(e, (uint8_t)(INV_T_BINARY_SMALL + size)) &&
		       inv_put_bytes(e, data, (uint32_t)size);
	if (size <= room)
		return inv_put_code(e, INV_T_BINARY, size) &&
		       inv_put_bytes(e, data, (uint32_t)size);
	e->cut = true;
	return inv_put_code(e, INV_T_BINARY_CUT, (uint64_t)size * 8) &&
	       inv_put_varint(e, room) &&
	       inv_put_bytes(e, data, (uint32_t)room);
}

/* BIT_BINARY_EXT: 131, 77, bytes (4), bits used of the last one, bytes. */
static bool encode_bits(struct inv_encoder *e, ERL_NIF_TERM term)
{
	size_t room = e->left > 0 ? (size_t)e->left : 0;
	ErlNifBinary bin;
	uint64_t bits;
	size_t size;
	bool ok;

	if (!enif_term_to_binary(e->env, term, &bin))
		return put_missing(e, INV_T_HOLE, INV_CUT_BITS, 0);
	if (bin.size < 8 || bin.data[1] != 77) {
		ok = put_missing(e, INV_T_HOLE, INV_CUT_BITS, 0);
	} else {
		size = bin.size - 7;
		bits = (uint64_t)(size - 1) * 8 + bin.data[6];
		if (size <= room) {
			ok = inv_put_code(e, INV_T_BITS, bits) &&
			     inv_put_bytes(e, bin.data + 7, (uint32_t)size);
		} else {
			e->cut = true;
			ok = inv_put_code(e, INV_T_BINARY_CUT, bits) &&
			     inv_put_varint(e, room) &&
			     inv_put_bytes(e, bin.data + 7, (uint32_t)room);
		}
	}
	enif_release_binary(&bin);
	return ok;
}

static bool encode_binary(struct inv_encoder *e, ERL_NIF_TERM term)
{
	ErlNifBinary bin;

	if (enif_inspect_binary(e->env, term, &bin))
		return put_binary(e, bin.data, bin.size);
	return encode_bits(e, term);
}

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

	return put_missing(e, INV_T_HOLE, kind, n);
}

/*
 * A list of bytes is written as such: a byte an element.  Tried first, as far
 * as the elements are bytes; given up without a trace when one is not.
 * 1: written, 0: it is no such list, -1: no room in the packet.
 */
static int try_string(struct inv_encoder *e, ERL_NIF_TERM list)
{
	size_t room = (size_t)(e->top - e->p);
	size_t budget = e->left > 0 ? (size_t)e->left : 0;
	uint8_t *start = e->p + 1 + INV_VARINT_MAX;
	ERL_NIF_TERM head;
	ERL_NIF_TERM tail = list;
	uint32_t n = 0;
	bool cut = false;
	unsigned byte;

	while (enif_get_list_cell(e->env, tail, &head, &tail)) {
		if (!enif_get_uint(e->env, head, &byte) || byte > 255)
			return 0;
		if (n >= budget) {
			cut = true;
			break;
		}
		if (room < 3 * INV_VARINT_MAX || n >= room - 3 * INV_VARINT_MAX)
			return -1;
		start[n++] = (uint8_t)byte;
	}
	if (!cut && !enif_is_empty_list(e->env, tail))
		return 0;
	if (cut) {
		enum inv_cut kind;
		uint32_t more;

		kind = count_cells(e->env, tail, &more);
		e->cut = true;
		/* more: the cell that met the budget is missing too */
		return inv_put_code(e, INV_T_STRING_CUT, n) &&
				       inv_put_moved(e, start, n) &&
				       inv_put_byte(e, (uint8_t)kind) &&
				       inv_put_varint(e, (uint64_t)more + 1) ?
			       1 :
			       -1;
	}
	if (n <= 16)
		return inv_put_byte(e, (uint8_t)(INV_T_STRING_SMALL + n - 1)) &&
				       inv_put_moved(e, start, n) ?
			       1 :
			       -1;
	return inv_put_code(e, INV_T_STRING, n) && inv_put_moved(e, start, n) ?
		       1 :
		       -1;
}

static bool open_list(struct walk *w, ERL_NIF_TERM term, bool deep)
{
	int string;

	if (enif_is_empty_list(w->e->env, term))
		return inv_put_byte(w->e, INV_T_NIL);
	string = try_string(w->e, term);
	if (string != 0)
		return string > 0;
	if (deep)
		return put_hole_list(w->e, term);
	push(w, FRAME_LIST)->u.tail = term;
	return inv_put_byte(w->e, INV_T_LIST);
}

static bool open_tuple(struct walk *w, ERL_NIF_TERM term, bool deep)
{
	const ERL_NIF_TERM *elements;
	struct frame *f;
	int arity;

	if (!enif_get_tuple(w->e->env, term, &arity, &elements))
		return inv_encode_hole(w->e);
	if (deep && arity > 0)
		return put_missing(w->e, INV_T_HOLE, INV_CUT_TUPLE,
				   (uint32_t)arity);
	f = push(w, FRAME_TUPLE);
	f->left = (uint32_t)arity;
	f->u.elements = elements;
	return inv_encode_tuple(w->e, (uint32_t)arity);
}

static bool open_map(struct walk *w, ERL_NIF_TERM term, bool deep)
{
	ErlNifEnv *env = w->e->env;
	struct frame *f;
	size_t size = 0;

	enif_get_map_size(env, term, &size);
	if (deep && size > 0)
		return put_missing(w->e, INV_T_HOLE, INV_CUT_MAP, size);
	if (!inv_put_code(w->e, INV_T_MAP, size))
		return false;
	if (size == 0)
		return true;
	f = push(w, FRAME_MAP);
	if (!enif_map_iterator_create(env, term, &f->u.map.iter,
				      ERL_NIF_MAP_ITERATOR_FIRST)) {
		w->depth--;
		return put_missing(w->e, INV_T_CUT, INV_CUT_MAP, size);
	}
	f->left = (uint32_t)size;
	return true;
}

static bool encode_one(struct walk *w, ERL_NIF_TERM term)
{
	struct inv_encoder *e = w->e;
	bool deep = w->depth >= e->max_depth;

	switch (enif_term_type(e->env, term)) {
	case ERL_NIF_TERM_TYPE_ATOM:
		return inv_ident_atom(e, term);
	case ERL_NIF_TERM_TYPE_INTEGER:
		return encode_integer(e, term);
	case ERL_NIF_TERM_TYPE_BITSTRING:
		return encode_binary(e, term);
	case ERL_NIF_TERM_TYPE_LIST:
		return open_list(w, term, deep);
	case ERL_NIF_TERM_TYPE_TUPLE:
		return open_tuple(w, term, deep);
	case ERL_NIF_TERM_TYPE_PID:
		return inv_ident_pid(e, term);
	case ERL_NIF_TERM_TYPE_MAP:
		return open_map(w, term, deep);
	case ERL_NIF_TERM_TYPE_REFERENCE:
		return inv_ident_ref(e, term);
	case ERL_NIF_TERM_TYPE_PORT:
		return inv_ident_port(e, term);
	case ERL_NIF_TERM_TYPE_FLOAT:
		return encode_float(e, term);
	case ERL_NIF_TERM_TYPE_FUN:
		return inv_ident_fun(e, term);
	default:
		return inv_encode_hole(e);
	}
}

static void leave(struct walk *w)
{
	struct frame *f = &w->frames[--w->depth];

	if (f->kind == FRAME_MAP)
		enif_map_iterator_destroy(w->e->env, &f->u.map.iter);
}

static bool step_tuple(struct walk *w, struct frame *f)
{
	if (f->left == 0) {
		leave(w);
		return true;
	}
	f->left--;
	return encode_one(w, *f->u.elements++);
}

static bool step_list(struct walk *w, struct frame *f)
{
	ErlNifEnv *env = w->e->env;
	ERL_NIF_TERM head;
	ERL_NIF_TERM tail = f->u.tail;

	if (enif_get_list_cell(env, tail, &head, &f->u.tail))
		return encode_one(w, head);
	if (enif_is_empty_list(env, tail)) {
		leave(w);
		return inv_put_byte(w->e, INV_T_END);
	}
	f->kind = FRAME_TAIL; /* closed when the tail is written */
	return inv_put_byte(w->e, INV_T_TAIL) && encode_one(w, tail);
}

static bool step_map(struct walk *w, struct frame *f)
{
	ERL_NIF_TERM key;

	if (f->in_value) {
		f->in_value = false;
		enif_map_iterator_next(w->e->env, &f->u.map.iter);
		return encode_one(w, f->u.map.value);
	}
	if (f->left == 0 ||
	    !enif_map_iterator_get_pair(w->e->env, &f->u.map.iter, &key,
					&f->u.map.value)) {
		leave(w);
		return true;
	}
	f->left--;
	f->in_value = true;
	return encode_one(w, key);
}

static bool step(struct walk *w)
{
	struct frame *f = &w->frames[w->depth - 1];

	switch (f->kind) {
	case FRAME_TUPLE:
		return step_tuple(w, f);
	case FRAME_LIST:
		return step_list(w, f);
	case FRAME_MAP:
		return step_map(w, f);
	case FRAME_TAIL:
	default:
		leave(w);
		return true;
	}
}

/* The budget is used up: says what is missing in the innermost container. */
static bool cut_list(struct walk *w, struct frame *f)
{
	enum inv_cut kind;
	uint32_t n;

	if (enif_is_empty_list(w->e->env, f->u.tail))
		return inv_put_byte(w->e, INV_T_END);
	kind = count_cells(w->e->env, f->u.tail, &n);
	return put_missing(w->e, INV_T_CUT, kind, n);
}

static bool cut_innermost(struct walk *w)
{
	struct frame *f = &w->frames[w->depth - 1];
	bool ok = true;

	switch (f->kind) {
	case FRAME_TUPLE:
		if (f->left > 0)
			ok = put_missing(w->e, INV_T_CUT, INV_CUT_TUPLE,
					 f->left);
		break;
	case FRAME_LIST:
		ok = cut_list(w, f);
		break;
	case FRAME_MAP:
		if (f->in_value)
			ok = put_missing(w->e, INV_T_HOLE, INV_CUT_OTHER, 0);
		if (ok && f->left > 0)
			ok = put_missing(w->e, INV_T_CUT, INV_CUT_MAP, f->left);
		break;
	case FRAME_TAIL:
	default:
		break;
	}
	leave(w);
	return ok;
}

static bool walk_containers(struct walk *w)
{
	bool ok = true;

	while (ok && w->depth > 0)
		ok = w->e->left > 0 ? step(w) : cut_innermost(w);
	while (w->depth > 0) /* iterators of maps are to be destroyed */
		leave(w);
	return ok;
}

bool inv_encode_term(struct inv_encoder *e, ERL_NIF_TERM term)
{
	struct walk w;

	w.e = e;
	w.depth = 0;
	e->left = e->max_bytes;
	return encode_one(&w, term) && walk_containers(&w);
}
