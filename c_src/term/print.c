/* SPDX-License-Identifier: Apache-2.0 */
#include "term/print.h"

#include <string.h>

#include "term/chars.h"
#include "term/print_int.h"
#include "term/simple.h"

/*
 * If the text of a token and its separator has at most this many bytes, space
 * for both is reserved at once.
 */
#define SMALL_TOKEN 72

static const char sep_text[][4] = {
	[INV_SEP_NONE] = { 0 },
	[INV_SEP_COMMA] = { ',' },
	[INV_SEP_ARROW] = { ' ', '=', '>', ' ' },
	[INV_SEP_BAR] = { '|' },
};
static const uint8_t sep_len[] = { 0, 1, 4, 1 };

/* Writes <X.N.S> or #Port<X.N> at w, which has enough space. */
static uint8_t *put_id(uint8_t *w, const struct inv_token *tok)
{
	if (tok->kind == INV_TOK_PORT) {
		memcpy(w, "#Port", 5);
		w += 5;
	}
	*w++ = '<';
	w = inv_decimal_u64(w, tok->node);
	*w++ = '.';
	w = inv_decimal_u64(w, tok->id[0]);
	if (tok->kind == INV_TOK_PID) {
		*w++ = '.';
		w = inv_decimal_u64(w, tok->id[1]);
	}
	*w++ = '>';
	return w;
}

static void print_ref(const struct inv_token *tok, struct inv_buf *out)
{
	unsigned i;

	inv_buf_puts(out, "#Ref<");
	inv_buf_u64(out, tok->node);
	for (i = 0; i < tok->n_ids; i++) {
		inv_buf_putc(out, '.');
		inv_buf_u64(out, tok->id[i]);
	}
	inv_buf_putc(out, '>');
}

static void print_export(const struct inv_token *tok, struct inv_buf *out)
{
	inv_buf_puts(out, "fun ");
	inv__print_vm_atom(tok->bytes, tok->len, out);
	inv_buf_putc(out, ':');
	inv__print_vm_atom(tok->bytes2, tok->len2, out);
	inv_buf_putc(out, '/');
	inv_buf_u64(out, tok->count);
}

/* Prints a local fun. The module's name has no quotes, because the VM prints it
 * without quotes, too. */
static void print_fun(const struct inv_token *tok, struct inv_buf *out)
{
	inv_buf_puts(out, "#Fun<");
	inv_buf_put(out, tok->bytes, tok->len);
	inv_buf_putc(out, '.');
	inv_buf_i64(out, (int64_t)tok->id[0]);
	inv_buf_putc(out, '.');
	inv_buf_i64(out, (int64_t)tok->id[1]);
	inv_buf_putc(out, '>');
}

static char closing(unsigned of)
{
	return of == INV_TOK_LIST ? ']' : '}';
}

void inv__print_token(const struct inv_token *tok, bool with_sep,
		      struct inv_buf *out, const struct inv_print_opts *o)
{
	bool plain = tok->kind == INV_TOK_ATOM && tok->plain;
	uint8_t *w = inv_buf_reserve(out, SMALL_TOKEN + (plain ? tok->len : 0));

	if (!w)
		return;
	if (with_sep) {
		memcpy(w, sep_text[tok->sep], 4);
		w += sep_len[tok->sep];
	}
	switch (tok->kind) {
	case INV_TOK_INT:
		w = inv_decimal_i64(w, tok->i);
		break;
	case INV_TOK_ATOM:
		if (!plain)
			break;
		memcpy(w, tok->bytes, tok->len);
		w += tok->len;
		break;
	case INV_TOK_PID:
	case INV_TOK_PORT:
		w = put_id(w, tok);
		break;
	case INV_TOK_MAP:
		*w++ = '#';
		*w++ = '{';
		break;
	case INV_TOK_TUPLE:
		*w++ = '{';
		break;
	case INV_TOK_LIST:
		*w++ = '[';
		break;
	case INV_TOK_END:
		*w++ = (uint8_t)closing(tok->of);
		break;
	case INV_TOK_NIL:
		*w++ = '[';
		*w++ = ']';
		break;
	default:
		break;
	}
	out->len = (size_t)(w - out->data);
	switch (tok->kind) {
	case INV_TOK_ATOM:
		if (!plain)
			inv_term_print_atom(tok->bytes, tok->len, out, o);
		break;
	case INV_TOK_BIG:
		inv__print_big(tok, out);
		break;
	case INV_TOK_FLOAT:
		inv_term_print_float(tok->f, out);
		break;
	case INV_TOK_REF:
		print_ref(tok, out);
		break;
	case INV_TOK_BINARY:
		inv__print_binary(tok, out, o);
		break;
	case INV_TOK_STRING:
		inv__print_string(tok, out, o);
		break;
	case INV_TOK_EXPORT:
		print_export(tok, out);
		break;
	case INV_TOK_FUN:
		print_fun(tok, out);
		break;
	case INV_TOK_TEXT:
		inv__print_text(tok->bytes, tok->len, out, o);
		break;
	case INV_TOK_CUT:
		inv__print_cut(tok->cut, tok->left, out);
		break;
	case INV_TOK_HOLE:
		inv__print_hole(tok->cut, tok->left, out);
		break;
	default:
		break;
	}
}

static bool is_char(const struct inv_token *tok, const struct inv_print_opts *o)
{
	return tok->kind == INV_TOK_INT && tok->i >= 0 && tok->i <= 0x10ffff &&
	       inv_char_printable((uint32_t)tok->i,
				  o->unicode && o->wide_range);
}

/*
 * Returns true if the list, whose LIST token was just read, is a string. Reads
 * its elements up to the first that is not a character, and then sets c back to
 * the first element. The elements that it reads contain no lists, so each byte
 * is read at most twice: once here, and once when it is printed.
 */
bool inv__print_list_is_string(struct inv_cursor *c,
			       const struct inv_print_opts *o)
{
	struct inv_cursor_frame *f = &c->stack[c->depth - 1];
	struct inv_cursor_frame frame = *f;
	const uint8_t *p = c->p;
	uint32_t depth = c->depth, n = 0;
	struct inv_token tok;
	int r;

	while ((r = inv_cursor_next(c, &tok)) == 0 && tok.sep != INV_SEP_BAR &&
	       is_char(&tok, o))
		n++;
	c->p = p;
	c->depth = depth;
	c->pending = 0;
	c->error = 0;
	*f = frame;
	return r == 0 && n > 0 &&
	       (tok.kind == INV_TOK_CUT || tok.kind == INV_TOK_END);
}

/* Prints the elements of a list for which inv__print_list_is_string is true,
 * and reads its END. */
int inv__print_list_string(struct inv_cursor *c, struct inv_buf *out)
{
	struct inv_token tok;
	uint8_t *w;
	int r;

	inv_buf_putc(out, '"');
	while ((r = inv_cursor_next(c, &tok)) == 0 && tok.kind == INV_TOK_INT) {
		w = inv_buf_reserve(out, INV_ESCAPED_MAX);
		if (w)
			out->len = (size_t)(inv__print_char(w, (uint32_t)tok.i,
							    '"', true) -
					    out->data);
	}
	inv_buf_putc(out, '"');
	if (r == 0 && tok.kind == INV_TOK_CUT) {
		inv__print_cut(tok.cut, tok.left, out);
		r = inv_cursor_next(c, &tok);
	}
	return r;
}

void inv__print_sep(const struct inv_token *tok, struct inv_buf *out)
{
	inv_buf_put(out, sep_text[tok->sep], sep_len[tok->sep]);
}

/* Call it before tok is printed. Calls inv__order_pair if tok begins a pair of
 * the innermost large map, and inv__order_close if tok ends this map. */
void inv__print_keep_order(struct inv__order *order, const struct inv_cursor *c,
			   const struct inv_token *tok, struct inv_buf *out)
{
	/* How many containers are around tok. For an END: how many are around
	 * the container that it closes. */
	uint32_t depth = c->depth - inv__print_is_open(tok);

	if (tok->kind == INV_TOK_END) {
		if (depth + 1 == order->depth)
			inv__order_close(order, out);
	} else if (depth == order->depth && tok->sep != INV_SEP_ARROW) {
		inv__order_pair(order, out->len + sep_len[tok->sep]);
	}
}

static int print_term(struct inv_cursor *c, const struct inv_token *first,
		      struct inv_buf *out, const struct inv_print_opts *o,
		      struct inv__order *order)
{
	uint32_t depth = c->depth - inv__print_is_open(first);
	const struct inv_token *tok = first;
	struct inv_token next;
	int r;

	for (;;) {
		if (order->depth)
			inv__print_keep_order(order, c, tok, out);
		if (tok->kind == INV_TOK_LIST && o->style == INV_PRINT_P &&
		    inv__print_list_is_string(c, o)) {
			if (tok != first)
				inv__print_sep(tok, out);
			r = inv__print_list_string(c, out);
			if (r)
				return r;
		} else {
			inv__print_token(tok, tok != first, out, o);
		}
		if (tok->kind == INV_TOK_MAP && tok->count > INV_SMALL_MAP &&
		    c->enc == INV_ENC_ETF)
			inv__order_open(order, c->depth);
		if (c->depth == depth)
			return out->error;
		r = inv_cursor_next(c, &next);
		if (r)
			return r;
		tok = &next;
	}
}

int inv_term_print_token(struct inv_cursor *c, const struct inv_token *tok,
			 struct inv_buf *out, const struct inv_print_opts *o)
{
	struct inv__order order = { 0 };
	int r;

	if (tok->kind == INV_TOK_END)
		return INV_END;
	if (o->syntax == INV_SYNTAX_ELIXIR)
		return inv__print_elixir(c, tok, out, o);
	if (o->fields[0] || o->fields[1] || o->depth)
		return inv__print_fields(c, tok, out, o);
	r = print_term(c, tok, out, o, &order);
	inv__order_release(&order);
	return r;
}

int inv_term_print(struct inv_cursor *c, struct inv_buf *out,
		   const struct inv_print_opts *o)
{
	struct inv_token tok;
	int r;

	if (inv_simple_print(c, out, o))
		return 0;
	r = inv_cursor_next(c, &tok);
	return r ? r : inv_term_print_token(c, &tok, out, o);
}
