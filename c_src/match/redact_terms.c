/* SPDX-License-Identifier: Apache-2.0 */
#include "match/redact_terms.h"

#include <string.h>

#include "base/varint.h"

/* The deepest nesting that is copied. It is more than INV_ENCODE_DEPTH, the
 * deepest nesting that a tracer records. copy_term recurses for each level. */
#define DEPTH_MAX 200

/* How many elements of a list are checked. A stack trace is checked for
 * functions with a rule, and any other list for stack traces. nif/redact.c has
 * the same limit. */
#define STACK_MAX 16

#define HIDDEN                                           \
	(sizeof(((struct inv_redact_copy *)0)->hidden) / \
	 sizeof(struct inv_redact_hidden))

static int copy_term(struct inv_redact_copy *x, enum inv_redact_how how,
		     unsigned depth);

/* --- reading -------------------------------------------------------------- */

/* Initializes the cursor at p, and reads the first token. */
static int look(const struct inv_redact_copy *x, const uint8_t *p,
		struct inv_token *tok)
{
	inv_cursor_init(x->cursor, INV_ENC_PACKED, x->dict, p,
			(size_t)(x->end - p));
	return inv_cursor_next(x->cursor, tok) ? INV_EDAMAGED : 0;
}

/* Returns a pointer to the byte after the term at p, or NULL if the term is
 * invalid. */
static const uint8_t *after(const struct inv_redact_copy *x, const uint8_t *p)
{
	return inv_redact_after(x->ends, x->cursor, x->dict, p, x->end);
}

/* Returns the name of the atom at p. `bytes' is NULL if there is no atom at
 * p. */
static struct inv_redact_name atom_at(const struct inv_redact_copy *x,
				      const uint8_t *p)
{
	const struct inv_dict_entry *e = NULL;
	uint64_t n;

	if (!p || p >= x->end)
		return (struct inv_redact_name){ NULL, 0 };
	if (*p >= INV_T_DICT_SMALL && *p < INV_T_TUPLE_SMALL)
		e = inv_dict_get(x->dict, *p - INV_T_DICT_SMALL);
	else if (*p == INV_T_DICT && inv_varint_get(p + 1, x->end, &n))
		e = inv_dict_get(x->dict, n);
	if (!e || e->kind != INV_DEF_ATOM)
		return (struct inv_redact_name){ NULL, 0 };
	return (struct inv_redact_name){ e->bytes, e->len };
}

/* If there is a tuple at p, sets *arity and returns a pointer to the tuple's
 * first element. Otherwise returns NULL. */
static const uint8_t *tuple_at(const struct inv_redact_copy *x,
			       const uint8_t *p, uint32_t *arity)
{
	uint64_t n;

	if (!p || p >= x->end)
		return NULL;
	if (*p >= INV_T_TUPLE_SMALL && *p < INV_T_BINARY_SMALL) {
		*arity = *p - INV_T_TUPLE_SMALL;
		return p + 1;
	}
	if (*p != INV_T_TUPLE || !(p = inv_varint_get(p + 1, x->end, &n)) ||
	    n > UINT32_MAX)
		return NULL;
	*arity = (uint32_t)n;
	return p;
}

static uint8_t *put_utf8(uint8_t *w, uint32_t c)
{
	if (c < 0x80) {
		*w++ = (uint8_t)c;
		return w;
	}
	if (c < 0x800) {
		*w++ = (uint8_t)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*w++ = (uint8_t)(0xe0 | c >> 12);
		} else {
			*w++ = (uint8_t)(0xf0 | c >> 18);
			*w++ = (uint8_t)(0x80 | (c >> 12 & 0x3f));
		}
		*w++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	}
	*w++ = (uint8_t)(0x80 | (c & 0x3f));
	return w;
}

/* Returns true if the list that begins with tok is a string, and its text is a
 * key whose values are redacted. */
static bool is_string_key(const struct inv_redact_copy *x,
			  const struct inv_token *tok)
{
	uint8_t name[INV_REDACT_KEY_MAX + 4];
	struct inv_token next;
	uint8_t *w = name;

	if (tok->kind == INV_TOK_STRING) {
		for (size_t i = 0; i < tok->len; i++) {
			if (w >= name + INV_REDACT_KEY_MAX)
				return false;
			w = put_utf8(w, tok->bytes[i]);
		}
		return !tok->cut &&
		       inv_redact_key(x->rules, name, (size_t)(w - name));
	}
	while (!inv_cursor_next(x->cursor, &next) && next.kind == INV_TOK_INT &&
	       next.i >= 0 && next.i <= 0x10ffff && next.sep != INV_SEP_BAR &&
	       w < name + INV_REDACT_KEY_MAX)
		w = put_utf8(w, (uint32_t)next.i);
	return next.kind == INV_TOK_END &&
	       inv_redact_key(x->rules, name, (size_t)(w - name));
}

/* Returns true if the term at p is a key whose values are redacted. */
static bool is_key(const struct inv_redact_copy *x, const uint8_t *p)
{
	struct inv_token tok = { 0 };

	if (look(x, p, &tok))
		return false;
	switch (tok.kind) {
	case INV_TOK_ATOM:
		return inv_redact_key(x->rules, tok.bytes, tok.len);
	case INV_TOK_BINARY:
		return !tok.cut && tok.last_bits == 8 &&
		       inv_redact_key(x->rules, tok.bytes, tok.len);
	case INV_TOK_STRING:
	case INV_TOK_LIST:
		return is_string_key(x, &tok);
	default:
		return false;
	}
}

/* --- writing -------------------------------------------------------------- */

static int take(struct inv_redact_copy *x, const uint8_t *to)
{
	if (!to)
		return INV_EDAMAGED;
	inv_buf_put(x->out, x->p, (size_t)(to - x->p));
	x->p = to;
	return 0;
}

static const uint8_t types[] = {
	[INV_TOK_INT] = INV_REDACTED_INTEGER,
	[INV_TOK_BIG] = INV_REDACTED_INTEGER,
	[INV_TOK_FLOAT] = INV_REDACTED_FLOAT,
	[INV_TOK_ATOM] = INV_REDACTED_ATOM,
	[INV_TOK_PID] = INV_REDACTED_PID,
	[INV_TOK_PORT] = INV_REDACTED_PORT,
	[INV_TOK_REF] = INV_REDACTED_REF,
	[INV_TOK_BINARY] = INV_REDACTED_BINARY,
	[INV_TOK_STRING] = INV_REDACTED_LIST,
	[INV_TOK_NIL] = INV_REDACTED_LIST,
	[INV_TOK_TUPLE] = INV_REDACTED_TUPLE,
	[INV_TOK_LIST] = INV_REDACTED_LIST,
	[INV_TOK_MAP] = INV_REDACTED_MAP,
	[INV_TOK_EXPORT] = INV_REDACTED_FUN,
	[INV_TOK_FUN] = INV_REDACTED_FUN,
	[INV_TOK_TEXT] = INV_REDACTED_FUN,
	[INV_TOK_CUT] = 0,
};

static uint64_t type_of(const struct inv_token *tok)
{
	static const uint8_t cuts[] = {
		[INV_CUT_TUPLE] = INV_REDACTED_TUPLE,
		[INV_CUT_MAP] = INV_REDACTED_MAP,
		[INV_CUT_LIST] = INV_REDACTED_LIST,
		[INV_CUT_LIST_MIN] = INV_REDACTED_LIST,
		[INV_CUT_BINARY] = INV_REDACTED_BINARY,
		[INV_CUT_INT] = INV_REDACTED_INTEGER,
		[INV_CUT_OTHER] = INV_REDACTED_TERM,
		[INV_CUT_BITS] = INV_REDACTED_BINARY,
	};

	if (tok->kind != INV_TOK_HOLE)
		return types[tok->kind];
	return inv_token_redacted(tok) ? inv_token_redacted(tok) :
					 cuts[tok->cut];
}

/* Skips the next term, and writes a mark in its place. */
static int hide(struct inv_redact_copy *x)
{
	const uint8_t *next = after(x, x->p);
	struct inv_token tok;
	uint8_t type[INV_VARINT_MAX];

	if (!next || look(x, x->p, &tok))
		return INV_EDAMAGED;
	if (x->n_hidden < HIDDEN)
		x->hidden[x->n_hidden] =
			(struct inv_redact_hidden){ x->p,
						    (size_t)(next - x->p) };
	x->n_hidden++;
	x->marks += !inv_token_redacted(&tok);
	inv_buf_putc(x->out, (char)INV_T_HOLE);
	inv_buf_putc(x->out, INV_CUT_OTHER);
	inv_buf_put(x->out, type,
		    (size_t)(inv_varint_put(type, type_of(&tok)) - type));
	x->p = next;
	return 0;
}

/* If a CUT is next (it stands for the rest of a container, see abi/term.h),
 * copies it, sets *rc to 0 or INV_EDAMAGED, and returns true. */
static bool take_cut(struct inv_redact_copy *x, int *rc)
{
	uint64_t n;

	if (x->p >= x->end || *x->p != INV_T_CUT)
		return false;
	*rc = x->end - x->p < 3 ? INV_EDAMAGED :
				  take(x, inv_varint_get(x->p + 2, x->end, &n));
	return true;
}

/* --- functions ------------------------------------------------------------ */

static bool rules_of(const struct inv_redact_copy *x,
		     struct inv_redact_name module,
		     struct inv_redact_name function, uint32_t arity,
		     struct inv_redact_call *call)
{
	const struct inv_redact_name name[2] = { module, function };

	*call = (struct inv_redact_call){ .any = false };
	return module.bytes && function.bytes &&
	       inv_redact_calls(x->rules, name, arity, call);
}

/* Returns the arity of a function from the term at p, which is the arity itself
 * or the list of arguments. */
static uint32_t arity_at(const struct inv_redact_copy *x, const uint8_t *p)
{
	struct inv_token tok;
	uint64_t left;
	uint32_t n = 0;

	if (look(x, p, &tok))
		return UINT32_MAX;
	if (tok.kind == INV_TOK_INT)
		return tok.i >= 0 && tok.i < 256 ? (uint32_t)tok.i : UINT32_MAX;
	if (tok.kind == INV_TOK_STRING)
		return (uint32_t)(tok.len + (tok.cut ? tok.left : 0));
	if (tok.kind != INV_TOK_LIST)
		return tok.kind == INV_TOK_NIL ? 0 : UINT32_MAX;
	for (p++; n < 256 && p && p < x->end && *p != INV_T_END; n++) {
		if (*p == INV_T_TAIL)
			return UINT32_MAX;
		if (*p == INV_T_CUT)
			return n +
			       (x->end - p > 2 && inv_varint_get(p + 2, x->end,
								 &left) ?
					(uint32_t)(left < 256 ? left : 256) :
					0);
		p = after(x, p);
	}
	return n;
}

/* The elements of a tuple {M, F, Args | Arity, ...} begin at p. Sets *call to
 * the parts that the rules redact in calls of M:F. Returns true if this
 * function has a rule. */
static bool rules_at(const struct inv_redact_copy *x, const uint8_t *p,
		     struct inv_redact_call *call)
{
	struct inv_redact_name module = atom_at(x, p);
	struct inv_redact_name function;
	const uint8_t *third;

	*call = (struct inv_redact_call){ .any = false };
	if (x->rules->n_functions == 0 || !module.bytes)
		return false;
	p = after(x, p);
	function = atom_at(x, p);
	if (!function.bytes ||
	    !(inv_redact_atom(x->rules, function.bytes, function.len) &
	      INV_REDACT_IS_FUNCTION))
		return false;
	third = after(x, p);
	return third && rules_of(x, module, function, arity_at(x, third), call);
}

/* Returns true if there is a list at p. */
static bool is_list(const uint8_t *p)
{
	return *p == INV_T_LIST || *p == INV_T_STRING ||
	       *p == INV_T_STRING_CUT ||
	       (*p >= INV_T_STRING_SMALL && *p <= INV_T_NIL);
}

/* Returns true if the next term is redacted because of the elements before it
 * in the same tuple or list. before[1] is the element directly before the term,
 * and before[0] is the element before that; NULL: there is no such element.
 *
 * There are two cases. First: before[0], before[1] and the term are M, F and
 * Args of a function with a rule for its arguments. Second: before[1] is an
 * atom M, the term is no atom, and a rule redacts the argument of M:init/1.
 * (inv_redact_passed of nif/redact.h makes the same test.) */
static bool is_passed(const struct inv_redact_copy *x,
		      const uint8_t *const before[2])
{
	static const struct inv_redact_name init = { (const uint8_t *)"init",
						     4 };
	struct inv_redact_call call;

	if (x->rules->n_functions == 0 || x->p >= x->end)
		return false;
	if (is_list(x->p) && before[0] && rules_at(x, before[0], &call) &&
	    call.args)
		return true;
	return !atom_at(x, x->p).bytes && before[1] &&
	       rules_of(x, atom_at(x, before[1]), init, 1, &call) &&
	       inv_redact_has(call.args, 0);
}

/* Copies the next element of a tuple or list. */
static int copy_element(struct inv_redact_copy *x, const uint8_t *before[2],
			enum inv_redact_how how, unsigned depth)
{
	const uint8_t *p = x->p;
	int rc;

	if (how != INV_REDACT_NOT && how != INV_REDACT_SHAPE &&
	    is_passed(x, before))
		how = INV_REDACT_HIDE;
	rc = copy_term(x, how, depth);
	before[0] = before[1];
	before[1] = p;
	return rc;
}

/* Copies the n arguments of an APPLY. `set' are the arguments that are redacted
 * as a whole. */
static int copy_args(struct inv_redact_copy *x, uint32_t n, inv_redact_set set,
		     enum inv_redact_how how)
{
	const uint8_t *before[2] = { NULL, NULL };
	int rc = 0;

	for (uint32_t i = 0; !rc && i < n && !take_cut(x, &rc); i++) {
		if (!after(x, x->p))
			return INV_EDAMAGED;
		rc = copy_element(
			x, before,
			inv_redact_has(set, i) ? INV_REDACT_HIDE : how, 2);
	}
	return rc;
}

bool inv_redact_open_tuple(struct inv_redact_copy *x, uint32_t n)
{
	uint32_t arity;
	const uint8_t *p = tuple_at(x, x->p, &arity);

	return p && arity == n && !take(x, p);
}

int inv_redact_mfa_term(struct inv_redact_copy *x, struct inv_redact_call *call)
{
	enum inv_redact_how how = x->rules->all ? INV_REDACT_SHAPE :
						  INV_REDACT_BY_RULES;
	struct inv_dict_function f;
	const uint8_t *before[2] = { NULL, NULL };
	uint32_t arity;
	const uint8_t *p;
	bool with_args;
	int rc;

	*call = (struct inv_redact_call){ .any = false };
	inv_cursor_init(x->cursor, INV_ENC_PACKED, x->dict, x->p,
			(size_t)(x->end - x->p));
	if (inv_cursor_function(x->cursor, &f, &with_args)) {
		rules_of(x,
			 (struct inv_redact_name){ f.module->bytes,
						   f.module->len },
			 (struct inv_redact_name){ f.function->bytes,
						   f.function->len },
			 f.arity, call);
		rc = take(x, x->p + inv_cursor_offset(x->cursor));
		return rc || !with_args ?
			       rc :
			       copy_args(x, f.arity, call->args, how);
	}
	p = tuple_at(x, x->p, &arity);
	if (!p || arity != 3)
		return inv_redact_term(x, how);
	if (!after(x, x->p))
		return INV_EDAMAGED;
	rules_at(x, p, call);
	rc = take(x, p);
	if (!rc)
		rc = copy_term(x, INV_REDACT_NOT, 1);
	if (!rc)
		rc = copy_term(x, INV_REDACT_NOT, 1);
	if (!rc && x->p < x->end && *x->p == INV_T_LIST) {
		rc = take(x, x->p + 1);
		for (uint32_t i = 0; !rc && x->p < x->end && *x->p != INV_T_END;
		     i++) {
			if (take_cut(x, &rc))
				return rc;
			rc = *x->p == INV_T_TAIL ?
				     INV_EDAMAGED :
				     copy_element(x, before,
						  inv_redact_has(call->args,
								 i) ?
							  INV_REDACT_HIDE :
							  how,
						  2);
		}
		return rc ? rc : take(x, x->p < x->end ? x->p + 1 : NULL);
	}
	/* The third element is an arity, the empty list, or a list of small
	 * integers, which is encoded as a string. */
	return rc ? rc :
		    copy_term(x,
			      *x->p >= INV_T_STRING_SMALL &&
					      *x->p < INV_T_NIL &&
					      (call->args || x->rules->all) ?
				      INV_REDACT_HIDE :
				      INV_REDACT_NOT,
			      1);
}

/* --- containers ----------------------------------------------------------- */

/* Returns true if the term at p is a stack trace, and at least one of its first
 * STACK_MAX functions has a rule. */
static bool is_ruled_stack(const struct inv_redact_copy *x, const uint8_t *p)
{
	struct inv_redact_call call;
	uint32_t arity;
	const uint8_t *q;

	if (!p || p >= x->end || *p != INV_T_LIST)
		return false;
	p++;
	for (unsigned i = 0; i < STACK_MAX && p; i++) {
		q = tuple_at(x, p, &arity);
		if (!q || arity < 3)
			return false;
		p = after(x, p);
		if (rules_at(x, q, &call))
			return true;
	}
	return false;
}

/* Returns true if the term at p is a stack trace for which is_ruled_stack is
 * true, or a pair {_, Stack} with such a stack trace. */
static bool has_stack(const struct inv_redact_copy *x, const uint8_t *p)
{
	uint32_t arity;
	const uint8_t *first = tuple_at(x, p, &arity);

	if (first)
		return arity == 2 && is_ruled_stack(x, after(x, first));
	return is_ruled_stack(x, p);
}

/* Returns true if has_stack is true for at least one of the first STACK_MAX
 * elements of the list at p. */
static bool list_has_stack(const struct inv_redact_copy *x, const uint8_t *p)
{
	if (x->rules->n_functions == 0)
		return false;
	p++;
	for (unsigned i = 0;
	     i < STACK_MAX && p && p < x->end && *p != INV_T_END &&
	     *p != INV_T_TAIL && *p != INV_T_CUT;
	     i++) {
		if (has_stack(x, p))
			return true;
		p = after(x, p);
	}
	return false;
}

/* Returns true if has_stack is true for at least one of the n values of a map,
 * whose pairs begin at p. */
static bool map_has_stack(const struct inv_redact_copy *x, const uint8_t *p,
			  uint64_t n)
{
	if (x->rules->n_functions == 0)
		return false;
	for (; n > 0 && p && p < x->end && *p != INV_T_CUT; n--) {
		p = after(x, p);
		if (has_stack(x, p))
			return true;
		p = after(x, p);
	}
	return false;
}

/* Returns how to copy the next element of a list or map in which list_has_stack
 * or map_has_stack has found a stack trace. The stack trace itself is copied by
 * the rules. The other elements are copied with INV_REDACT_REASON, because they
 * can contain the arguments of a function in the stack trace. */
static enum inv_redact_how beside(const struct inv_redact_copy *x)
{
	return has_stack(x, x->p) ? INV_REDACT_BY_RULES : INV_REDACT_REASON;
}

/* How the elements of a tuple are copied. */
struct tuple {
	inv_redact_set hidden; /* elements that are redacted */
	bool reason;   /* the last element is a stack trace in which a function
			* has a rule; the elements before it, except an atom at
			* the beginning, are copied with INV_REDACT_REASON */
	uint32_t tags; /* how many elements at the beginning are copied
			* unchanged if only the tuple's shape remains */
};

/* Returns true for a tuple {http_header, _, Name, _, Value} whose Name is a
 * redacted key. `first' is the tuple's first element. */
static bool is_http_header(const struct inv_redact_copy *x,
			   const uint8_t *first)
{
	struct inv_redact_name tag = atom_at(x, first);
	const uint8_t *p;

	if (!tag.bytes || tag.len != 11 ||
	    memcmp(tag.bytes, "http_header", 11) != 0)
		return false;
	p = after(x, first);
	p = p ? after(x, p) : NULL;
	return p && is_key(x, p);
}

static void read_rules(const struct inv_redact_copy *x, const uint8_t *first,
		       uint32_t arity, struct tuple *t)
{
	const struct inv_redact *r = x->rules;
	const uint8_t *third;

	if (arity == 2 && is_key(x, first))
		t->hidden |= 2;
	if (arity == 5 && is_http_header(x, first))
		t->hidden |= 16;
	if (r->n_records > 0 && atom_at(x, first).bytes)
		t->hidden |= inv_redact_fields(r, atom_at(x, first), arity);
	if (r->n_functions == 0 || arity < 2)
		return;
	third = after(x, first);
	if (arity == 3)
		third = after(x, third);
	if (arity <= 3)
		t->reason = is_ruled_stack(x, third);
}

static bool is_place(const struct inv_redact_copy *x, const uint8_t *p)
{
	struct inv_redact_name name;
	uint32_t arity;

	if (!p || p >= x->end || *p != INV_T_LIST)
		return false;
	p = tuple_at(x, p + 1, &arity);
	if (!p || arity != 2)
		return false;
	name = atom_at(x, p);
	return (name.len == 4 && (!memcmp(name.bytes, "file", 4) ||
				  !memcmp(name.bytes, "line", 4))) ||
	       (name.len == 10 && !memcmp(name.bytes, "error_info", 10));
}

static uint32_t tags_of(const struct inv_redact_copy *x, const uint8_t *first,
			uint32_t arity)
{
	const uint8_t *second;
	const uint8_t *third;

	if (!arity || !atom_at(x, first).bytes)
		return 0;
	second = arity == 4 ? after(x, first) : NULL;
	if (!second || !atom_at(x, second).bytes)
		return 1;
	third = after(x, second);
	if (!third || !is_place(x, after(x, third)))
		return 1;
	return *third < INV_T_DICT_SMALL || *third == INV_T_INT ? 3 : 2;
}

static int copy_tuple(struct inv_redact_copy *x, enum inv_redact_how how,
		      unsigned depth)
{
	const uint8_t *before[2] = { NULL, NULL };
	struct tuple t = { 0 };
	uint32_t arity = 0;
	const uint8_t *first = tuple_at(x, x->p, &arity);
	int rc;

	if (!first)
		return INV_EDAMAGED;
	if (how == INV_REDACT_BY_RULES)
		read_rules(x, first, arity, &t);
	else
		t.tags = tags_of(x, first, arity);
	rc = take(x, first);
	for (uint32_t i = 0; !rc && i < arity && !take_cut(x, &rc); i++)
		rc = copy_element(
			x, before,
			inv_redact_has(t.hidden, i) ? INV_REDACT_HIDE :
			t.reason && i + 1 < arity &&
					(i > 0 || !atom_at(x, x->p).bytes) ?
						      INV_REDACT_REASON :
			i < t.tags ? INV_REDACT_NOT :
				     how,
			depth + 1);
	return rc;
}

static int copy_map(struct inv_redact_copy *x, enum inv_redact_how how,
		    unsigned depth)
{
	uint64_t n = 0;
	int rc = take(x, inv_varint_get(x->p + 1, x->end, &n));
	bool ruled = !rc && how == INV_REDACT_BY_RULES &&
		     map_has_stack(x, x->p, n);
	bool hidden;

	for (uint64_t i = 0; !rc && i < n && !take_cut(x, &rc); i++) {
		hidden = how == INV_REDACT_BY_RULES && is_key(x, x->p);
		rc = copy_term(x,
			       how == INV_REDACT_SHAPE &&
					       atom_at(x, x->p).bytes ?
				       INV_REDACT_NOT :
				       how,
			       depth + 1);
		if (!rc)
			rc = copy_term(x,
				       hidden ? INV_REDACT_HIDE :
				       ruled  ? beside(x) :
						how,
				       depth + 1);
	}
	return rc;
}

/* Returns true if the next term is a list of integers. */
static bool is_text(const struct inv_redact_copy *x)
{
	struct inv_token tok;
	int rc = look(x, x->p, &tok);

	while (!rc && !(rc = inv_cursor_next(x->cursor, &tok)) &&
	       (tok.kind == INV_TOK_INT || tok.kind == INV_TOK_BIG) &&
	       tok.sep != INV_SEP_BAR)
		;
	return !rc && (tok.kind == INV_TOK_END || tok.kind == INV_TOK_CUT ||
		       tok.sep == INV_SEP_BAR);
}

static int copy_list(struct inv_redact_copy *x, enum inv_redact_how how,
		     unsigned depth)
{
	const uint8_t *before[2] = { NULL, NULL };
	const uint8_t *last = NULL;
	bool ruled;
	int rc;

	if (how == INV_REDACT_SHAPE && is_text(x))
		return hide(x);
	ruled = how == INV_REDACT_BY_RULES && list_has_stack(x, x->p);
	rc = take(x, x->p + 1);
	while (!rc && x->p < x->end && *x->p != INV_T_END) {
		if (take_cut(x, &rc))
			return rc;
		if (*x->p == INV_T_TAIL) {
			/* In [Key | Value] the tail is the key's value. */
			bool hidden = how == INV_REDACT_BY_RULES && last &&
				      is_key(x, last);

			rc = take(x, x->p + 1);
			return rc ? rc :
				    copy_term(x,
					      hidden ? INV_REDACT_HIDE :
					      ruled  ? beside(x) :
						       how,
					      depth + 1);
		}
		last = x->p;
		rc = copy_element(x, before, ruled ? beside(x) : how,
				  depth + 1);
	}
	return rc ? rc : take(x, x->p < x->end ? x->p + 1 : NULL);
}

/* --- terms ---------------------------------------------------------------- */

static bool is_reason(struct inv_redact_name name)
{
	static const char *const reasons[] = {
		"badarg",	"badarith",	 "function_clause",
		"if_clause",	"undef",	 "noproc",
		"noconnection", "timeout_value", "system_limit",
		"normal",	"shutdown",	 "kill",
		"killed",	"error",	 "exit",
		"throw",
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (strlen(reasons[i]) == name.len &&
		    !memcmp(reasons[i], name.bytes, name.len))
			return true;
	return false;
}

static int copy_scalar(struct inv_redact_copy *x, enum inv_redact_how how)
{
	struct inv_token tok;

	if (how == INV_REDACT_BY_RULES)
		return take(x, after(x, x->p));
	if (look(x, x->p, &tok))
		return INV_EDAMAGED;
	switch (tok.kind) {
	case INV_TOK_NIL:
	case INV_TOK_PID:
	case INV_TOK_PORT:
	case INV_TOK_REF:
	case INV_TOK_EXPORT:
	case INV_TOK_FUN:
	case INV_TOK_TEXT:
		return take(x, after(x, x->p));
	default:
		return hide(x);
	}
}

/* Returns true if the next term, a part of the result of a match spec, is a
 * value that was redacted in the event's other terms. */
static bool is_again(const struct inv_redact_copy *x)
{
	const uint8_t *next = after(x, x->p);

	if (!next)
		return false;
	for (unsigned i = 0; i < x->n_hidden; i++)
		if (x->hidden[i].len == (size_t)(next - x->p) &&
		    !memcmp(x->hidden[i].p, x->p, x->hidden[i].len))
			return true;
	return false;
}

static int copy_term(struct inv_redact_copy *x, enum inv_redact_how how,
		     unsigned depth)
{
	uint32_t arity;

	if (x->p >= x->end)
		return INV_EDAMAGED;
	if (x->in_result && is_again(x))
		return hide(x);
	if (how == INV_REDACT_NOT)
		return take(x, after(x, x->p));
	if (how == INV_REDACT_REASON) {
		if (atom_at(x, x->p).bytes && is_reason(atom_at(x, x->p)))
			return take(x, after(x, x->p));
		how = INV_REDACT_SHAPE;
	}
	if (how == INV_REDACT_HIDE || depth > DEPTH_MAX)
		return hide(x);
	if (tuple_at(x, x->p, &arity))
		return copy_tuple(x, how, depth);
	if (*x->p == INV_T_MAP)
		return copy_map(x, how, depth);
	if (*x->p == INV_T_LIST)
		return copy_list(x, how, depth);
	return copy_scalar(x, how);
}

int inv_redact_result(struct inv_redact_copy *x)
{
	int rc;

	/* x->hidden does not have all redacted values, so each part of the
	 * result could be one of them, also a tag or a pid. */
	if (x->n_hidden > HIDDEN)
		return hide(x);
	x->in_result = x->n_hidden > 0;
	rc = inv_redact_term(x, INV_REDACT_BY_RULES);
	x->in_result = false;
	return rc;
}

int inv_redact_term(struct inv_redact_copy *x, enum inv_redact_how how)
{
	if (how == INV_REDACT_BY_RULES && x->rules->all)
		how = INV_REDACT_SHAPE;
	/* after() reads the whole term, so that the ends of all containers in
	 * the term are remembered (inv_redact_after). */
	if (how != INV_REDACT_NOT && how != INV_REDACT_HIDE && !after(x, x->p))
		return INV_EDAMAGED;
	return copy_term(x, how, 0);
}
