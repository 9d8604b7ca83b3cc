/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/weigh.h"

#include "nif/atoms.h"
#include "nif/encode.h"
#include "nif/scalar.h"

#define WORD ((uint64_t)sizeof(ERL_NIF_TERM))

/* Integers from -SMALL to SMALL - 1 are immediates: they take no memory. */
#define SMALL ((int64_t)1 << 59)

/* When a message is sent, binaries up to this size in bytes are copied; larger
 * ones are shared. */
#define HEAP_BINARY 64

static bool weigh(struct inv_weighing *w, ERL_NIF_TERM term, unsigned depth);

static bool take(struct inv_weighing *w, uint64_t bytes)
{
	if (w->copy_left < bytes)
		return false;
	w->copy_left -= bytes;
	return true;
}

static bool weigh_binary(struct inv_weighing *w, size_t size)
{
	w->kept += size > HEAP_BINARY ? size : 0;
	return take(w, 8 * WORD + (size > HEAP_BINARY ? 0 : size));
}

static bool weigh_bitstring(struct inv_weighing *w, ERL_NIF_TERM term)
{
	ErlNifBinary bin;
	size_t size;

	if (enif_inspect_binary(w->env, term, &bin))
		return weigh_binary(w, bin.size);
	/* The term is a bitstring. Only this function of the VM returns its
	 * size. */
	if (!enif_term_to_binary(w->env, term, &bin))
		return false;
	size = bin.size;
	enif_release_binary(&bin);
	return weigh_binary(w, size);
}

static bool weigh_integer(struct inv_weighing *w, ERL_NIF_TERM term)
{
	ErlNifSInt64 i;
	ErlNifUInt64 u;
	uint32_t bytes;

	if (enif_get_int64(w->env, term, &i) && i >= -SMALL && i < SMALL)
		return true;
	if (enif_get_uint64(w->env, term, &u) ||
	    enif_get_int64(w->env, term, &i))
		return take(w, 2 * WORD);
	bytes = inv_scalar_big_bytes(term);
	return bytes > 0 && take(w, WORD + bytes);
}

static bool weigh_map(struct inv_weighing *w, ERL_NIF_TERM map, unsigned depth)
{
	ErlNifMapIterator iter;
	ERL_NIF_TERM value;
	ERL_NIF_TERM key;
	bool ok = true;
	size_t n = 0;

	enif_get_map_size(w->env, map, &n);
	/* A pair takes two words in small maps, and up to four words in large
	 * maps. */
	if (!take(w, (4 + 4 * (uint64_t)n) * WORD))
		return false;
	if (n == 0)
		return true;
	if (!enif_map_iterator_create(w->env, map, &iter,
				      ERL_NIF_MAP_ITERATOR_FIRST))
		return false;
	while (ok && enif_map_iterator_get_pair(w->env, &iter, &key, &value)) {
		ok = weigh(w, key, depth + 1) && weigh(w, value, depth + 1);
		enif_map_iterator_next(w->env, &iter);
	}
	enif_map_iterator_destroy(w->env, &iter);
	return ok;
}

static bool weigh_leaf(struct inv_weighing *w, ERL_NIF_TERM term,
		       ErlNifTermType type, unsigned depth)
{
	switch (type) {
	case ERL_NIF_TERM_TYPE_ATOM:
		return true;
	case ERL_NIF_TERM_TYPE_INTEGER:
		return weigh_integer(w, term);
	case ERL_NIF_TERM_TYPE_BITSTRING:
		return weigh_bitstring(w, term);
	case ERL_NIF_TERM_TYPE_MAP:
		return weigh_map(w, term, depth);
	case ERL_NIF_TERM_TYPE_FUN:
		return take(w, INV_WEIGH_FUN);
	default: /* floats, pids, ports, references */
		return take(w, 6 * WORD);
	}
}

/* Adds the memory of a tuple and of its elements, except the last element. Sets
 * *last to the last element. */
static bool weigh_tuple(struct inv_weighing *w, ERL_NIF_TERM tuple,
			ERL_NIF_TERM *last, unsigned depth)
{
	const ERL_NIF_TERM *element;
	int arity = 0;
	int i;

	enif_get_tuple(w->env, tuple, &arity, &element);
	if (!take(w, (1 + (uint64_t)arity) * WORD))
		return false;
	for (i = 0; i + 1 < arity; i++)
		if (!weigh(w, element[i], depth + 1))
			return false;
	*last = arity > 0 ? element[arity - 1] : inv_am_ok;
	return true;
}

/*
 * The loop goes on with the last element of a term, and the function recurses
 * only for the other elements. So lists, and tuples that are nested in the last
 * element, need no stack. In practice, most deep terms are of these two kinds.
 */
static bool weigh(struct inv_weighing *w, ERL_NIF_TERM term, unsigned depth)
{
	ErlNifTermType type;
	ERL_NIF_TERM head;
	ERL_NIF_TERM tail;

	if (depth >= INV_ENCODE_DEPTH)
		return false;
	for (;;) {
		type = enif_term_type(w->env, term);
		if (type == ERL_NIF_TERM_TYPE_LIST) {
			if (!enif_get_list_cell(w->env, term, &head, &tail))
				return true; /* [] */
			if (!take(w, 2 * WORD) || !weigh(w, head, depth + 1))
				return false;
			term = tail;
		} else if (type == ERL_NIF_TERM_TYPE_TUPLE) {
			if (!weigh_tuple(w, term, &term, depth))
				return false;
		} else {
			return weigh_leaf(w, term, type, depth);
		}
	}
}

bool inv_weigh_term(struct inv_weighing *w, ERL_NIF_TERM term)
{
	return weigh(w, term, 0);
}
