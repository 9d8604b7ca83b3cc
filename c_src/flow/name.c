/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/name.h"

#include <string.h>

static bool is_atom(const struct inv_mfa_atom *a, const char *text)
{
	return a->len == strlen(text) && !memcmp(a->bytes, text, a->len);
}

static void put_mfa(struct inv_buf *out, const struct inv_mfa_atom *module,
		    const struct inv_mfa_atom *function, uint64_t arity,
		    const struct inv_print_opts *w)
{
	const struct inv_mfa_atom *const both[] = { module, function };

	for (int i = 0; i < 2; i++) {
		if (i)
			inv_buf_putc(out, ':');
		if (both[i]->plain)
			inv_buf_put(out, both[i]->bytes, both[i]->len);
		else
			inv_term_print_atom(both[i]->bytes, both[i]->len, out,
					    w);
	}
	inv_buf_putc(out, '/');
	inv_buf_u64(out, arity);
}

static bool is_fun(const struct inv_token *tok)
{
	return tok->kind == INV_TOK_FUN || tok->kind == INV_TOK_TEXT ||
	       tok->kind == INV_TOK_EXPORT;
}

/* Reads an atom into *a. Its bytes are copied to `copy', because the next atom
 * can overwrite them. */
static bool read_atom(struct inv_cursor *c, struct inv_mfa_atom *a,
		      uint8_t copy[2 * INV_ATOM_CHARS])
{
	struct inv_token tok;

	if (inv_cursor_next(c, &tok) || tok.kind != INV_TOK_ATOM ||
	    tok.len > 2 * INV_ATOM_CHARS)
		return false;
	memcpy(copy, tok.bytes, tok.len);
	*a = (struct inv_mfa_atom){ copy, tok.len, tok.plain };
	return true;
}

/* Opens the list that is the next term. */
static bool open_list(struct inv_cursor *c)
{
	struct inv_token tok;

	return !inv_cursor_next(c, &tok) && tok.kind == INV_TOK_LIST;
}

/* Skips n elements. Returns false if there are fewer. */
static bool skip(struct inv_cursor *c, int n)
{
	struct inv_token tok;

	while (n--)
		if (inv_cursor_next(c, &tok) || tok.kind == INV_TOK_END ||
		    tok.kind == INV_TOK_CUT || inv_cursor_skip_rest(c, &tok))
			return false;
	return true;
}

/* Counts the remaining elements of the open list. */
static uint64_t count(struct inv_cursor *c)
{
	uint64_t n = 0;

	while (skip(c, 1))
		n++;
	return n;
}

/*
 * Reads the arguments of gen:init_it: [GenMod, Starter, Parent, Mod, Args,
 * Options]. A tuple with the name can be before Mod. gen_event has no callback
 * module.
 */
static void put_gen(struct inv_buf *out, struct inv_cursor *c,
		    const struct inv_print_opts *w)
{
	static const struct inv_mfa_atom init = { (const uint8_t *)"init", 4,
						  true };
	uint8_t copies[2][2 * INV_ATOM_CHARS];
	struct inv_mfa_atom gen, mod;

	if (!open_list(c) || !read_atom(c, &gen, copies[0]) || !skip(c, 2))
		return;
	if (!read_atom(c, &mod, copies[1])) {
		/* Skips {local,Name}, {global,Name} or {via,Module,Name}. */
		if (inv_cursor_leave(c, 2) || !read_atom(c, &mod, copies[1]))
			return;
	}
	put_mfa(out, is_atom(&mod, "no callback module") ? &gen : &mod, &init,
		1, w);
}

/* Reads the arguments of proc_lib:init_p: [Parent, Ancestors, Fun], or [Parent,
 * Ancestors, M, F, Args]. */
static void put_proc_lib(struct inv_buf *out, struct inv_cursor *c,
			 const struct inv_mfa *m,
			 const struct inv_print_opts *w)
{
	uint8_t copies[2][2 * INV_ATOM_CHARS];
	struct inv_mfa_atom a[2];
	struct inv_token tok;

	if (!skip(c, 2))
		return;
	if (m->arity == 3) {
		if (!inv_cursor_next(c, &tok) && is_fun(&tok)) {
			tok.sep = INV_SEP_NONE;
			inv_term_print_token(c, &tok, out, w);
		}
		return;
	}
	if (!read_atom(c, &a[0], copies[0]) || !read_atom(c, &a[1], copies[1]))
		return;
	if (is_atom(&a[0], "gen") && is_atom(&a[1], "init_it"))
		put_gen(out, c, w);
	else if (!inv_cursor_next(c, &tok) && tok.kind != INV_TOK_HOLE)
		put_mfa(out, &a[0], &a[1],
			tok.kind == INV_TOK_STRING ? tok.len :
			tok.kind == INV_TOK_LIST   ? count(c) :
						     0,
			w);
}

void inv_spawn_name(struct inv_buf *out, struct inv_cursor *c,
		    const struct inv_event *ev, const struct inv_mfa *m,
		    const struct inv_print_opts *w)
{
	bool apply = is_atom(&m->module, "erlang") &&
		     is_atom(&m->function, "apply");
	bool proc_lib = is_atom(&m->module, "proc_lib") &&
			is_atom(&m->function, "init_p");
	struct inv_token tok;

	if (!apply && !proc_lib) {
		put_mfa(out, &m->module, &m->function, m->arity, w);
		return;
	}
	inv_mfa_third(m, c, ev);
	if (!m->has_args || !open_list(c))
		return;
	if (proc_lib) {
		put_proc_lib(out, c, m, w);
	} else if (!inv_cursor_next(c, &tok) && is_fun(&tok)) {
		tok.sep = INV_SEP_NONE;
		inv_term_print_token(c, &tok, out, w);
	}
}

bool inv_noted_name(struct inv_buf *out, struct inv_cursor *c,
		    const struct inv_event *ev, struct inv_mfa *m, int64_t kind,
		    unsigned otp)
{
	struct inv_print_opts w = { .style = INV_PRINT_W,
				    .unicode = true,
				    .otp = otp };
	size_t begin;

	if (kind == INV_NAME_CHILD) {
		if (inv_cursor_int(c, &kind) || kind == INV_NAME_LABEL)
			return false;
		inv_buf_puts(out, INV_CHILD_OF);
	}
	begin = out->len;
	switch (kind) {
	case INV_NAME_FUNCTION:
		if (inv_mfa_read(m, c, ev) != 1)
			return false;
		inv_spawn_name(out, c, ev, m, &w);
		return out->len > begin;
	case INV_NAME_LABEL:
		/* A label often contains strings, which ~p prints as text. */
		w.style = INV_PRINT_P;
		return !inv_term_print(c, out, &w);
	case INV_NAME_REGISTERED:
		return !inv_term_print(c, out, &w);
	default:
		return false;
	}
}
