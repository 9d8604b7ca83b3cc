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
 * Terms in memory.  A term is one word of 64 bits: either the value itself, or
 * a pointer to the parts of the term.
 *
 *	low bits	the word
 *	000		points to a box (see enum inv_box)
 *	001		an integer of 61 bits
 *	010		points to the two words of a list cell, head and tail
 *	011		the empty list
 *
 * A box is an array of words. Its first word, the head, has the kind of the box
 * (8 bits), flags (8 bits) and a number n (48 bits). A term may contain terms
 * of other heaps. All these heaps, and the bytes of atoms and binaries, must
 * stay valid as long as the term is used. Terms are immutable.
 */
typedef uint64_t inv_word;

/* The kinds of boxes. [1] is the word after the head. */
enum inv_box {
	INV_BOX_ATOM = 1, /* n bytes; [1] pointer to the name, UTF-8 */
	INV_BOX_INT,	  /* [1] an integer of 62 to 64 bits */
	INV_BOX_BIG,	  /* n limbs of 64 bits, least significant first, no
			     leading zeros; never fits in 64 bits */
	INV_BOX_FLOAT,	  /* [1] a double */
	INV_BOX_TUPLE,	  /* [1..n] elements */
	INV_BOX_MAP,	  /* n pairs: [1] key, [2] value, ..., sorted by key */
	INV_BOX_BITS,	  /* n bits; [1] pointer to the bytes, [2] index of the
			     first bit, 0..7 */
	INV_BOX_PID,	  /* [1] number of its node (the X of <X.1.0>), [2]
			     pointer to the node's name, [3] length of the name,
			     [4] creation, [5] number, [6] serial */
	INV_BOX_PORT,	  /* [1] to [4] as for PID; [5] number */
	INV_BOX_REF,	  /* [1] to [4] as for PID; n numbers from [5] on */
	INV_BOX_EXPORT,	  /* arity n, [1] module, [2] function */
	INV_BOX_FUN,	  /* a local fun of arity n; [1] module, [2] index, [3]
			     uniq, [4] pointer to the fun in external format,
			     [5] length of that format */
	INV_BOX_TEXT,	  /* a fun of which only the VM's text is known: n
			     bytes, [1] pointer to the text */
	INV_BOX_HOLE,	  /* a term that was not recorded; n is an enum inv_cut;
			     [1] how much is missing */
};

enum inv_box_flag {
	INV_BOX_NEGATIVE = 1, /* BIG: less than 0 */
	INV_BOX_PARTIAL = 2,  /* MAP: some pairs were not recorded */
};

#define INV_NIL ((inv_word)3)

/* Maximum nesting of containers. A list of any length is one level. */
#define INV_TREE_DEPTH 1000u
/* Maximum size of an integer's magnitude, in bytes. */
#define INV_TREE_BIG_MAX 8192u

/*
 * Memory for terms: `cap' words at w, of which the first `used' are in use. The
 * caller owns the memory, which does not grow. `node' is the name of the node
 * on which the terms were recorded, or NULL if the name is unknown. Pids, ports
 * and references of this node are local.
 */
struct inv_heap {
	inv_word *w;
	size_t cap;
	size_t used;
	const char *node;
	size_t node_len;
};

/* Returns n words, or NULL if fewer than n words are left. */
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

/* Returns the two words of a list cell: head and tail. */
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

/* If t is a box of this kind, returns the box. Otherwise returns NULL. */
static inline const inv_word *inv_box_of(inv_word t, unsigned kind)
{
	const inv_word *b;

	if (!inv_is_box(t))
		return NULL;
	b = inv_box(t);
	return inv_box_kind(b) == kind ? b : NULL;
}

/* Sets *i and returns true if t is an integer that fits in 64 bits. */
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

/* Returns true if t is the atom `name'. */
bool inv_word_is(inv_word t, const char *name);

/*
 * These functions make terms. If the heap is full, they return 0, which is not
 * a term. They borrow the bytes of names and binaries.
 */
inv_word inv_make_int(struct inv_heap *h, int64_t i);
inv_word inv_make_float(struct inv_heap *h, double f);
inv_word inv_make_atom(struct inv_heap *h, const void *name, size_t len);
inv_word inv_make_cons(struct inv_heap *h, inv_word head, inv_word tail);
inv_word inv_make_bits(struct inv_heap *h, const uint8_t *p, unsigned bit,
		       uint64_t n_bits);
/* Makes an integer of any size from n limbs (digits of 64 bits), the least
 * significant limb first. The upper limbs may be 0. */
inv_word inv_make_big(struct inv_heap *h, bool negative, const uint64_t *limbs,
		      size_t n);
/* Makes a tuple. The caller writes its n elements from [1] on. */
inv_word *inv_make_tuple(struct inv_heap *h, size_t n);
/*
 * Makes a map in the box b of 1 + 2 * n words. The caller has written n pairs
 * to b, from [1] on. Sorts the pairs. If keys are equal, keeps only the last of
 * their pairs. Returns 0 or the errors of inv_tree_cmp.
 */
int inv_make_map(inv_word *b, size_t n, unsigned flags, inv_word *map);

/*
 * Reads the next term of c, and makes it in h. A term that was not recorded
 * becomes a HOLE. If the end of a list was not recorded, the list's tail is a
 * HOLE. If pairs of a map were not recorded, the map has the flag
 * INV_BOX_PARTIAL. Atoms and binaries point into the cursor's bytes, except
 * those that the cursor had to convert.
 *
 * Returns 0, INV_END, or an error of inv_cursor_next. Also returns INV_ETOOBIG
 * if h is full or an integer is too large; INV_EDEPTH if the term is nested too
 * deeply; and INV_EDAMAGED if a map has equal keys.
 */
int inv_tree_read(struct inv_heap *h, struct inv_cursor *c, inv_word *t);

/* Like inv_tree_read, for the term whose first token, tok, was just read. */
int inv_tree_read_token(struct inv_heap *h, struct inv_cursor *c,
			const struct inv_token *tok, inv_word *t);

/* Flags that say how inv_tree_cmp and inv_tree_eq compare. */
enum inv_cmp {
	INV_CMP_EXACT = 1, /* 1 and 1.0 differ, as for =:= and for keys of maps;
			      every integer is less than every float */
	INV_CMP_ZEROS = 2, /* together with EXACT: 0.0 and -0.0 differ */
};

/*
 * Compares a and b in Erlang's order of terms.  Sets *r to a negative number, 0
 * or a positive number.  Subtracts from *steps the number of steps that the
 * comparison took. Returns 0, or:
 *
 *	INV_EUNKNOWN	the result depends on parts that were not recorded, or
 *			on the contents of two funs
 *	INV_EDEPTH	a term is nested deeper than INV_TREE_DEPTH
 *	INV_ETOOBIG	the comparison needs more than *steps steps
 */
int inv_tree_cmp(inv_word a, inv_word b, unsigned how, uint64_t *steps, int *r);
/* Like inv_tree_cmp, but only for equality. */
int inv_tree_eq(inv_word a, inv_word b, unsigned how, uint64_t *steps,
		bool *equal);

/*
 * Sets *value to the value of the key, or to 0 if the map does not have the
 * key. Returns 0 or the errors of inv_tree_cmp.
 */
int inv_tree_map_get(const inv_word *map, inv_word key, unsigned how,
		     uint64_t *steps, inv_word *value);

/*
 * Appends t in the external term format, with the leading byte 131. Local pids,
 * ports and references get the node name `node' and, if they have no creation,
 * `creation'. Returns 0; INV_EUNKNOWN if t contains a fun of which only the
 * VM's text is known (INV_BOX_TEXT), or a part that was not recorded;
 * INV_EDEPTH; or INV_ENOMEM.
 */
int inv_tree_etf(inv_word t, const char *node, uint32_t creation,
		 struct inv_buf *out);

#endif
