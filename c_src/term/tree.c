/* SPDX-License-Identifier: Apache-2.0 */
#include "term/tree.h"

#include <string.h>

#define SMALL_MAX ((INT64_C(1) << 60) - 1)
#define SMALL_MIN (-(INT64_C(1) << 60))

bool inv_word_is(inv_word t, const char *name)
{
	const inv_word *b = inv_box_of(t, INV_BOX_ATOM);
	size_t n = strlen(name);

	return b && inv_box_n(b) == n && !memcmp(inv_box_ptr(b, 1), name, n);
}

/* --- making terms --------------------------------------------------------- */

static inv_word *new_box(struct inv_heap *h, size_t words, unsigned kind,
			 uint64_t n)
{
	inv_word *b = inv_heap_take(h, words);

	if (b)
		b[0] = inv_box_head(kind, 0, n);
	return b;
}

static inv_word as_word(const void *p)
{
	return (inv_word)(uintptr_t)p;
}

inv_word inv_make_int(struct inv_heap *h, int64_t i)
{
	inv_word *b;

	if (i >= SMALL_MIN && i <= SMALL_MAX)
		return (inv_word)i << 3 | 1;
	b = new_box(h, 2, INV_BOX_INT, 0);
	if (b)
		b[1] = (inv_word)i;
	return as_word(b);
}

inv_word inv_make_float(struct inv_heap *h, double f)
{
	inv_word *b = new_box(h, 2, INV_BOX_FLOAT, 0);

	if (b)
		memcpy(&b[1], &f, sizeof(f));
	return as_word(b);
}

inv_word inv_make_atom(struct inv_heap *h, const void *name, size_t len)
{
	inv_word *b = new_box(h, 2, INV_BOX_ATOM, len);

	if (b)
		b[1] = as_word(name);
	return as_word(b);
}

inv_word inv_make_cons(struct inv_heap *h, inv_word head, inv_word tail)
{
	inv_word *w = inv_heap_take(h, 2);

	if (!w)
		return 0;
	w[0] = head;
	w[1] = tail;
	return as_word(w) + 2;
}

inv_word inv_make_bits(struct inv_heap *h, const uint8_t *p, unsigned bit,
		       uint64_t n_bits)
{
	inv_word *b = new_box(h, 3, INV_BOX_BITS, n_bits);

	if (b) {
		b[1] = as_word(p + bit / 8);
		b[2] = bit % 8;
	}
	return as_word(b);
}

inv_word inv_make_big(struct inv_heap *h, bool negative, const uint64_t *limbs,
		      size_t n)
{
	inv_word *b;

	while (n > 0 && limbs[n - 1] == 0)
		n--;
	if (n == 0)
		return inv_make_int(h, 0);
	if (n == 1 && limbs[0] <= (uint64_t)INT64_MAX + negative)
		return inv_make_int(h,
				    (int64_t)(negative ? -limbs[0] : limbs[0]));
	b = inv_heap_take(h, n + 1);
	if (!b)
		return 0;
	b[0] = inv_box_head(INV_BOX_BIG, negative ? INV_BOX_NEGATIVE : 0, n);
	memcpy(b + 1, limbs, n * sizeof(*limbs));
	return as_word(b);
}

inv_word *inv_make_tuple(struct inv_heap *h, size_t n)
{
	return new_box(h, n + 1, INV_BOX_TUPLE, n);
}

/* --- maps: sorting pairs -------------------------------------------------- */

#define MAP_ORDER (INV_CMP_EXACT | INV_CMP_ZEROS)

struct pairs {
	inv_word *w; /* points to the first key */
	uint64_t steps;
	int error;
};

static bool less(struct pairs *p, size_t a, size_t b)
{
	int r = 0, rc = inv_tree_cmp(p->w[2 * a], p->w[2 * b], MAP_ORDER,
				     &p->steps, &r);

	if (rc)
		p->error = rc;
	return r < 0;
}

static void swap(struct pairs *p, size_t a, size_t b)
{
	inv_word pair[2];

	memcpy(pair, p->w + 2 * a, sizeof(pair));
	memcpy(p->w + 2 * a, p->w + 2 * b, sizeof(pair));
	memcpy(p->w + 2 * b, pair, sizeof(pair));
}

static bool in_order(struct pairs *p, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (!less(p, i - 1, i))
			return false;
	return true;
}

static void reverse(struct pairs *p, size_t lo, size_t hi)
{
	for (; lo + 1 < hi; lo++)
		swap(p, lo, --hi);
}

/* Exchanges the pairs lo to mid - 1 with the pairs mid to hi - 1. */
static void rotate(struct pairs *p, size_t lo, size_t mid, size_t hi)
{
	reverse(p, lo, mid);
	reverse(p, mid, hi);
	reverse(p, lo, hi);
}

/*
 * Returns the first of the pairs lo to hi - 1 whose key is greater than the key
 * of pair x. If `or_equal' is true, an equal key counts, too. Returns hi if
 * there is no such pair.
 */
static size_t bound(struct pairs *p, size_t lo, size_t hi, size_t x,
		    bool or_equal)
{
	while (lo < hi && !p->error) {
		size_t mid = lo + (hi - lo) / 2;

		if (or_equal ? less(p, mid, x) : !less(p, x, mid))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Merges the sorted pairs lo to mid - 1 with the sorted pairs mid to hi - 1.
 * Each level of recursion halves the longer of the two parts, so the recursion
 * is only as deep as the logarithm of hi - lo.
 */
static void merge(struct pairs *p, size_t lo, size_t mid, size_t hi)
{
	size_t i, j;

	if (lo == mid || mid == hi || !less(p, mid, mid - 1) || p->error)
		return;
	if (hi - lo == 2) {
		swap(p, lo, mid);
		return;
	}
	if (mid - lo > hi - mid) {
		i = lo + (mid - lo) / 2;
		j = bound(p, mid, hi, i, true);
	} else {
		j = mid + (hi - mid) / 2;
		i = bound(p, lo, mid, j, false);
	}
	rotate(p, i, mid, j);
	merge(p, lo, i, i + (j - mid));
	merge(p, i + (j - mid), j, hi);
}

/* A merge sort in place. It allocates no memory, is not slower for some inputs
 * than for others, and does not reorder pairs with equal keys. */
static void sort(struct pairs *p, size_t n)
{
	for (size_t run = 1; run < n && !p->error; run *= 2)
		for (size_t lo = 0; lo + run < n; lo += 2 * run)
			merge(p, lo, lo + run,
			      n - lo > 2 * run ? lo + 2 * run : n);
}

/* The pairs are sorted. If several have equal keys, keeps only the last of
 * them. Returns the number of remaining pairs. */
static size_t unique(struct pairs *p, size_t n)
{
	size_t i, kept = n > 0;

	for (i = 1; i < n && !p->error; i++) {
		kept += less(p, kept - 1, i);
		memmove(p->w + 2 * (kept - 1), p->w + 2 * i, 2 * sizeof(*p->w));
	}
	return kept;
}

int inv_make_map(inv_word *b, size_t n, unsigned flags, inv_word *map)
{
	struct pairs p = { .w = b + 1, .steps = UINT64_MAX };

	if (!in_order(&p, n) && !p.error) {
		sort(&p, n);
		n = unique(&p, n);
	}
	if (p.error)
		return p.error;
	b[0] = inv_box_head(INV_BOX_MAP, flags, n);
	*map = as_word(b);
	return 0;
}

int inv_tree_map_get(const inv_word *map, inv_word key, unsigned how,
		     uint64_t *steps, inv_word *value)
{
	size_t lo = 0, hi = inv_box_n(map), mid;
	int rc, r;

	*value = 0;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		rc = inv_tree_cmp(key, map[1 + 2 * mid], how | INV_CMP_EXACT,
				  steps, &r);
		if (rc)
			return rc;
		if (r == 0) {
			*value = map[2 + 2 * mid];
			return 0;
		}
		if (r < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return inv_box_has(map, INV_BOX_PARTIAL) ? INV_EUNKNOWN : 0;
}

/* --- reading -------------------------------------------------------------- */

enum frame_kind {
	FRAME_TUPLE,
	FRAME_MAP,
	FRAME_LIST
};

struct frame {
	inv_word *next; /* where to store the next element; for a LIST, where to
			   store the next cell */
	inv_word *box;	/* TUPLE, MAP: the box that is being filled */
	uint32_t n;	/* MAP: how many keys and values were read */
	uint8_t kind;
	bool partial;
};

struct reader {
	struct inv_heap *h;
	struct inv_cursor *c;
	const uint8_t *before; /* first byte of the current token; NULL:
				* unknown */
	inv_word root;
	uint32_t depth;
	struct frame stack[INV_TREE_DEPTH];
};

/* Makes sure that the next token does not overwrite the bytes at p. If p points
 * into the cursor's scratch memory, returns a copy of the bytes in the heap.
 * Otherwise returns p. */
static const uint8_t *keep(struct reader *r, const uint8_t *p, size_t len)
{
	const uint8_t *scratch = &r->c->scratch[0][0];
	inv_word *w;

	if (p < scratch || p >= scratch + sizeof(r->c->scratch))
		return p;
	w = inv_heap_take(r->h, (len + 7) / 8);
	if (w)
		memcpy(w, p, len);
	return (const uint8_t *)w;
}

static inv_word read_atom(struct reader *r, const uint8_t *p, size_t len)
{
	p = keep(r, p, len);
	return p ? inv_make_atom(r->h, p, len) : 0;
}

static inv_word read_big(struct reader *r, const struct inv_token *tok)
{
	uint64_t limbs[INV_TREE_BIG_MAX / 8];
	size_t i, len = tok->len;

	while (len > 0 && tok->bytes[len - 1] == 0)
		len--;
	if (len > INV_TREE_BIG_MAX)
		return 0;
	memset(limbs, 0, (len + 7) / 8 * 8);
	for (i = 0; i < len; i++)
		limbs[i / 8] |= (uint64_t)tok->bytes[i] << 8 * (i % 8);
	return inv_make_big(r->h, tok->negative, limbs, (len + 7) / 8);
}

static inv_word read_ids(struct reader *r, const struct inv_token *tok,
			 unsigned kind, unsigned n)
{
	const uint8_t *name = tok->bytes;
	size_t len = tok->len;
	inv_word *b;
	unsigned i;

	if (len > 0 && tok->node == 0 && r->h->node && len == r->h->node_len &&
	    !memcmp(name, r->h->node, len))
		len = 0; /* the identifier is local to the heap's node */
	name = keep(r, name, len);
	if (len > 0 && !name)
		return 0;
	b = new_box(r->h, 5 + n, kind, n);
	if (!b)
		return 0;
	b[1] = tok->node;
	b[2] = len > 0 ? as_word(name) : 0;
	b[3] = len;
	b[4] = tok->len > 0 ? tok->creation : 0;
	for (i = 0; i < n; i++)
		b[5 + i] = tok->id[i];
	return as_word(b);
}

static inv_word read_export(struct reader *r, const struct inv_token *tok)
{
	inv_word m = read_atom(r, tok->bytes, tok->len);
	inv_word f = read_atom(r, tok->bytes2, tok->len2);
	inv_word *b = new_box(r->h, 3, INV_BOX_EXPORT, tok->count);

	if (!m || !f || !b)
		return 0;
	b[1] = m;
	b[2] = f;
	return as_word(b);
}

/* The offset of the arity in a fun, which is after the tag and 4 bytes of
 * size. */
#define FUN_ARITY_AT 5

static inv_word read_fun(struct reader *r, const struct inv_token *tok)
{
	inv_word m = read_atom(r, tok->bytes, tok->len);
	const uint8_t *from = r->before;
	inv_word *b;

	if (from && *from == 131)
		from++;
	b = new_box(r->h, 6, INV_BOX_FUN, from ? from[FUN_ARITY_AT] : 256);
	if (!m || !b)
		return 0;
	b[1] = m;
	b[2] = tok->id[0];
	b[3] = tok->id[1];
	b[4] = as_word(from);
	b[5] = from ? (inv_word)(r->c->p - from) : 0;
	return as_word(b);
}

static inv_word make_hole(struct inv_heap *h, unsigned cut, uint64_t left)
{
	inv_word *b = new_box(h, 2, INV_BOX_HOLE, cut);

	if (b)
		b[1] = left;
	return as_word(b);
}

static inv_word read_text(struct reader *r, const struct inv_token *tok)
{
	inv_word *b = new_box(r->h, 2, INV_BOX_TEXT, tok->len);

	if (b)
		b[1] = as_word(tok->bytes);
	return as_word(b);
}

static inv_word read_binary(struct reader *r, const struct inv_token *tok)
{
	if (tok->cut)
		return make_hole(r->h, INV_CUT_BINARY, tok->left);
	return inv_make_bits(r->h, tok->bytes, 0,
			     tok->len == 0 ? 0 :
					     8 * (uint64_t)(tok->len - 1) +
						     tok->last_bits);
}

static inv_word read_string(struct reader *r, const struct inv_token *tok)
{
	inv_word *w = inv_heap_take(r->h, 2 * tok->len), last = INV_NIL;
	size_t i;

	if (!w)
		return 0;
	if (tok->cut)
		last = make_hole(r->h, tok->cut, tok->left);
	if (tok->len == 0 || !last)
		return last;
	for (i = 0; i < tok->len; i++) {
		w[2 * i] = (inv_word)tok->bytes[i] << 3 | 1;
		w[2 * i + 1] = as_word(w + 2 * i + 2) + 2;
	}
	w[2 * i - 1] = last;
	return as_word(w) + 2;
}

/* Makes a term without elements. Returns 0 if the heap is full. */
static inv_word read_simple(struct reader *r, const struct inv_token *tok)
{
	switch (tok->kind) {
	case INV_TOK_INT:
		return inv_make_int(r->h, tok->i);
	case INV_TOK_BIG:
		return read_big(r, tok);
	case INV_TOK_FLOAT:
		return inv_make_float(r->h, tok->f);
	case INV_TOK_ATOM:
		return read_atom(r, tok->bytes, tok->len);
	case INV_TOK_PID:
		return read_ids(r, tok, INV_BOX_PID, 2);
	case INV_TOK_PORT:
		return read_ids(r, tok, INV_BOX_PORT, 1);
	case INV_TOK_REF:
		return read_ids(r, tok, INV_BOX_REF, tok->n_ids);
	case INV_TOK_BINARY:
		return read_binary(r, tok);
	case INV_TOK_STRING:
		return read_string(r, tok);
	case INV_TOK_NIL:
		return INV_NIL;
	case INV_TOK_EXPORT:
		return read_export(r, tok);
	case INV_TOK_FUN:
		return read_fun(r, tok);
	case INV_TOK_TEXT:
		return read_text(r, tok);
	default: /* HOLE */
		return make_hole(r->h, tok->cut, tok->left);
	}
}

/* Returns the place in which to store the token's term, or NULL if the heap is
 * full. */
static inv_word *place(struct reader *r, const struct inv_token *tok)
{
	struct frame *f;
	inv_word *cell;

	if (r->depth == 0)
		return &r->root;
	f = &r->stack[r->depth - 1];
	f->n++;
	if (f->kind != FRAME_LIST)
		return f->next++;
	if (tok->sep == INV_SEP_BAR)
		return f->next;
	cell = inv_heap_take(r->h, 2);
	if (!cell)
		return NULL;
	*f->next = as_word(cell) + 2;
	cell[1] = INV_NIL;
	f->next = &cell[1];
	return cell;
}

static int open_container(struct reader *r, const struct inv_token *tok,
			  inv_word *to)
{
	struct frame *f;
	size_t n = tok->count;

	if (r->depth == INV_TREE_DEPTH)
		return INV_EDEPTH;
	f = &r->stack[r->depth++];
	*f = (struct frame){ .kind = FRAME_LIST, .next = to };
	*to = INV_NIL;
	if (tok->kind == INV_TOK_LIST)
		return 0;
	f->kind = tok->kind == INV_TOK_TUPLE ? FRAME_TUPLE : FRAME_MAP;
	f->box = inv_make_tuple(r->h, f->kind == FRAME_MAP ? 2 * n : n);
	if (!f->box)
		return INV_ETOOBIG;
	*to = as_word(f->box);
	f->next = f->box + 1;
	return 0;
}

/* Called for a CUT: the remaining elements of the innermost container were not
 * recorded. In a tuple, each of them becomes a HOLE; in a list, one HOLE
 * becomes the tail; a map gets the flag INV_BOX_PARTIAL. */
static int cut_container(struct reader *r, const struct inv_token *tok)
{
	struct frame *f = &r->stack[r->depth - 1];
	inv_word hole, *end;

	if (f->kind == FRAME_MAP) {
		f->partial = true;
		return 0;
	}
	hole = make_hole(r->h, f->kind == FRAME_LIST ? tok->cut : INV_CUT_OTHER,
			 tok->left);
	if (!hole)
		return INV_ETOOBIG;
	if (f->kind == FRAME_LIST) {
		*f->next = hole;
		return 0;
	}
	for (end = f->box + 1 + inv_box_n(f->box); f->next < end; f->next++)
		*f->next = hole;
	return 0;
}

static int close_container(struct reader *r)
{
	struct frame *f = &r->stack[--r->depth];
	size_t n = f->n / 2;
	inv_word map;
	int rc;

	if (f->kind != FRAME_MAP)
		return 0;
	rc = inv_make_map(f->box, n, f->partial ? INV_BOX_PARTIAL : 0, &map);
	if (!rc && inv_box_n(f->box) != n)
		rc = INV_EDAMAGED;
	return rc;
}

static int take_token(struct reader *r, const struct inv_token *tok)
{
	inv_word *to;

	if (tok->kind == INV_TOK_END || tok->kind == INV_TOK_CUT) {
		if (r->depth == 0)
			return INV_EDAMAGED; /* the token belongs to a container
						around the term */
		return tok->kind == INV_TOK_END ? close_container(r) :
						  cut_container(r, tok);
	}
	to = place(r, tok);
	if (!to)
		return INV_ETOOBIG;
	if (tok->kind == INV_TOK_TUPLE || tok->kind == INV_TOK_LIST ||
	    tok->kind == INV_TOK_MAP)
		return open_container(r, tok, to);
	*to = read_simple(r, tok);
	return *to ? 0 : INV_ETOOBIG;
}

static int read_rest(struct reader *r, const struct inv_token *first,
		     inv_word *t)
{
	struct inv_token tok;
	int rc = take_token(r, first);

	while (!rc && r->depth > 0) {
		r->before = r->c->p;
		rc = inv_cursor_next(r->c, &tok);
		if (!rc)
			rc = take_token(r, &tok);
	}
	*t = r->root;
	return rc;
}

int inv_tree_read_token(struct inv_heap *h, struct inv_cursor *c,
			const struct inv_token *tok, inv_word *t)
{
	struct reader r;

	r.h = h;
	r.c = c;
	r.before = NULL;
	r.depth = 0;
	r.root = INV_NIL;
	return read_rest(&r, tok, t);
}

int inv_tree_read(struct inv_heap *h, struct inv_cursor *c, inv_word *t)
{
	struct inv_token tok;
	struct reader r;
	int rc;

	r.h = h;
	r.c = c;
	r.before = c->p;
	r.depth = 0;
	r.root = INV_NIL;
	rc = inv_cursor_next(c, &tok);
	return rc ? rc : read_rest(&r, &tok, t);
}
