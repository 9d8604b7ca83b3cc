/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_CURSOR_INT_H
#define INV_TERM_CURSOR_INT_H

#include "term/cursor.h"

/* Private to the cursor: declarations that the decoders for packed terms and
 * for ETF share. */

/* The kinds of open containers. */
enum inv_nest_kind {
	INV_FRAME_TUPLE = 1,
	INV_FRAME_MAP,
	INV_FRAME_ARGS,	  /* the arguments of an APPLY */
	INV_FRAME_OPEN,	  /* a packed list; its END, TAIL or CUT was not read
			     yet */
	INV_FRAME_LIST,	  /* a list in ETF; `left' counts the tail, too */
	INV_FRAME_CLOSED, /* a list whose improper tail is being read */
};

/*
 * Each of these functions reads one token in the innermost open container f.
 * The caller has checked that f has at least one more element. At depth 0 f is
 * NULL, and the caller has checked that there is at least one more byte.
 */
int inv__packed_next(struct inv_cursor *c, struct inv_cursor_frame *f,
		     struct inv_token *tok);
int inv__etf_next(struct inv_cursor *c, struct inv_cursor_frame *f,
		  struct inv_token *tok);

/* Which element of a function {M,F,A} is the cursor's next token. */
enum inv_pending {
	INV_PENDING_MODULE = 1,
	INV_PENDING_FUNCTION,
	INV_PENDING_LAST,
};

/* Sets *tok to the next token of the tuple {M,F,A} of c->function. c->pending
 * says which element that is, and is set to the element after it. */
int inv__function_next(struct inv_cursor *c, struct inv_token *tok);

/* If the next term is an APPLY, or a dictionary entry that is a function, reads
 * it into c->function and c->with_args, and returns true. If not, returns
 * false. */
bool inv__packed_function(struct inv_cursor *c);

/* Stores and returns an error. All further calls of inv_cursor_next return
 * it. */
static inline int inv__cursor_fail(struct inv_cursor *c, int code)
{
	c->error = code;
	return code;
}

/* Closes the innermost container and sets *tok to its END. */
static inline int inv__cursor_end(struct inv_cursor *c, struct inv_token *tok)
{
	unsigned kind = c->stack[--c->depth].kind;

	tok->kind = INV_TOK_END;
	tok->sep = INV_SEP_NONE;
	tok->of = kind == INV_FRAME_TUPLE ? INV_TOK_TUPLE :
		  kind == INV_FRAME_MAP	  ? INV_TOK_MAP :
					    INV_TOK_LIST;
	return 0;
}

/* Counts an element of f as read: decrements f->left. Returns the separator
 * before the element. */
static inline uint8_t inv__cursor_sep(struct inv_cursor_frame *f)
{
	uint32_t left;

	if (!f)
		return INV_SEP_NONE;
	left = f->left--;
	if (f->fresh) {
		f->fresh = 0;
		return INV_SEP_NONE;
	}
	if (f->kind == INV_FRAME_MAP && (left & 1))
		return INV_SEP_ARROW;
	return INV_SEP_COMMA;
}

static inline int inv__cursor_open(struct inv_cursor *c, unsigned kind,
				   uint32_t left)
{
	struct inv_cursor_frame *f;

	if (c->depth == INV_DEPTH_MAX)
		return inv__cursor_fail(c, INV_EDEPTH);
	f = &c->stack[c->depth++];
	f->left = left;
	f->kind = (uint8_t)kind;
	f->fresh = 1;
	return 0;
}

static inline size_t inv__cursor_room(const struct inv_cursor *c)
{
	return (size_t)(c->end - c->p);
}

/* Sets the token's bytes to the next n bytes. */
static inline int inv__cursor_bytes(struct inv_cursor *c, struct inv_token *tok,
				    uint64_t n)
{
	if (n > inv__cursor_room(c))
		return inv__cursor_fail(c, INV_ETRUNCATED);
	tok->bytes = c->p;
	tok->len = (size_t)n;
	c->p += n;
	return 0;
}

#endif
