/* SPDX-License-Identifier: Apache-2.0 */
/* Prints records with the names of their fields, and leaves out terms that are
 * nested too deeply. */
#include "term/print_int.h"

/* An open tuple that is printed as a record. */
struct record {
	const struct inv_fields_def *def;
	uint32_t depth; /* depth of the cursor inside the tuple */
	uint32_t next;	/* index of the next field */
};

struct printer {
	struct inv_cursor *c;
	struct inv_buf *out;
	const struct inv_print_opts *o;
	struct inv__order order;
	struct inv_buf records; /* a stack of struct record, innermost last */
	uint32_t outside;	/* depth of the cursor outside the term */
};

const struct inv_fields_def *inv_print_record(const struct inv_print_opts *o,
					      const uint8_t *tag, size_t len,
					      uint32_t arity)
{
	const struct inv_fields_def *def;

	for (unsigned i = 0; i < 2; i++) {
		if (!inv_fields_maybe(o->fields[i], tag, len))
			continue;
		def = inv_fields_find(o->fields[i], o->module, o->module_len,
				      tag, len, arity);
		if (def)
			return def;
	}
	return NULL;
}

static struct record *innermost(struct printer *x)
{
	return x->records.len ? (struct record *)(void *)(x->records.data +
							  x->records.len) -
					1 :
				NULL;
}

/* Prints the separator before a token. If the token begins the value of a
 * record's field, also prints the field's name and " = ". */
static void put_before(struct printer *x, const struct inv_token *tok,
		       bool first)
{
	struct record *r = innermost(x);
	uint32_t depth = x->c->depth - inv__print_is_open(tok);
	const uint8_t *name;
	size_t len;

	if (tok->kind == INV_TOK_END)
		return;
	if (!r || r->depth != depth) {
		if (!first)
			inv__print_sep(tok, x->out);
		return;
	}
	if (r->next)
		inv_buf_putc(x->out, ',');
	if (tok->kind == INV_TOK_CUT)
		return;
	name = inv_fields_name(r->def, r->next++, &len);
	inv_buf_put(x->out, name, len);
	inv_buf_puts(x->out, " = ");
}

/* Skips a container that is nested too deeply, and prints {...}, [...] or
 * #{...} in its place. For a record, also prints the record's name. */
static int leave_out(struct printer *x, const struct inv_token *tok)
{
	uint32_t depth = x->c->depth;
	unsigned kind = tok->kind;
	uint32_t arity = tok->count;
	struct inv_token tag;
	int rc;

	if (kind == INV_TOK_TUPLE) {
		rc = inv_cursor_next(x->c, &tag);
		if (rc)
			return rc;
		if (tag.kind == INV_TOK_ATOM &&
		    inv_print_record(x->o, tag.bytes, tag.len, arity)) {
			inv_buf_putc(x->out, '#');
			inv_term_print_atom(tag.bytes, tag.len, x->out, x->o);
		}
	}
	inv_buf_puts(x->out, kind == INV_TOK_MAP   ? "#{...}" :
			     kind == INV_TOK_TUPLE ? "{...}" :
						     "[...]");
	return inv_cursor_leave(x->c, depth - 1);
}

static void put_token(struct printer *x, const struct inv_token *tok)
{
	inv__print_token(tok, false, x->out, x->o);
	if (tok->kind == INV_TOK_MAP && tok->count > INV_SMALL_MAP &&
	    x->c->enc == INV_ENC_ETF)
		inv__order_open(&x->order, x->c->depth);
}

/* Prints the opening bracket of a tuple, and reads the first token of its first
 * element into *tok. If the tuple is a record, this element is the record's
 * name, and is printed, too. If not, sets *again to true: the caller must print
 * *tok. */
static int open_tuple(struct printer *x, struct inv_token *tok, bool *again)
{
	uint32_t arity = tok->count;
	struct record r = { .depth = x->c->depth };
	int rc = inv_cursor_next(x->c, tok);

	if (rc)
		return rc;
	if (tok->kind == INV_TOK_ATOM)
		r.def = inv_print_record(x->o, tok->bytes, tok->len, arity);
	*again = !r.def;
	inv_buf_putc(x->out, r.def ? '#' : '{');
	if (!r.def)
		return 0;
	inv_term_print_atom(tok->bytes, tok->len, x->out, x->o);
	inv_buf_putc(x->out, '{');
	inv_buf_put(&x->records, &r, sizeof(r));
	return x->records.error;
}

/* Prints the token *tok. If it opens a list that is a string, prints the whole
 * string. If it opens a tuple, also prints the first element's first token. */
static int print_one(struct printer *x, struct inv_token *tok, bool first)
{
	bool again = true;
	int rc = 0;

	for (; again; first = false) {
		again = false;
		if (x->order.depth)
			inv__print_keep_order(&x->order, x->c, tok, x->out);
		put_before(x, tok, first);
		if (tok->kind == INV_TOK_LIST && x->o->style == INV_PRINT_P &&
		    inv__print_list_is_string(x->c, x->o))
			return inv__print_list_string(x->c, x->out);
		if (inv__print_is_open(tok) && x->o->depth &&
		    x->c->depth - x->outside > x->o->depth)
			return leave_out(x, tok);
		if (tok->kind == INV_TOK_TUPLE)
			rc = open_tuple(x, tok, &again);
		else
			put_token(x, tok);
		if (rc)
			return rc;
	}
	if (tok->kind == INV_TOK_END && innermost(x) &&
	    innermost(x)->depth > x->c->depth)
		x->records.len -= sizeof(struct record);
	return x->out->error;
}

int inv__print_fields(struct inv_cursor *c, const struct inv_token *first,
		      struct inv_buf *out, const struct inv_print_opts *o)
{
	struct printer x = { .c = c, .out = out, .o = o };
	struct inv_token tok = *first;
	int rc;

	x.outside = c->depth - inv__print_is_open(first);
	rc = print_one(&x, &tok, true);
	while (!rc && c->depth > x.outside) {
		rc = inv_cursor_next(c, &tok);
		if (!rc)
			rc = print_one(&x, &tok, false);
	}
	inv_buf_release(&x.records);
	inv__order_release(&x.order);
	return rc;
}
