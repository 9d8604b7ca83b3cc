/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/mfa.h"

#include <string.h>

#include "term/simple.h"

static int must(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

/* Counts the elements of the list of arguments. */
static int count(struct inv_cursor *c, uint32_t *n)
{
	struct inv_token tok;
	int rc;

	for (*n = 0;; ++*n) {
		rc = must(inv_cursor_next(c, &tok));
		if (rc || tok.kind == INV_TOK_END)
			return rc;
		if (tok.kind == INV_TOK_CUT)
			*n += (uint32_t)tok.left - 1;
		rc = must(inv_cursor_skip_rest(c, &tok));
		if (rc)
			return rc;
	}
}

static int third(struct inv_mfa *m, struct inv_cursor *c, bool *is_mfa)
{
	struct inv_token tok;
	int64_t i;
	int rc;

	m->has_args = true;
	if (c->enc == INV_ENC_PACKED &&
	    inv_simple_count(c->p, c->end, &m->arity))
		return 0;
	rc = must(inv_cursor_next(c, &tok));
	if (rc)
		return rc;
	if (inv_token_i64(&tok, &i)) {
		m->has_args = false;
		m->arity = (uint32_t)i;
	} else if (tok.kind == INV_TOK_NIL) {
		m->arity = 0;
	} else if (tok.kind == INV_TOK_STRING) {
		/* A list of integers from 0 to 255 is encoded as a string. */
		m->arity = (uint32_t)(tok.len + (tok.cut ? tok.left : 0));
	} else if (tok.kind == INV_TOK_LIST) {
		return count(c, &m->arity);
	} else {
		*is_mfa = false;
	}
	return 0;
}

/* Sets the module (i = 0) or function (i = 1). If the cursor has converted the
 * atom from Latin-1, its bytes are in the cursor's memory, which the next atom
 * overwrites. Such bytes are copied. */
static void set_atom(struct inv_mfa *m, int i, const struct inv_token *tok,
		     const struct inv_cursor *c)
{
	struct inv_mfa_atom *a = i ? &m->function : &m->module;
	const uint8_t *scratch = &c->scratch[0][0];

	*a = (struct inv_mfa_atom){ tok->bytes, tok->len, tok->plain };
	if (tok->bytes < scratch || tok->bytes >= scratch + sizeof(c->scratch))
		return;
	memcpy(m->converted[i], tok->bytes, tok->len);
	a->bytes = m->converted[i];
}

static struct inv_mfa_atom atom_of(const struct inv_dict_entry *e)
{
	return (struct inv_mfa_atom){ e->bytes, e->len, e->plain };
}

static void set_entry(struct inv_mfa *m, const struct inv_cursor *c,
		      const struct inv_event *ev)
{
	m->is_entry = true;
	m->module = atom_of(m->entry.module);
	m->function = atom_of(m->entry.function);
	m->arity = m->entry.arity;
	m->hash = m->entry.hash;
	m->third = (size_t)(c->p - ev->terms);
}

int inv_mfa_read(struct inv_mfa *m, struct inv_cursor *c,
		 const struct inv_event *ev)
{
	struct inv_token tok;
	bool is_mfa;
	int rc;

	if (inv_cursor_function(c, &m->entry, &m->has_args)) {
		set_entry(m, c, ev);
		return 1;
	}
	m->is_entry = false;
	rc = must(inv_cursor_next(c, &tok));
	is_mfa = !rc && tok.kind == INV_TOK_TUPLE && tok.count == 3;
	for (int i = 0; is_mfa && i < 2; i++) {
		rc = must(inv_cursor_next(c, &tok));
		is_mfa = !rc && tok.kind == INV_TOK_ATOM;
		if (is_mfa)
			set_atom(m, i, &tok, c);
	}
	if (!is_mfa)
		return rc;
	m->third = (size_t)(c->p - ev->terms);
	rc = third(m, c, &is_mfa);
	if (rc || !is_mfa)
		return rc;
	m->hash = inv_function_hash(m->module.bytes, m->module.len,
				    m->function.bytes, m->function.len,
				    m->arity);
	return 1;
}
