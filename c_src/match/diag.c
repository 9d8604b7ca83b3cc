/* SPDX-License-Identifier: Apache-2.0 */
#include "match/diag.h"

#include <string.h>

#include "term/print_int.h"
#include "term/tree_walk.h"

/* A text of limited length. */
struct text {
	struct inv_buf *out;
	size_t end; /* the maximum length of *out, in bytes */
};

static bool is_full(const struct text *o)
{
	return o->out->error || o->out->len >= o->end;
}

/* --- a term as the VM's own "%T" prints it -------------------------------- */

static bool is_text_char(uint8_t c)
{
	return (c >= 32 && c != 127) || (c >= 9 && c <= 13);
}

static bool is_string(const struct inv_token *tok)
{
	for (size_t i = 0; i < tok->len; i++)
		if (!is_text_char(tok->bytes[i]))
			return false;
	return true;
}

static void put_quoted(const struct text *o, const struct inv_token *tok)
{
	inv_buf_putc(o->out, '"');
	for (size_t i = 0; i < tok->len && !is_full(o); i++) {
		char c = (char)tok->bytes[i];

		if (c == '\n' || c == '"')
			inv_buf_putc(o->out, '\\');
		if (c == '\n')
			c = 'n';
		inv_buf_putc(o->out, c);
	}
	inv_buf_putc(o->out, '"');
}

static bool is_text(const struct inv_token *tok)
{
	for (size_t i = 0; i < tok->len; i++)
		if (tok->bytes[i] < 32 || tok->bytes[i] > 126)
			return false;
	return tok->len && tok->last_bits == 8;
}

/*
 * Appends an atom, or another token that the VM's %T prints as io_lib does. (%T
 * has its own rules for the quotes of atoms.)
 */
static void put_other(const struct inv_token *tok, struct inv_buf *out)
{
	static const struct inv_print_opts w = { .style = INV_PRINT_W };

	if (tok->kind == INV_TOK_ATOM)
		inv__print_vm_atom(tok->bytes, tok->len, out);
	else
		inv__print_token(tok, false, out, &w);
}

/* A callback of inv_tree_walk: appends a token. When the text is full, returns
 * 1, which stops the walk. */
static int put_token(void *arg, const struct inv_token *tok)
{
	static const char *const sep[] = {
		[INV_SEP_NONE] = "",
		[INV_SEP_COMMA] = ",",
		[INV_SEP_ARROW] = "=>",
		[INV_SEP_BAR] = "|",
	};
	const struct text *o = arg;

	inv_buf_puts(o->out, sep[tok->sep]);
	if (tok->kind == INV_TOK_STRING && is_string(tok)) {
		put_quoted(o, tok);
	} else if (tok->kind == INV_TOK_BINARY && is_text(tok)) {
		inv_buf_puts(o->out, "<<");
		put_quoted(o, tok);
		inv_buf_puts(o->out, ">>");
	} else if (tok->kind == INV_TOK_FLOAT) {
		inv_buf_printf(o->out, "%e", tok->f);
	} else if (tok->kind == INV_TOK_TEXT) {
		inv_buf_put(o->out, tok->bytes, tok->len);
	} else {
		put_other(tok, o->out);
	}
	return is_full(o) ? INV_END : 0;
}

void inv_vm_print(inv_word t, size_t max, struct inv_buf *out)
{
	struct text o = { .out = out, .end = out->len + max };

	inv_tree_walk(t, put_token, &o);
	if (out->len > o.end)
		out->len = o.end;
}

/* --- diagnostics ---------------------------------------------------------- */

static void put_format(struct inv_buf *out, const char *fmt, inv_word t,
		       uint64_t n, const char *s)
{
	for (; *fmt; fmt++) {
		if (*fmt != '%')
			inv_buf_putc(out, *fmt);
		else if (*++fmt == 'T')
			inv_vm_print(t, INV_DIAG_MAX, out);
		else if (*fmt == 'N')
			inv_buf_u64(out, n);
		else
			inv_buf_puts(out, s);
	}
}

void inv_diag_add(struct inv_diags *d, const char *fmt, inv_word t, uint64_t n,
		  const char *s)
{
	inv_word *w = inv_heap_take(d->heap, (sizeof(struct inv_diag) + 7) / 8);
	struct inv_diag *x = (struct inv_diag *)w;
	struct inv_buf text = { 0 };

	if (!x) {
		d->full = true;
		return;
	}
	put_format(&text, fmt, t, n, s);
	if (text.len > INV_DIAG_MAX - 1)
		text.len = INV_DIAG_MAX - 1;
	if (text.len > 0)
		memcpy(x->text, text.data, text.len);
	x->text[text.len] = '\0';
	inv_buf_release(&text);
	x->next = NULL;
	*(d->last ? d->last : &d->first) = x;
	d->last = &x->next;
}
