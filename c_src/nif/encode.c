/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over a term. It recurses for at most max_depth levels;
 * INV_ENCODE_DEPTH levels need 32 KiB of stack (tools/check-stack). A
 * `container' is a list, tuple or map. Most elements of containers are atoms,
 * pids and small integers. The loop over the elements writes these itself, with
 * as few calls into the VM as possible.
 */
#include "nif/encode.h"

#include <string.h>

#include "base/likely.h"
#include "base/varint.h"
#include "nif/ident.h"
#include "nif/put.h"
#include "nif/redact.h"
#include "nif/scalar.h"
#include "nif/small.h"

/*
 * The encoder may visit this many list cells of a term in addition to those
 * that it writes: to count the elements that a cut leaves out, and to find out
 * whether a list is a string.
 */
#define LOOKS_MIN 4096u

/*
 * For each list cell that the encoder may visit, the redaction rules may visit
 * this many cells. In a term that is not cut, the rules need fewer visits: at
 * most three for each cell. (They visit a cell three times if it belongs to a
 * list inside a pair inside a list.)
 */
#define CHECKS_OF_LOOK 4u

static ERL_NIF_TERM nil; /* an immediate: its word is always the same */

/*
 * The type of a term, guessed from its low bits with a table that is filled
 * from samples when the library is loaded. The guess only decides which NIF
 * function is tried first; a wrong guess only costs time. But a term with
 * GUESS_NOTHING is certainly not a pointer, because the two lowest bits of each
 * pointer are those of a list cell or of a tuple.
 */
#define GUESS_BITS 15u
enum guess {
	GUESS_NOTHING,
	GUESS_INT,
	GUESS_LIST,
	GUESS_TUPLE
};
static uint8_t guesses[GUESS_BITS + 1]; /* enum guess */

void inv_encode_init(ErlNifEnv *env)
{
	ERL_NIF_TERM one = enif_make_int(env, 1);
	unsigned low;

	nil = enif_make_list(env, 0);
	/*
	 * In the word of a list or tuple, the third bit from below is a part of
	 * the address. So only the two lowest bits are compared.
	 */
	for (low = 0; low <= GUESS_BITS; low++) {
		if (low == (one & GUESS_BITS))
			guesses[low] = GUESS_INT;
		else if ((low & 3) == (enif_make_list1(env, one) & 3))
			guesses[low] = GUESS_LIST;
		else if ((low & 3) == (enif_make_tuple1(env, one) & 3))
			guesses[low] = GUESS_TUPLE;
	}
}

bool inv_encode_tuple(struct inv_encoder *e, uint32_t arity)
{
	if (arity < 16)
		return inv_put_byte(e, (uint8_t)(INV_T_TUPLE_SMALL + arity));
	return inv_put_code(e, INV_T_TUPLE, arity);
}

bool inv_encode_hole(struct inv_encoder *e)
{
	bool was = e->cut; /* e->cut must not change: it is only for terms that
			      are too large, and this HOLE has another reason */
	bool ok = inv_scalar_missing(e, INV_T_HOLE, INV_CUT_OTHER, 0);

	e->cut = was;
	return ok;
}

/*
 * If the packet has defined the term, writes the term's dictionary number to p,
 * and returns a pointer to the byte after the number; otherwise returns NULL.
 * p must have space for KNOWN_MAX bytes. The type of the term is not checked:
 * only atoms, and pids and ports of this node, are defined, and no other term
 * has the same word.
 */
#define KNOWN_MAX (1 + INV_VARINT_MAX)

static inline uint8_t *put_known(const struct inv_packet_dict *dict, uint8_t *p,
				 ERL_NIF_TERM term)
{
	uint32_t number;

	if (!inv_packet_dict_find(dict, term, &number))
		return NULL;
	if (inv_likely(number < 64)) {
		*p++ = (uint8_t)(INV_T_DICT_SMALL + number);
		return p;
	}
	*p++ = INV_T_DICT;
	return inv_varint_put(p, number);
}

/*
 * Counts the cells of the rest of a list, but visits at most e->looks cells.
 * The result says whether *n is exact.
 */
static enum inv_cut count_cells(struct inv_encoder *e, ERL_NIF_TERM list,
				uint32_t *n)
{
	ERL_NIF_TERM head;
	ERL_NIF_TERM tail = list;

	for (*n = 0; e->looks > 0; (*n)++, e->looks--)
		if (!enif_get_list_cell(e->env, tail, &head, &tail))
			return tail == nil ? INV_CUT_LIST : INV_CUT_LIST_MIN;
	return INV_CUT_LIST_MIN;
}

static INV_COLD bool put_hole_list(struct inv_encoder *e, ERL_NIF_TERM list)
{
	uint32_t n;
	enum inv_cut kind = count_cells(e, list, &n);

	return inv_scalar_missing(e, INV_T_HOLE, kind, n);
}

/*
 * Writes the head of a string, and moves the string's n bytes behind the head.
 * The n bytes are already in the packet, at the address `bytes' above p. `rest'
 * is the part of the list that did not fit into the budget, or 0.
 */
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
	kind = count_cells(e, rest, &more);
	e->cut = true;
	return inv_put_code(e, INV_T_STRING_CUT, n) &&
	       inv_put_moved(e, bytes, n) && inv_put_byte(e, (uint8_t)kind) &&
	       inv_put_varint(e, more);
}

/*
 * Writes a list of integers 0..255 as a string, with one byte for each element.
 * If an element is something else, sets *is_string to false and writes nothing.
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
		if (n >= e->looks || !inv_small_get(head, &byte))
			goto no_string;
		if (n >= budget) {
			*is_string = true;
			return finish_string(e, start, n, cell);
		}
		if (room < 3 * INV_VARINT_MAX || n >= room - 3 * INV_VARINT_MAX)
			return false;
		start[n++] = (uint8_t)byte;
		cell = tail;
	}
	if (cell != nil)
		goto no_string;
	*is_string = true;
	return finish_string(e, start, n, 0);

no_string: /* The encoder has visited n cells, so it may visit fewer cells of
	      the lists inside this list. */
	e->looks -= n;
	return true;
}

static bool put_other(struct inv_encoder *e, ERL_NIF_TERM term, uint32_t depth);

/*
 * LEVEL marks a function that writes one container. Such a function is not
 * inlined, so each level of nesting takes one frame on the stack. The code that
 * writes other elements is INLINED into these functions.
 */
#define LEVEL __attribute__((noinline))
#define INLINED static inline __attribute__((always_inline))

/* Writes a term that is not a pointer as a kept term. There must be space for
 * KNOWN_MAX bytes at e->p. */
static inline bool put_kept(struct inv_encoder *e, ERL_NIF_TERM term)
{
	if (inv_unlikely(term == nil)) {
		*e->p++ = INV_T_NIL;
		return true;
	}
	return inv_put_word(e, term);
}

/* Writes one term at p. `depth' containers are around it. */
INLINED bool put_term(struct inv_encoder *e, ERL_NIF_TERM term, uint32_t depth)
{
	uint8_t *next;

	if (guesses[term & GUESS_BITS] == GUESS_NOTHING &&
	    (size_t)(e->top - e->p) >= KNOWN_MAX) {
		/* The term is not a pointer, so its word is the whole term. */
		if (inv_unlikely(e->dict == NULL))
			return put_kept(e, term);
		next = put_known(e->dict, e->p, term);
		if (inv_likely(next != NULL)) {
			e->p = next;
			return true;
		}
	}
	return put_other(e, term, depth);
}

/* Returns true if the budget of the current term is used up. */
static inline bool is_spent(const struct inv_encoder *e)
{
	return e->p >= e->limit;
}

static INV_COLD bool cut_list(struct inv_encoder *e, ERL_NIF_TERM tail)
{
	enum inv_cut kind;
	uint32_t n;

	kind = count_cells(e, tail, &n);
	return inv_scalar_missing(e, INV_T_CUT, kind, n);
}

/* Writes an element of a container. `ruled' is true if the container also has a
 * stack trace with a function that has a rule: the element may then be the
 * reason of an exception. */
INLINED bool put_beside(struct inv_encoder *e, ERL_NIF_TERM term,
			uint32_t depth, bool ruled)
{
	if (inv_unlikely(ruled) && !inv_redact_has_stack(e, term))
		return inv_redact_reason(e, term, depth);
	return put_term(e, term, depth);
}

/* Writes the tail of an improper list, whose last element is `last'. If `last'
 * is a key whose values are redacted, as in [Key | Value], the tail is
 * redacted. */
INLINED bool put_tail(struct inv_encoder *e, ERL_NIF_TERM last,
		      ERL_NIF_TERM tail, uint32_t depth, bool ruled)
{
	if (!inv_put_byte(e, INV_T_TAIL))
		return false;
	if (e->redaction != NULL &&
	    (inv_redact_is_key(e, last) || inv_redact_is_again(e, tail)))
		return inv_redact_mark(e, tail);
	return put_beside(e, tail, depth, ruled);
}

/* Writes a list to which redaction rules for functions can apply, or which is
 * in the result of a match spec. */
LEVEL static bool put_list_redacted(struct inv_encoder *e, ERL_NIF_TERM list,
				    uint32_t depth)
{
	ERL_NIF_TERM before[2] = { 0, 0 };
	bool is_string = false;
	ERL_NIF_TERM head;
	bool ruled;

	if (!try_string(e, list, &is_string))
		return false;
	if (is_string)
		return true;
	if (depth >= e->max_depth)
		return put_hole_list(e, list);
	if (!inv_put_byte(e, INV_T_LIST))
		return false;
	ruled = inv_redact_list(e, list);
	while (list != nil) {
		if (is_spent(e))
			return cut_list(e, list);
		if (!enif_get_list_cell(e->env, list, &head, &list))
			return put_tail(e, before[1], list, depth + 1, ruled);
		if (!(inv_redact_passed(e, before, head) ?
			      inv_redact_mark(e, head) :
			      put_beside(e, head, depth + 1, ruled)))
			return false;
		before[0] = before[1];
		before[1] = head;
	}
	return inv_put_byte(e, INV_T_END);
}

/* Writes a list. `head' and `tail' are those of its first cell. */
LEVEL static bool put_plain_list(struct inv_encoder *e, ERL_NIF_TERM list,
				 ERL_NIF_TERM head, ERL_NIF_TERM tail,
				 uint32_t depth)
{
	bool is_string = false;

	if (guesses[head & GUESS_BITS] == GUESS_INT &&
	    !try_string(e, list, &is_string))
		return false;
	if (is_string)
		return true;
	if (inv_unlikely(depth >= e->max_depth))
		return put_hole_list(e, list);
	if (!inv_put_byte(e, INV_T_LIST))
		return false;
	if (inv_unlikely(is_spent(e)))
		return cut_list(e, list);
	while (put_term(e, head, depth + 1)) {
		if (tail == nil)
			return inv_put_byte(e, INV_T_END);
		if (inv_unlikely(is_spent(e)))
			return cut_list(e, tail);
		if (!enif_get_list_cell(e->env, tail, &head, &tail))
			return put_tail(e, head, tail, depth + 1, false);
	}
	return false;
}

static inline bool put_list(struct inv_encoder *e, ERL_NIF_TERM list,
			    ERL_NIF_TERM head, ERL_NIF_TERM tail,
			    uint32_t depth)
{
	if (inv_unlikely(e->redaction != NULL) &&
	    (e->redaction->rules.n_functions > 0 || e->in_result))
		return put_list_redacted(e, list, depth);
	return put_plain_list(e, list, head, tail, depth);
}

/* Like put_tuple, but applies the rules of redaction. */
LEVEL static bool put_tuple_redacted(struct inv_encoder *e,
				     const ERL_NIF_TERM *elements,
				     uint32_t arity, uint32_t depth)
{
	ERL_NIF_TERM before[2] = { 0, 0 };
	struct inv_redact_tuple t;
	uint32_t i;
	bool ok;

	inv_redact_tuple(e, elements, arity, &t);
	if (!inv_encode_tuple(e, arity))
		return false;
	for (i = 0; i < arity; i++) {
		if (is_spent(e))
			return inv_scalar_missing(e, INV_T_CUT, INV_CUT_TUPLE,
						  arity - i);
		if (inv_unlikely(inv_redact_has(t.hidden, i)) ||
		    inv_redact_passed(e, before, elements[i]))
			ok = inv_redact_mark(e, elements[i]);
		else if (inv_unlikely(t.reason) && i + 1 < arity &&
			 !(i == 0 && enif_is_atom(e->env, elements[0])))
			ok = inv_redact_reason(e, elements[i], depth + 1);
		else
			ok = put_term(e, elements[i], depth + 1);
		if (!ok)
			return false;
		before[0] = before[1];
		before[1] = elements[i];
	}
	return true;
}

LEVEL static bool put_tuple(struct inv_encoder *e, const ERL_NIF_TERM *elements,
			    uint32_t arity, uint32_t depth)
{
	uint32_t i;

	if (inv_unlikely(arity > 0 && depth >= e->max_depth))
		return inv_scalar_missing(e, INV_T_HOLE, INV_CUT_TUPLE, arity);
	if (inv_unlikely(e->redaction != NULL))
		return put_tuple_redacted(e, elements, arity, depth);
	if (!inv_encode_tuple(e, arity))
		return false;
	for (i = 0; i < arity; i++) {
		if (inv_unlikely(is_spent(e)))
			return inv_scalar_missing(e, INV_T_CUT, INV_CUT_TUPLE,
						  arity - i);
		if (!put_term(e, elements[i], depth + 1))
			return false;
	}
	return true;
}

/* Writes n pairs of a map. Writes a CUT in place of the pairs that do not fit
 * into the budget. */
static bool put_pairs(struct inv_encoder *e, ErlNifMapIterator *iter, size_t n,
		      uint32_t depth, bool ruled)
{
	ERL_NIF_TERM value;
	ERL_NIF_TERM key;

	for (; n > 0; n--) {
		if (is_spent(e) ||
		    !enif_map_iterator_get_pair(e->env, iter, &key, &value))
			return inv_scalar_missing(e, INV_T_CUT, INV_CUT_MAP, n);
		enif_map_iterator_next(e->env, iter);
		if (!put_term(e, key, depth + 1))
			return false;
		if (is_spent(e)) {
			if (!inv_scalar_missing(e, INV_T_HOLE, INV_CUT_OTHER,
						0))
				return false;
		} else if (inv_unlikely(e->redaction != NULL) &&
			   (inv_redact_is_key(e, key) ||
			    inv_redact_is_again(e, value))) {
			if (!inv_redact_mark(e, value))
				return false;
		} else if (!put_beside(e, value, depth + 1, ruled)) {
			return false;
		}
	}
	return true;
}

LEVEL static bool put_map(struct inv_encoder *e, ERL_NIF_TERM map,
			  uint32_t depth)
{
	ErlNifMapIterator iter;
	size_t n = 0;
	bool ruled;
	bool ok;

	enif_get_map_size(e->env, map, &n);
	if (n > 0 && depth >= e->max_depth)
		return inv_scalar_missing(e, INV_T_HOLE, INV_CUT_MAP, n);
	if (!inv_put_code(e, INV_T_MAP, n))
		return false;
	if (n == 0)
		return true;
	ruled = inv_unlikely(e->redaction != NULL) && inv_redact_map(e, map);
	if (!enif_map_iterator_create(e->env, map, &iter,
				      ERL_NIF_MAP_ITERATOR_FIRST))
		return inv_scalar_missing(e, INV_T_CUT, INV_CUT_MAP, n);
	ok = put_pairs(e, &iter, n, depth, ruled);
	enif_map_iterator_destroy(e->env, &iter);
	return ok;
}

/* Writes the term if it is a binary; otherwise sets *is_binary to false. It is
 * not inlined, so that the frames of containers do not have `bin'. */
static __attribute__((noinline)) bool try_binary(struct inv_encoder *e,
						 ERL_NIF_TERM term,
						 bool *is_binary)
{
	ErlNifBinary bin;

	*is_binary = enif_inspect_binary(e->env, term, &bin);
	return !*is_binary || inv_scalar_binary(e, bin.data, bin.size);
}

static bool put_bitstring(struct inv_encoder *e, ERL_NIF_TERM term)
{
	bool is_binary;
	bool ok = try_binary(e, term, &is_binary);

	return is_binary ? ok : inv_scalar_bits(e, term);
}

static bool put_by_type(struct inv_encoder *e, ERL_NIF_TERM term,
			uint32_t depth)
{
	const ERL_NIF_TERM *elements;
	ERL_NIF_TERM head;
	ERL_NIF_TERM tail;
	int arity;

	switch (enif_term_type(e->env, term)) {
	case ERL_NIF_TERM_TYPE_BITSTRING:
		return put_bitstring(e, term);
	case ERL_NIF_TERM_TYPE_MAP:
		return put_map(e, term, depth);
	case ERL_NIF_TERM_TYPE_ATOM:
		return inv_ident_atom(e, term);
	case ERL_NIF_TERM_TYPE_PID:
		return inv_ident_pid(e, term);
	case ERL_NIF_TERM_TYPE_REFERENCE:
		return inv_ident_ref(e, term);
	case ERL_NIF_TERM_TYPE_PORT:
		return inv_ident_port(e, term);
	case ERL_NIF_TERM_TYPE_INTEGER:
		return inv_scalar_integer(e, term);
	case ERL_NIF_TERM_TYPE_FLOAT:
		return inv_scalar_float(e, term);
	case ERL_NIF_TERM_TYPE_FUN:
		return inv_ident_fun(e, term);
	case ERL_NIF_TERM_TYPE_TUPLE: /* the guess of the type was wrong, here
					 and in the next case */
		enif_get_tuple(e->env, term, &arity, &elements);
		return put_tuple(e, elements, (uint32_t)arity, depth);
	case ERL_NIF_TERM_TYPE_LIST:
		if (!enif_get_list_cell(e->env, term, &head, &tail))
			return inv_put_byte(e, INV_T_NIL);
		return put_list(e, term, head, tail, depth);
	default:
		return inv_encode_hole(e);
	}
}

/* Writes a term that is a pointer, or that the packet has not defined. */
static bool put_other(struct inv_encoder *e, ERL_NIF_TERM term, uint32_t depth)
{
	const ERL_NIF_TERM *elements;
	ERL_NIF_TERM head;
	ERL_NIF_TERM tail;
	ErlNifSInt64 i;
	unsigned small;
	bool is_binary;
	int arity;
	bool ok;

	switch (guesses[term & GUESS_BITS]) {
	case GUESS_TUPLE:
		if (enif_get_tuple(e->env, term, &arity, &elements))
			return put_tuple(e, elements, (uint32_t)arity, depth);
		ok = try_binary(e, term, &is_binary);
		if (is_binary)
			return ok;
		break;
	case GUESS_LIST:
		if (enif_get_list_cell(e->env, term, &head, &tail))
			return put_list(e, term, head, tail, depth);
		break;
	case GUESS_INT:
		if (inv_small_get(term, &small))
			return inv_put_int(e, small);
		if (enif_get_int64(e->env, term, &i))
			return inv_put_int(e, i);
		break;
	default:
		if (term == nil)
			return inv_put_byte(e, INV_T_NIL);
		break;
	}
	return put_by_type(e, term, depth);
}

static inline void begin_term(struct inv_encoder *e)
{
	e->limit = e->p + e->max_bytes;
	e->binary_left = e->more_binary;
	e->looks = e->max_bytes > LOOKS_MIN ? e->max_bytes : LOOKS_MIN;
	e->checks = CHECKS_OF_LOOK * e->looks;
}

/* Writes a whole term. If the rules redact all data, writes only its shape
 * (nif/redact.h). */
static inline bool put_whole(struct inv_encoder *e, ERL_NIF_TERM term,
			     uint32_t depth)
{
	if (inv_unlikely(e->redaction != NULL) && e->redaction->rules.all)
		return inv_redact_shape(e, term, depth);
	return put_term(e, term, depth);
}

bool inv_encode_term(struct inv_encoder *e, ERL_NIF_TERM term)
{
	begin_term(e);
	return put_whole(e, term, 0);
}

bool inv_encode_result(struct inv_encoder *e, ERL_NIF_TERM value)
{
	bool ok;

	begin_term(e);
	/* The encoder does not remember all redacted values, so each part of
	 * the result could be one of them, also a tag or a pid. */
	if (inv_unlikely(e->n_marked > INV_ENCODE_MARKED))
		return inv_redact_mark(e, value);
	e->in_result = e->n_marked > 0;
	ok = inv_redact_is_again(e, value) ? inv_redact_mark(e, value) :
					     put_whole(e, value, 0);
	e->in_result = false;
	return ok;
}

bool inv_encode_plain(struct inv_encoder *e, ERL_NIF_TERM term)
{
	struct inv_redaction *redaction = e->redaction;
	bool ok;

	e->redaction = NULL;
	begin_term(e);
	ok = put_term(e, term, 0);
	e->redaction = redaction;
	return ok;
}

bool inv_encode_shape(struct inv_encoder *e, ERL_NIF_TERM term)
{
	begin_term(e);
	return inv_redact_reason(e, term, 0);
}

/* --- functions ------------------------------------------------------------ */

/* How many arguments are collected before they are written. If a list has more
 * arguments, the cells of the further arguments are visited twice. */
#define ARGS 8u
#define ARITY_MAX 255u

struct args {
	unsigned arity;
	unsigned n; /* the number of arguments in v */
	ERL_NIF_TERM v[ARGS];
	ERL_NIF_TERM rest; /* the list after v */
};

/* Reads the arguments in `list'. Returns false if it is not a list of at most
 * 255 elements. Visits at most 256 cells. */
static bool get_args(const struct inv_encoder *e, ERL_NIF_TERM list,
		     struct args *a)
{
	ERL_NIF_TERM rest;
	ERL_NIF_TERM head;

	a->n = 0;
	a->rest = list;
	while (a->n < ARGS && a->rest != nil &&
	       enif_get_list_cell(e->env, a->rest, &a->v[a->n], &a->rest))
		a->n++;
	a->arity = a->n;
	rest = a->rest;
	while (inv_unlikely(rest != nil) && a->arity <= ARITY_MAX &&
	       enif_get_list_cell(e->env, rest, &head, &rest))
		a->arity++;
	return rest == nil && a->arity <= ARITY_MAX;
}

/*
 * Sets *number to the function's dictionary number, and defines the function if
 * necessary. If module or function is not an atom, sets *is_mfa to false.
 * Returns false if a definition does not fit.
 */
static inline bool know_function(struct inv_encoder *e, const ERL_NIF_TERM *mfa,
				 uint32_t arity, uint32_t *number, bool *is_mfa)
{
	const struct inv_known_function *known =
		inv_packet_dict_function(e->dict, mfa[0], mfa[1], arity);

	*is_mfa = true;
	*number = known->number;
	if (inv_likely(known->module == mfa[0] && known->function == mfa[1] &&
		       known->arity == arity))
		return true;
	*is_mfa = enif_is_atom(e->env, mfa[0]) && enif_is_atom(e->env, mfa[1]);
	return !*is_mfa || inv_ident_function(e, mfa[0], mfa[1], arity, number);
}

static inline bool put_argument(struct inv_encoder *e, ERL_NIF_TERM term,
				unsigned left, bool *cut)
{
	*cut = is_spent(e);
	if (inv_unlikely(*cut))
		return inv_scalar_missing(e, INV_T_CUT, INV_CUT_LIST, left);
	return put_term(e, term, 2);
}

/* Like put_args, but applies the rules of redaction. */
LEVEL static bool put_args_redacted(struct inv_encoder *e, ERL_NIF_TERM args,
				    unsigned arity, inv_redact_set hidden)
{
	ERL_NIF_TERM before[2] = { 0, 0 };
	ERL_NIF_TERM head;
	unsigned i;

	for (i = 0; i < arity; i++) {
		if (is_spent(e))
			return inv_scalar_missing(e, INV_T_CUT, INV_CUT_LIST,
						  arity - i);
		if (!enif_get_list_cell(e->env, args, &head, &args))
			return false;
		if (!(inv_redact_has(hidden, i) ||
				      inv_redact_passed(e, before, head) ?
			      inv_redact_mark(e, head) :
			      put_whole(e, head, 2)))
			return false;
		before[0] = before[1];
		before[1] = head;
	}
	return true;
}

LEVEL static bool put_args(struct inv_encoder *e, const struct args *a)
{
	ERL_NIF_TERM cell = a->rest;
	ERL_NIF_TERM head;
	bool cut = false;
	unsigned i;

	for (i = 0; i < a->n && !cut; i++)
		if (!put_argument(e, a->v[i], a->arity - i, &cut))
			return false;
	for (; i < a->arity && !cut; i++)
		if (!enif_get_list_cell(e->env, cell, &head, &cell) ||
		    !put_argument(e, head, a->arity - i, &cut))
			return false;
	return true;
}

static inline bool put_apply(struct inv_encoder *e, uint32_t number)
{
	if (number < 32)
		return inv_put_byte(e, (uint8_t)(INV_T_APPLY_SMALL + number));
	return inv_put_code(e, INV_T_APPLY, number);
}

bool inv_encode_called(struct inv_encoder *e, ERL_NIF_TERM module,
		       ERL_NIF_TERM function, uint32_t arity, bool with_args)
{
	const ERL_NIF_TERM mfa[] = { module, function };
	uint32_t number;
	bool is_mfa;

	if (!know_function(e, mfa, arity, &number, &is_mfa))
		return false;
	return with_args ? put_apply(e, number) : inv_put_entry(e, number);
}

/* Like put_args, for the list `args', whose length is `arity'. */
LEVEL static bool put_list_of_args(struct inv_encoder *e, ERL_NIF_TERM args,
				   unsigned arity)
{
	ERL_NIF_TERM head;
	bool cut = false;

	for (; arity > 0 && !cut; arity--)
		if (!enif_get_list_cell(e->env, args, &head, &args) ||
		    !put_argument(e, head, arity, &cut))
			return false;
	return true;
}

bool inv_encode_args(struct inv_encoder *e, ERL_NIF_TERM mfa, ERL_NIF_TERM args,
		     unsigned arity, bool *has_args)
{
	struct inv_redact_call call;
	const ERL_NIF_TERM *elements;
	int n;

	*has_args = guesses[args & GUESS_BITS] != GUESS_INT &&
		    arity <= ARITY_MAX;
	if (*has_args && inv_unlikely(e->max_depth < 2)) {
		e->cut = true;
		*has_args = false;
	}
	if (!*has_args)
		return true;
	begin_term(e);
	if (inv_likely(e->redaction == NULL))
		return put_list_of_args(e, args, arity);
	enif_get_tuple(e->env, mfa, &n, &elements);
	inv_redact_mfa(e, elements[0], elements[1], arity, &call);
	return put_args_redacted(e, args, arity, call.args);
}

/* Writes {M, F, Args} or {M, F, Arity}. If the tuple is neither, or max_depth
 * is too small for the arguments, sets *is_mfa to false and writes nothing. */
static bool put_mfa(struct inv_encoder *e, const ERL_NIF_TERM *mfa,
		    bool with_args, bool *is_mfa)
{
	struct args a = { .arity = 0 };
	struct inv_redact_call call;
	uint32_t number;

	*is_mfa = false;
	if (guesses[mfa[2] & GUESS_BITS] == GUESS_INT) {
		with_args = false;
		if (!inv_small_get(mfa[2], &a.arity))
			return true;
	} else if ((with_args && e->max_depth < 2) ||
		   !get_args(e, mfa[2], &a)) {
		return true;
	}
	if (!know_function(e, mfa, a.arity, &number, is_mfa))
		return false;
	if (!*is_mfa)
		return true;
	if (with_args && inv_unlikely(e->redaction != NULL)) {
		inv_redact_mfa(e, mfa[0], mfa[1], a.arity, &call);
		return put_apply(e, number) &&
		       put_args_redacted(e, mfa[2], a.arity, call.args);
	}
	if (with_args)
		return put_apply(e, number) && put_args(e, &a);
	return inv_put_entry(e, number);
}

/* Writes {M, F, Args} with a HOLE in place of the arguments, if put_mfa has set
 * *is_mfa to false. */
static INV_COLD bool put_without_args(struct inv_encoder *e,
				      const ERL_NIF_TERM *mfa)
{
	return inv_encode_tuple(e, 3) && put_term(e, mfa[0], 1) &&
	       put_term(e, mfa[1], 1) && put_hole_list(e, mfa[2]);
}

bool inv_encode_function(struct inv_encoder *e, ERL_NIF_TERM term,
			 bool with_args)
{
	const ERL_NIF_TERM *mfa;
	bool is_mfa;
	int arity;

	if (inv_unlikely(!enif_get_tuple(e->env, term, &arity, &mfa) ||
			 arity != 3))
		return inv_encode_term(e, term);
	begin_term(e);
	if (!put_mfa(e, mfa, with_args, &is_mfa))
		return false;
	if (inv_likely(is_mfa))
		return true;
	if (!with_args && enif_is_list(e->env, mfa[2]))
		return put_without_args(e, mfa);
	return put_whole(e, term, 0);
}
