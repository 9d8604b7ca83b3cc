/* SPDX-License-Identifier: Apache-2.0 */
#include "term/cursor.h"

#include <string.h>

#include "term/cursor_int.h"

#define ETF_VERSION 131

void inv_cursor_init(struct inv_cursor *c, enum inv_enc enc,
		     const struct inv_dict *dict, const void *p, size_t len)
{
	static const struct inv_dict none;
	static const uint8_t nothing[1];

	c->begin = c->p = len ? p : nothing;
	c->end = c->p + len;
	c->dict = dict ? dict : &none;
	c->enc = (uint8_t)enc;
	c->error = 0;
	c->depth = 0;
	c->pending = 0;
}

int inv_cursor_next(struct inv_cursor *c, struct inv_token *tok)
{
	struct inv_cursor_frame *f = NULL;

	if (c->error)
		return c->error;
	if (c->pending)
		return inv__function_next(c, tok);
	if (c->depth > 0) {
		f = &c->stack[c->depth - 1];
		if (f->left == 0)
			return inv__cursor_end(c, tok);
		if (c->p == c->end)
			return inv__cursor_fail(c, INV_ETRUNCATED);
	} else {
		if (c->p == c->end)
			return INV_END;
		if (c->enc == INV_ENC_ETF && *c->p == ETF_VERSION &&
		    ++c->p == c->end)
			return inv__cursor_fail(c, INV_ETRUNCATED);
	}
	if (c->enc == INV_ENC_PACKED)
		return inv__packed_next(c, f, tok);
	return inv__etf_next(c, f, tok);
}

bool inv_cursor_function(struct inv_cursor *c, struct inv_dict_function *f,
			 bool *with_args)
{
	if (c->enc != INV_ENC_PACKED || c->depth || c->pending || c->error ||
	    !inv__packed_function(c))
		return false;
	c->pending = INV_PENDING_LAST;
	*f = c->function;
	*with_args = c->with_args;
	return true;
}

void inv_cursor_third(struct inv_cursor *c, const struct inv_dict_function *f,
		      bool with_args)
{
	c->function = *f;
	c->with_args = with_args;
	c->pending = INV_PENDING_LAST;
}

int inv_cursor_leave(struct inv_cursor *c, uint32_t depth)
{
	struct inv_token tok;
	int r = c->error;

	while (r == 0 && c->depth > depth)
		r = inv_cursor_next(c, &tok);
	return r;
}

static bool opens(const struct inv_token *tok)
{
	return tok->kind == INV_TOK_TUPLE || tok->kind == INV_TOK_LIST ||
	       tok->kind == INV_TOK_MAP;
}

int inv_cursor_skip_rest(struct inv_cursor *c, const struct inv_token *tok)
{
	return opens(tok) ? inv_cursor_leave(c, c->depth - 1) : c->error;
}

int inv_cursor_skip(struct inv_cursor *c)
{
	struct inv_token tok;
	int r = inv_cursor_next(c, &tok);

	return r ? r : inv_cursor_skip_rest(c, &tok);
}

static int expect(struct inv_cursor *c, struct inv_token *tok, unsigned kind)
{
	int r = inv_cursor_next(c, tok);

	if (r == INV_END)
		return inv__cursor_fail(c, INV_ETRUNCATED);
	if (r == 0 && tok->kind != kind)
		return inv__cursor_fail(c, INV_EDAMAGED);
	return r;
}

int inv_cursor_tuple(struct inv_cursor *c, uint32_t *arity)
{
	struct inv_token tok;
	int r = expect(c, &tok, INV_TOK_TUPLE);

	if (r == 0)
		*arity = tok.count;
	return r;
}

int inv_cursor_int(struct inv_cursor *c, int64_t *v)
{
	struct inv_token tok;
	int r = inv_cursor_next(c, &tok);

	if (r == INV_END)
		return inv__cursor_fail(c, INV_ETRUNCATED);
	if (r == 0 && !inv_token_i64(&tok, v))
		return inv__cursor_fail(c, INV_EDAMAGED);
	return r;
}

int inv_cursor_end(struct inv_cursor *c)
{
	struct inv_token tok;

	return expect(c, &tok, INV_TOK_END);
}

bool inv_token_is(const struct inv_token *tok, const char *name)
{
	return tok->kind == INV_TOK_ATOM && strlen(name) == tok->len &&
	       memcmp(tok->bytes, name, tok->len) == 0;
}

bool inv_token_i64(const struct inv_token *tok, int64_t *v)
{
	uint64_t u = 0;
	size_t n;

	if (tok->kind == INV_TOK_INT) {
		*v = tok->i;
		return true;
	}
	if (tok->kind != INV_TOK_BIG)
		return false;
	for (n = tok->len; n > 0 && tok->bytes[n - 1] == 0;)
		n--;
	if (n > 8)
		return false;
	while (n > 0)
		u = u << 8 | tok->bytes[--n];
	if (u > (uint64_t)INT64_MAX + tok->negative)
		return false;
	*v = (int64_t)(tok->negative ? -u : u);
	return true;
}

const char *inv_redacted_text(uint64_t type)
{
	static const char *const texts[] = {
#define REDACTED_TEXT(name, number, text) [number] = text,
		INV_REDACTED(REDACTED_TEXT)
#undef REDACTED_TEXT
	};

	return type && type < sizeof(texts) / sizeof(*texts) ? texts[type] :
							       texts[1];
}
