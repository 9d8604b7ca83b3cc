/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_CURSOR_H
#define INV_TERM_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/term.h"
#include "base/err.h"
#include "term/dict.h"

/*
 * A cursor reads terms and returns their tokens.  The tokens are the same for
 * packed terms (abi/term.h) and for Erlang's external term format.
 *
 * The bytes can come from a damaged or malicious file: the cursor checks every
 * byte, no token points outside of the bytes, and the time for reading is
 * proportional to how many bytes there are. The cursor neither allocates memory
 * nor recurses: it keeps the open containers on a stack inside the struct. This
 * stack makes a cursor large (80 KB), so use one cursor many times;
 * inv_cursor_init is fast, because it does not write to the stack.
 *
 * The bytes may have several terms, one after the other.  Between terms the
 * cursor is at depth 0:
 *
 *	inv_cursor_init(&c, INV_ENC_PACKED, &dict, p, len);
 *	while ((r = inv_cursor_next(&c, &tok)) == 0)
 *		...
 *	if (r < 0)
 *		... damaged at offset inv_cursor_offset(&c)
 *
 * The tokens of {a,[1|2]} are
 *	TUPLE(2) ATOM LIST INT INT(after BAR) END END
 *
 * If a term is a dictionary entry that is a function, its tokens are those of
 * {M,F,Arity}. The tokens of an APPLY, a function with its arguments, are those
 * of {M,F,[Arg, ...]}.
 */
enum inv_enc {
	INV_ENC_PACKED = 0,
	INV_ENC_ETF = 1, /* with or without the leading byte 131 */
};

#define INV_DEPTH_MAX 10000
#define INV_REF_WORDS 8
#define INV_ATOM_CHARS 255

/*
 * Kinds of tokens. The comment of each kind names the fields of struct
 * inv_token that are valid for this kind, and says after a colon what a field
 * contains. TUPLE, LIST and MAP open a container: its elements follow, and then
 * END.
 */
enum inv_tok {
	INV_TOK_INT = 1, /* i */
	INV_TOK_BIG,	 /* field negative; bytes: the magnitude, least
			  * significant byte first. The integer may still fit in
			  * 64 bits. */
	INV_TOK_FLOAT,	 /* f: always finite */
	INV_TOK_ATOM,	 /* field plain; bytes: the name in UTF-8, at most 255
			  * characters */
	INV_TOK_PID,	 /* field node; id[0]: number; id[1]: serial; bytes: the
			    name of the pid's node, empty if unknown */
	INV_TOK_PORT,	 /* field node; id[0]: number; bytes: name of the port's
			    node, empty if unknown */
	INV_TOK_REF,	 /* field node; id: n_ids numbers, in the order of the
			    printed reference; bytes: name of the reference's
			    node, empty if unknown */
	INV_TOK_BINARY,	 /* fields bytes, last_bits, cut, left */
	INV_TOK_STRING,	 /* fields cut, left; bytes: the elements of a list of
			    integers 0..255, empty only if the list was cut */
	INV_TOK_NIL,	 /* the empty list */
	INV_TOK_TUPLE,	 /* count: elements */
	INV_TOK_LIST,	 /* count: elements before the tail, 0 if unknown */
	INV_TOK_MAP,	 /* count: pairs */
	INV_TOK_END,	 /* of: the kind of the closed container */
	INV_TOK_EXPORT,	 /* a fun M:F/A. bytes: M; bytes2: F; count: A */
	INV_TOK_FUN,	 /* a local fun #Fun<m.index.uniq>. bytes: the module;
			    id[0]: index; id[1]: uniq */
	INV_TOK_TEXT,	 /* a fun of which only the VM's text is known. bytes:
			    the text, which may be invalid UTF-8 */
	INV_TOK_HOLE,	 /* a term that was left out, or that was redacted
			    (inv_token_redacted). Fields cut, left */
	INV_TOK_CUT,	 /* the remaining elements of the container were left
			    out; END follows. Fields cut, left */
};

/* The separator that a printer writes between this token and the previous
 * one. */
enum inv_sep {
	INV_SEP_NONE = 0, /* nothing: before the first element, before END, and
			     at depth 0 */
	INV_SEP_COMMA,
	INV_SEP_ARROW, /* " => ", before a map's value */
	INV_SEP_BAR,   /* "|", before the tail of an improper list */
};

/*
 * The pointers point into the cursor's bytes, its dictionary or the cursor
 * itself. They are valid until the next token is read.
 */
struct inv_token {
	uint8_t kind; /* enum inv_tok */
	uint8_t sep;  /* enum inv_sep */
	bool negative;
	bool plain;  /* ATOM: the name certainly needs no quotes; if false, the
			printer must check the name */
	uint8_t cut; /* enum inv_cut: the kind of the missing part; 0: nothing
		      * is missing */
	uint8_t last_bits; /* for a complete BINARY: how many bits of the last
			      byte are used, from the most significant bit on;
			      8 for an empty binary */
	uint8_t n_ids;
	uint8_t of; /* END: INV_TOK_TUPLE, INV_TOK_LIST or INV_TOK_MAP */
	uint32_t count;
	uint64_t left; /* how much is missing, in the unit that enum inv_cut
			  gives; for a BINARY in bits, because the binary may
			  end inside a byte */
	const uint8_t *bytes;
	size_t len;
	const uint8_t *bytes2;
	size_t len2;
	uint64_t node;	   /* PID, PORT, REF: the X of <X.1.0> as the recording
			      node prints it; 0: the identifier is local, or
			      the encoding is ETF, which has no X */
	uint32_t creation; /* PID, PORT, REF, if `bytes' has a node name: the
			      node's creation; 0: it matches any creation */
	union {
		int64_t i;
		double f;
		uint64_t id[INV_REF_WORDS];
	};
};

struct inv_cursor_frame {
	uint32_t left; /* remaining elements; a pair of a map counts as two */
	uint8_t kind;
	uint8_t fresh; /* the frame's first element was not read yet */
};

struct inv_cursor {
	/* private, except for inv_cursor_offset and inv_cursor_depth */
	const uint8_t *p;
	const uint8_t *end;
	const uint8_t *begin;
	const struct inv_dict *dict;
	uint8_t enc;
	uint8_t pending; /* enum inv_pending: the next token is this element of
			    `function', and has no bytes of its own at p; 0: the
			    next token is read from p */
	bool with_args;	 /* the last element of `function' is the list of
			    arguments, not the arity */
	int error;
	uint32_t depth;
	struct inv_dict_function function;
	uint8_t scratch[2][2 * INV_ATOM_CHARS]; /* atoms in Latin-1, converted
						   to UTF-8 */
	struct inv_cursor_frame stack[INV_DEPTH_MAX];
};

/* Lets the cursor read the len bytes at p. Borrows the bytes and `dict', the
 * dictionary of packed terms, which may be NULL. */
void inv_cursor_init(struct inv_cursor *c, enum inv_enc enc,
		     const struct inv_dict *dict, const void *p, size_t len);

/*
 * Reads the next token.  Returns 0, or INV_END at the end of the bytes (at
 * depth 0).  After an error, all further calls return the same error:
 *  INV_EDAMAGED    the bytes are invalid
 *  INV_ETRUNCATED  they end inside a term
 *  INV_EDEPTH      more than INV_DEPTH_MAX containers are open
 *  INV_EVERSION    an unknown code
 *  INV_EFORMAT     ETF only: a compressed or node-local term, which trace
 *                  files never have
 */
int inv_cursor_next(struct inv_cursor *c, struct inv_token *tok);

/*
 * Call it at depth 0. If the next term is an APPLY, or a dictionary entry that
 * is a function, sets *f to the function and returns true. For an APPLY, sets
 * *with_args to true, and the next token begins the list of arguments.
 * Otherwise sets *with_args to false, and the next token is the arity. If the
 * next term is of another kind, returns false and reads nothing.
 */
bool inv_cursor_function(struct inv_cursor *c, struct inv_dict_function *f,
			 bool *with_args);

/*
 * Prepares c so that its next token is the arity of *f or, if with_args is
 * true, the first token of the list of arguments. Before that, the caller must
 * initialize c with the bytes that follow the function's or the APPLY's code
 * and dictionary number.
 */
void inv_cursor_third(struct inv_cursor *c, const struct inv_dict_function *f,
		      bool with_args);

/*
 * inv_cursor_skip skips the next term. inv_cursor_skip_rest skips the rest of
 * the term whose first token, tok, was just read. Both return the same codes as
 * inv_cursor_next. If the innermost open container has no more elements,
 * inv_cursor_skip reads its END and returns 0.
 */
int inv_cursor_skip(struct inv_cursor *c);
int inv_cursor_skip_rest(struct inv_cursor *c, const struct inv_token *tok);

/* Skips the remaining elements of the innermost containers, until only `depth'
 * containers are open. */
int inv_cursor_leave(struct inv_cursor *c, uint32_t depth);

/* Returns the number of open containers. */
static inline uint32_t inv_cursor_depth(const struct inv_cursor *c)
{
	return c->depth;
}

/* Returns the offset of the next token in the bytes. After an error, returns an
 * offset near the error. */
static inline size_t inv_cursor_offset(const struct inv_cursor *c)
{
	return (size_t)(c->p - c->begin);
}

/*
 * Each of these functions reads one token: a TUPLE, an integer that fits in 64
 * bits, or an END. If another token is next, the function returns INV_EDAMAGED;
 * if there are no more tokens, INV_ETRUNCATED. After such an error, all further
 * calls with this cursor return the same error.
 */
int inv_cursor_tuple(struct inv_cursor *c, uint32_t *arity);
int inv_cursor_int(struct inv_cursor *c, int64_t *v);
int inv_cursor_end(struct inv_cursor *c);

/* Returns true if tok is the atom `name', which is ASCII. */
bool inv_token_is(const struct inv_token *tok, const char *name);

/* If tok is a mark, returns the type of the redacted value: enum inv_redacted,
 * or a number of a later version. Otherwise returns 0. */
static inline uint64_t inv_token_redacted(const struct inv_token *tok)
{
	return tok->kind == INV_TOK_HOLE && tok->cut == INV_CUT_OTHER ?
		       tok->left :
		       0;
}

/* Returns the name of the type of a redacted value. */
const char *inv_redacted_text(uint64_t type);

/*
 * If tok is an integer that fits in 64 bits (INT or BIG), sets *v and returns
 * true.
 */
bool inv_token_i64(const struct inv_token *tok, int64_t *v);

#endif
