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
 * A cursor walks terms and gives them out as tokens, the same tokens whether
 * they lie packed (abi/term.h) or in Erlang's external term format.
 *
 * The bytes may be anything: every one is checked before it is believed, no
 * token reaches beyond them, and the time taken is in proportion to their
 * number.  Nothing is allocated and nothing recurses: the containers that are
 * open are kept in a stack within the cursor.  That makes it large (80 KB);
 * have one and use it again: inv_cursor_init touches only its head.
 *
 * Terms may follow one another.  Between two of them the cursor is at depth 0:
 *
 *	inv_cursor_init(&c, INV_ENC_PACKED, &dict, p, len);
 *	while ((r = inv_cursor_next(&c, &tok)) == 0)
 *		...
 *	if (r < 0)
 *		... damaged at offset inv_cursor_offset(&c)
 *
 * {a,[1|2]} comes as
 *	TUPLE(2) ATOM LIST INT INT(after BAR) END END
 */
enum inv_enc {
	INV_ENC_PACKED = 0,
	INV_ENC_ETF = 1, /* with or without the leading byte 131 */
};

#define INV_DEPTH_MAX 10000
#define INV_REF_WORDS 8
#define INV_ATOM_CHARS 255

/*
 * Tokens, and which fields of struct inv_token each has.  TUPLE, LIST and MAP
 * open a container, whose elements follow; END closes it.
 */
enum inv_tok {
	INV_TOK_INT = 1, /* i */
	INV_TOK_BIG,	 /* negative; bytes: the magnitude, the least
			    significant first.  It may fit in 64 bits. */
	INV_TOK_FLOAT,	 /* f; finite */
	INV_TOK_ATOM,	 /* bytes: UTF-8, at most 255 characters; plain */
	INV_TOK_PID,	 /* node, id[0] number, id[1] serial; bytes: the name
			    of its node, empty when it is not known */
	INV_TOK_PORT,	 /* node, id[0] number; bytes as PID */
	INV_TOK_REF,	 /* node, id[0..n_ids) in the order in which they are
			    printed; bytes as PID */
	INV_TOK_BINARY,	 /* bytes; last_bits; cut, left */
	INV_TOK_STRING,	 /* bytes: a list of 0..255, not empty unless it is
			    cut; cut, left */
	INV_TOK_NIL,	 /* the empty list */
	INV_TOK_TUPLE,	 /* count: elements */
	INV_TOK_LIST,	 /* count: elements before the tail, 0 if not known */
	INV_TOK_MAP,	 /* count: pairs */
	INV_TOK_END,	 /* of the innermost container; of */
	INV_TOK_EXPORT,	 /* fun M:F/A: bytes M, bytes2 F, count A */
	INV_TOK_FUN,	 /* a local fun: bytes: its module; id[0] index,
			    id[1] uniq: #Fun<m.index.uniq> */
	INV_TOK_TEXT,	 /* bytes: as the VM prints it, in UTF-8, which is not
			    checked */
	INV_TOK_HOLE,	 /* cut, left: one term that was left out */
	INV_TOK_CUT,	 /* cut, left: the remaining elements of the container;
			    END is next */
};

/* What stands between this token and the one before it. */
enum inv_sep {
	INV_SEP_NONE = 0, /* nothing: the first of a container, an END, a term
			     at depth 0 */
	INV_SEP_COMMA,
	INV_SEP_ARROW, /* a map's value: " => " */
	INV_SEP_BAR,   /* an improper list's tail */
};

/*
 * Pointers reach into the cursor's bytes, its dictionary or the cursor itself,
 * and are good until the next token.
 */
struct inv_token {
	uint8_t kind; /* enum inv_tok */
	uint8_t sep;  /* enum inv_sep */
	bool negative;
	bool plain;  /* ATOM: is known to be printed without quotes; otherwise
		       it has to be looked at */
	uint8_t cut; /* enum inv_cut of what is missing, 0: it is whole */
	uint8_t last_bits; /* BINARY, whole: bits used in the last byte, the
			      most significant ones; 8, and for an empty one
			      too */
	uint8_t n_ids;
	uint8_t of; /* END: TUPLE, LIST or MAP */
	uint32_t count;
	uint64_t left; /* what is missing, in the unit of the cut; of a cut
			  BINARY in bits, for it may be no multiple of 8 */
	const uint8_t *bytes;
	size_t len;
	const uint8_t *bytes2;
	size_t len2;
	uint64_t node; /* the X of <X.1.0> on the node that recorded it; 0: its
			  own node, and in ETF, where it cannot be known */
	uint32_t creation; /* PID, PORT, REF, where bytes has the name of a
			      node: which life of it; 0: any */
	union {
		int64_t i;
		double f;
		uint64_t id[INV_REF_WORDS];
	};
};

struct inv_cursor_frame {
	uint32_t left; /* elements still to come; a map has two a pair */
	uint8_t kind;
	uint8_t fresh; /* none has come yet */
};

struct inv_cursor {
	/* private, but for inv_cursor_offset and inv_cursor_depth */
	const uint8_t *p;
	const uint8_t *end;
	const uint8_t *begin;
	const struct inv_dict *dict;
	uint8_t enc;
	int error;
	uint32_t depth;
	uint8_t scratch[2][2 * INV_ATOM_CHARS]; /* latin1 atoms, converted */
	struct inv_cursor_frame stack[INV_DEPTH_MAX];
};

/*
 * Sets c at the first of the len bytes at p, which are borrowed, as is dict
 * (packed terms; it may be NULL if they have no dictionary).
 */
void inv_cursor_init(struct inv_cursor *c, enum inv_enc enc,
		     const struct inv_dict *dict, const void *p, size_t len);

/*
 * The next token.  INV_END at the end of the bytes, at depth 0.  Errors stick:
 *	INV_EDAMAGED    the bytes make no sense
 *	INV_ETRUNCATED  they end within a term
 *	INV_EDEPTH      more than INV_DEPTH_MAX containers are open
 *	INV_EVERSION    a code that is unknown here
 *	INV_EFORMAT     ETF: a compressed or node-local term, which trace files
 *	                never hold
 */
int inv_cursor_next(struct inv_cursor *c, struct inv_token *tok);

/*
 * Steps over one term: the next one, or what tok, the token just taken, began.
 * INV_END and errors as inv_cursor_next.  In a container that has no more
 * elements inv_cursor_skip takes its END, and returns 0.
 */
int inv_cursor_skip(struct inv_cursor *c);
int inv_cursor_skip_rest(struct inv_cursor *c, const struct inv_token *tok);

/* Closes containers, stepping over what is left of them, down to depth. */
int inv_cursor_leave(struct inv_cursor *c, uint32_t depth);

/* Containers that are open. */
static inline uint32_t inv_cursor_depth(const struct inv_cursor *c)
{
	return c->depth;
}

/* From the start of the bytes; after an error: close to where it is. */
static inline size_t inv_cursor_offset(const struct inv_cursor *c)
{
	return (size_t)(c->p - c->begin);
}

/*
 * For readers that know what must come.  Each takes one token and returns
 * INV_EDAMAGED, which sticks, if it is another one.
 */
int inv_cursor_tuple(struct inv_cursor *c, uint32_t *arity);
int inv_cursor_int(struct inv_cursor *c, int64_t *v);
int inv_cursor_atom(struct inv_cursor *c, struct inv_token *tok);
int inv_cursor_end(struct inv_cursor *c);

/* Whether tok is the atom `name` (ASCII). */
bool inv_token_is(const struct inv_token *tok, const char *name);

/*
 * An integer of up to 64 bits however it was written (BIG ones too): true and
 * the value, or false.
 */
bool inv_token_i64(const struct inv_token *tok, int64_t *v);

#endif
