/* SPDX-License-Identifier: Apache-2.0 */
/* Reads seq_trace events whose terms are simple, without a cursor. */
#include <string.h>

#include "base/likely.h"
#include "base/varint.h"
#include "flow/seq_int.h"

struct reader {
	const uint8_t *p;
	const uint8_t *end;
	const struct inv_dict *dict;
};

static bool get_varint(struct reader *r, uint64_t *v)
{
	const uint8_t *p = inv_varint_get(r->p, r->end, v);

	if (!p)
		return false;
	r->p = p;
	return true;
}

/* Returns true if a tuple is next, and reads its number of elements. */
static bool get_tuple(struct reader *r, uint32_t *n)
{
	if (r->p == r->end || *r->p < INV_T_TUPLE_SMALL ||
	    *r->p >= INV_T_BINARY_SMALL)
		return false;
	*n = *r->p++ - INV_T_TUPLE_SMALL;
	return true;
}

/* --- simple tokens, as the cursor returns them ---------------------------- */

static bool get_entry(const struct reader *r, uint64_t number,
		      struct inv_token *tok)
{
	const struct inv_dict_entry *e = inv_dict_get(r->dict, number);

	if (!e)
		return false;
	switch (e->kind) {
	case INV_DEF_ATOM:
		tok->kind = INV_TOK_ATOM;
		tok->bytes = e->bytes;
		tok->len = e->len;
		return true;
	case INV_DEF_PID:
	case INV_DEF_PORT:
		tok->kind = e->kind == INV_DEF_PID ? INV_TOK_PID : INV_TOK_PORT;
		tok->node = 0;
		tok->len = 0;
		tok->id[0] = e->number;
		tok->id[1] = e->serial;
		return true;
	default:
		return false;
	}
}

static bool get_bytes(struct reader *r, struct inv_token *tok, unsigned kind,
		      size_t n)
{
	if (n > (size_t)(r->end - r->p))
		return false;
	tok->kind = (uint8_t)kind;
	tok->cut = 0;
	tok->last_bits = 8;
	tok->bytes = r->p;
	tok->len = n;
	r->p += n;
	return true;
}

static bool get_coded(struct reader *r, unsigned code, struct inv_token *tok)
{
	uint64_t n;

	if (code == INV_T_NIL) {
		tok->kind = INV_TOK_NIL;
		return true;
	}
	if ((code != INV_T_INT && code != INV_T_DICT && code != INV_T_XPID) ||
	    !get_varint(r, &n))
		return false;
	switch (code) {
	case INV_T_INT:
		tok->kind = INV_TOK_INT;
		tok->i = inv_unzigzag(n);
		return true;
	case INV_T_DICT:
		return get_entry(r, n, tok);
	default:
		tok->kind = INV_TOK_PID;
		tok->node = n;
		tok->len = 0;
		return get_varint(r, &tok->id[0]) && get_varint(r, &tok->id[1]);
	}
}

static bool get_token(struct reader *r, struct inv_token *tok)
{
	unsigned code;

	if (inv_unlikely(r->p == r->end))
		return false;
	code = *r->p++;
	if (code < INV_T_DICT_SMALL) {
		tok->kind = INV_TOK_INT;
		tok->i = code;
		return true;
	}
	if (code < INV_T_TUPLE_SMALL)
		return get_entry(r, code - INV_T_DICT_SMALL, tok);
	if (code < INV_T_BINARY_SMALL)
		return false;
	if (code < INV_T_STRING_SMALL)
		return get_bytes(r, tok, INV_TOK_BINARY,
				 code - INV_T_BINARY_SMALL);
	if (code < INV_T_NIL)
		return get_bytes(r, tok, INV_TOK_STRING,
				 code - INV_T_STRING_SMALL + 1);
	return get_coded(r, code, tok);
}

/* --- the event ------------------------------------------------------------ */

/* Reads a label that is a simple token, or a tuple of simple tokens. */
static bool label(struct reader *r, const struct inv_item *it, uint64_t *hash)
{
	struct inv_token tok;
	uint32_t n;

	if (!get_tuple(r, &n)) {
		if (!get_token(r, &tok))
			return false;
		*hash = inv__seq_token(it, &tok);
		return true;
	}
	tok.kind = INV_TOK_TUPLE;
	tok.count = n;
	*hash = inv__seq_token(it, &tok);
	for (; n; n--) {
		if (!get_token(r, &tok))
			return false;
		*hash = inv__seq_mix(*hash, inv__seq_token(it, &tok));
	}
	tok.kind = INV_TOK_END;
	tok.of = INV_TOK_TUPLE;
	*hash = inv__seq_mix(*hash, inv__seq_token(it, &tok));
	return true;
}

static bool integer(struct reader *r, uint64_t *v)
{
	struct inv_token tok;

	if (!get_token(r, &tok) || tok.kind != INV_TOK_INT)
		return false;
	*v = (uint64_t)tok.i;
	return true;
}

static bool kind_and_serial(struct reader *r, struct inv_seq *s)
{
	struct inv_token tok;
	uint32_t n;

	return get_tuple(r, &n) && n == 5 && get_token(r, &tok) &&
	       inv__seq_kind(s, &tok) && get_tuple(r, &n) && n == 2 &&
	       integer(r, &s->prev) && integer(r, &s->cur);
}

/* Reads the receiver: a process, a port, a name, or {Name,Node}. */
static bool receiver(struct reader *r, struct inv_seq *s,
		     const struct inv_item *it)
{
	struct inv_token tok;
	uint32_t n;

	if (!get_tuple(r, &n))
		return get_token(r, &tok) && inv__seq_to(s, it, &tok);
	for (; n; n--)
		if (!get_token(r, &tok))
			return false;
	tok.kind = INV_TOK_TUPLE;
	return inv__seq_to(s, it, &tok);
}

/* Returns true if the message is certainly an ordinary one: not a tuple that
 * could be the signal of a spawn or an exit. */
static bool is_ordinary(struct reader *r)
{
	struct inv_token tok;
	uint32_t n;

	if (!get_tuple(r, &n))
		return (r->p < r->end && *r->p == INV_T_LIST) ||
		       get_token(r, &tok);
	if (!n || !get_token(r, &tok) || tok.kind != INV_TOK_ATOM)
		return true;
	return !inv_token_is(&tok, "spawn_request") &&
	       !inv_token_is(&tok, "spawn_reply") &&
	       !inv_token_is(&tok, "EXIT");
}

bool inv__seq_packed(struct inv_seq *s, const struct inv_item *it)
{
	struct reader r = { it->ev.terms, it->ev.terms + it->ev.len,
			    it->ev.dict };
	struct inv_token tok;

	*s = (struct inv_seq){ 0 };
	if (it->ev.enc != INV_ENC_PACKED || !r.dict ||
	    !label(&r, it, &s->label) || !kind_and_serial(&r, s) ||
	    !get_token(&r, &tok) || !inv__seq_from(s, it, &tok) ||
	    !receiver(&r, s, it))
		return false;
	return s->kind == INV_SEQ_PRINT || s->signal == INV_SIGNAL_PORT ||
	       is_ordinary(&r);
}
