/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_TREE_H
#define INV_TERM_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "term/cursor.h"

/*
 * Terms that can be taken apart: one word each, which either is the term or
 * points to what it is made of.
 *
 *	low bits   the word
 *	000        points to a box: a head, then what enum inv_box says
 *	001        an integer of 61 bits
 *	010        points to the two words of a list cell, head and tail
 *	011        the empty list
 *
 * A box begins with a word of its kind (8 bits), flags (8 bits) and a number n
 * (48 bits).  Words point anywhere: terms of several heaps can be mixed, each
 * as long as its heap, and the bytes of atoms and binaries, are where they
 * were.  Terms are never changed once they are made.
 */
typedef uint64_t inv_word;

enum inv_box {
	INV_BOX_ATOM = 1, /* n bytes; [1] where they are: UTF-8 */
	INV_BOX_INT,	  /* [1] an integer of 64 bits that 61 do not hold */
	INV_BOX_BIG,	  /* n limbs of 64 bits, the least significant first,
			     none too many; never one that fits in 64 bits */
	INV_BOX_FLOAT,	  /* [1] a double */
	INV_BOX_TUPLE,	  /* [1..n] elements */
	INV_BOX_MAP,	  /* n pairs: [1] key, [2] value, ..., in the order of
			     their keys */
	INV_BOX_BITS,	  /* n bits; [1] where they are, [2] the bit that they
			     begin at, 0..7 */
	INV_BOX_PID,	  /* [1] node's number, [2] its name, [3] the name's
			     length, [4] creation, [5] number, [6] serial */
	INV_BOX_PORT,	  /* as PID; [5] number */
	INV_BOX_REF,	  /* as PID, n numbers from [5] on */
	INV_BOX_EXPORT,	  /* arity n, [1] module, [2] function */
	INV_BOX_FUN,	  /* arity n; [1] module, [2] index, [3] uniq,
			     [4] the external term, [5] its length */
	INV_BOX_TEXT,	  /* n bytes, [1] where they are: a fun, as it prints */
	INV_BOX_HOLE,	  /* n: enum inv_cut of a term that was not recorded;
			     [1] how much is missing */
};

enum inv_box_flag {
	INV_BOX_NEGATIVE = 1, /* BIG */
	INV_BOX_PARTIAL = 2,  /* MAP: some pairs were not recorded */
};

#define INV_NIL ((inv_word)3)

/* Containers within containers; the cells of one list count as one. */
#define INV_TREE_DEPTH 1000u
/* Bytes of the magnitude of an integer. */
#define INV_TREE_BIG_MAX 8192u

/*
 * Memory for terms: cap words at w, of which used are in use.  It belongs to
 * the caller, and does not grow.  `node` is the name of the node that the terms
 * are of: its pids, ports and references are then known as local ones however
 * they are written.  NULL: not known.
 */
struct inv_heap {
	inv_word *w;
	size_t cap;
	size_t used;
	const char *node;
	size_t node_len;
};

/* n words, or NULL when there are not so many. */
static inline inv_word *inv_heap_take(struct inv_heap *h, size_t n)
{
	inv_word *w = h->w + h->used;

	if (n > h->cap - h->used)
		return NULL;
	h->used += n;
	return w;
}

static inline bool inv_is_box(inv_word t)
{
	return (t & 7) == 0;
}

static inline bool inv_is_cons(inv_word t)
{
	return (t & 7) == 2;
}

static inline bool inv_is_small(inv_word t)
{
	return (t & 7) == 1;
}

static inline const inv_word *inv_box(inv_word t)
{
	return (const inv_word *)(uintptr_t)t;
}

/* Head and tail. */
static inline const inv_word *inv_cons(inv_word t)
{
	return (const inv_word *)(uintptr_t)(t - 2);
}

static inline int64_t inv_small(inv_word t)
{
	return (int64_t)t >> 3;
}

static inline unsigned inv_box_kind(const inv_word *b)
{
	return b[0] & 0xff;
}

static inline bool inv_box_has(const inv_word *b, unsigned flag)
{
	return (b[0] >> 8) & flag;
}

static inline uint64_t inv_box_n(const inv_word *b)
{
	return b[0] >> 16;
}

static inline inv_word inv_box_head(unsigned kind, unsigned flags, uint64_t n)
{
	return kind | flags << 8 | n << 16;
}

static inline const void *inv_box_ptr(const inv_word *b, unsigned i)
{
	return (const void *)(uintptr_t)b[i];
}

/* The box, when it is one of that kind, or NULL. */
static inline const inv_word *inv_box_of(inv_word t, unsigned kind)
{
	const inv_word *b;

	if (!inv_is_box(t))
		return NULL;
	b = inv_box(t);
	return inv_box_kind(b) == kind ? b : NULL;
}

/* An integer of up to 64 bits. */
static inline bool inv_word_i64(inv_word t, int64_t *i)
{
	const inv_word *b;

	if (inv_is_small(t)) {
		*i = inv_small(t);
		return true;
	}
	b = inv_box_of(t, INV_BOX_INT);
	if (!b)
		return false;
	*i = (int64_t)b[1];
	return true;
}

/* Whether t is the atom of that name. */
bool inv_word_is(inv_word t, const char *name);

/*
 * Makers.  0, which is no term, when the heap is full.  Bytes are borrowed.
 */
inv_word inv_make_int(struct inv_heap *h, int64_t i);
inv_word inv_make_float(struct inv_heap *h, double f);
inv_word inv_make_atom(struct inv_heap *h, const void *name, size_t len);
inv_word inv_make_cons(struct inv_heap *h, inv_word head, inv_word tail);
inv_word inv_make_bits(struct inv_heap *h, const uint8_t *p, unsigned bit,
		       uint64_t n_bits);
/* Of n limbs, some of which may be 0; an integer of any size. */
inv_word inv_make_big(struct inv_heap *h, bool negative, const uint64_t *limbs,
		      size_t n);
/* A tuple of n elements, yet to be written from [1] on. */
inv_word *inv_make_tuple(struct inv_heap *h, size_t n);
/*
 * Makes a map of the n pairs that were written to *b, a box of 1 + 2n words,
 * from [1] on: puts them in order.  Of keys that are there twice the first pair
 * counts.  Errors as inv_tree_cmp.
 */
int inv_make_map(inv_word *b, size_t n, unsigned flags, inv_word *map);

/*
 * Reads the next term of c into h.  What was not recorded becomes a HOLE: an
 * element, the rest of a list; and a map is marked PARTIAL.  Atoms and binaries
 * point into the cursor's bytes, but for what the cursor had to convert.
 *
 * 0; INV_END as inv_cursor_next; its errors; INV_ETOOBIG when h is full or an
 * integer too big; INV_EDEPTH; INV_EDAMAGED for a map with a key twice.
 */
int inv_tree_read(struct inv_heap *h, struct inv_cursor *c, inv_word *t);

/* The same for the term that tok, the token just taken, begins. */
int inv_tree_read_token(struct inv_heap *h, struct inv_cursor *c,
			const struct inv_token *tok, inv_word *t);

/* What inv_tree_cmp and inv_tree_eq heed. */
enum inv_cmp {
	INV_CMP_EXACT = 1, /* 1 and 1.0 differ, integers come first; as keys of
			      maps are compared, and by =:= */
	INV_CMP_ZEROS = 2, /* with EXACT: 0.0 and -0.0 differ */
};

/*
 * Erlang's order of terms: *r is negative, 0 or positive.
 *
 *	INV_EUNKNOWN  depends on what was not recorded, or on the insides of
 *	              two funs
 *	INV_EDEPTH    nested deeper than INV_TREE_DEPTH
 *
 * *steps is made less by what it took; when that is not enough: INV_ETOOBIG.
 */
int inv_tree_cmp(inv_word a, inv_word b, unsigned how, uint64_t *steps, int *r);
/* The same where only equality is asked for. */
int inv_tree_eq(inv_word a, inv_word b, unsigned how, uint64_t *steps,
		bool *equal);

/*
 * The value of a key; 0 in *value: it is not there.  Errors as inv_tree_cmp.
 */
int inv_tree_map_get(const inv_word *map, inv_word key, unsigned how,
		     uint64_t *steps, inv_word *value);

/*
 * Appends it in the external term format, with the leading 131.  INV_EUNKNOWN
 * for what was not recorded and for TEXT; INV_EDEPTH; INV_ENOMEM.  Pids, ports
 * and references of local terms are written as those of `node`, and of
 * `creation` where they have none.
 */
int inv_tree_etf(inv_word t, const char *node, uint32_t creation,
		 struct inv_buf *out);

#endif
