/* SPDX-License-Identifier: Apache-2.0 */
#include "match/call.h"

#include <stdio.h>
#include <string.h>

#include "term/tree_text.h"

/* Maximum number of variables in a call. */
#define NAMES 64
/*
 * The maximum depth of recursion of expr(). A pair of brackets takes six
 * levels, one for each level of operators and one for itself.
 */
#define DEPTH 1200
#define ARGS 255

struct call {
	struct inv_text text;
	bool guard; /* true in a condition, where variables must be bound */
	unsigned depth;
	size_t n_names;
	struct {
		const char *name;
		size_t len;
	} names[NAMES];
};

/* --- makers --------------------------------------------------------------- */

static inv_word too_big(struct call *c)
{
	if (!c->text.rc)
		c->text.rc = inv_err_set(c->text.err, INV_ETOOBIG,
					 "the call is too big");
	return 0;
}

static inv_word atom(struct call *c, const char *name, size_t len)
{
	inv_word *w = inv_heap_take(c->text.h, (len + 7) / 8);
	inv_word t;

	if (!w)
		return too_big(c);
	memcpy(w, name, len);
	t = inv_make_atom(c->text.h, w, len);
	return t ? t : too_big(c);
}

static inv_word tuple(struct call *c, size_t n, const inv_word *elements)
{
	inv_word *w;

	for (size_t i = 0; i < n; i++)
		if (!elements[i])
			return 0;
	w = inv_make_tuple(c->text.h, n);
	if (!w)
		return too_big(c);
	memcpy(w + 1, elements, n * sizeof(*w));
	return (inv_word)(uintptr_t)w;
}

static inv_word cons(struct call *c, inv_word head, inv_word tail)
{
	inv_word t = head && tail ? inv_make_cons(c->text.h, head, tail) : 0;

	return t || !head || !tail ? t : too_big(c);
}

static inv_word named(struct call *c, const char *name)
{
	return atom(c, name, strlen(name));
}

/* --- variables ------------------------------------------------------------ */

static inv_word variable(void *arg, struct inv_text *s, const char *name,
			 size_t len)
{
	struct call *c = arg;
	char text[16];
	size_t i;

	(void)s;
	for (i = 0; i < c->n_names; i++)
		if (c->names[i].len == len &&
		    !memcmp(c->names[i].name, name, len))
			break;
	if (i == c->n_names) {
		if (c->guard)
			return inv_text_fail(s, "the variable before this is "
						"not in the arguments");
		if (i == NAMES)
			return inv_text_fail(s, "too many variables");
		c->names[i].name = name;
		c->names[c->n_names++].len = len;
	}
	snprintf(text, sizeof(text), "$%zu", i + 1);
	return named(c, text);
}

/* --- conditions ----------------------------------------------------------- */

static inv_word expr(struct call *c, unsigned level);

/*
 * Operators by level: the first level binds least tightly, the last level most
 * tightly. The first operator that fits is taken; so within a level, "=<" comes
 * before "<", for example: an operator comes before its own prefixes.
 */
#define LEVELS 5
#define COMPARES 2
static const char *const operators[LEVELS][10] = {
	{ "orelse" },
	{ "andalso" },
	{ "=:=", "=/=", "==", "/=", "=<", ">=", "<", ">" },
	{ "+", "-", "bor", "bxor", "bsl", "bsr", "or", "xor" },
	{ "*", "/", "div", "rem", "band", "and" },
};

static bool is_word_char(int ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
	       (ch >= '0' && ch <= '9') || ch == '_' || ch == '@';
}

/* Reads the token, if it is next. A token of letters must be a whole word. */
static bool take_word(struct call *c, const char *token)
{
	const uint8_t *p = c->text.p;

	if (!inv_text_take(&c->text, token))
		return false;
	if (is_word_char(token[0]) && c->text.p < c->text.end &&
	    is_word_char(*c->text.p)) {
		c->text.p = p;
		return false;
	}
	return true;
}

static bool need(struct call *c, const char *token, const char *why)
{
	if (c->text.rc)
		return false;
	if (inv_text_take(&c->text, token))
		return true;
	inv_text_fail(&c->text, why);
	return false;
}

/*
 * Reads expressions separated by commas, up to the closing token, and returns
 * their number.
 */
static size_t exprs(struct call *c, const char *closing, inv_word *to,
		    const char *why)
{
	size_t n = 0;

	if (inv_text_take(&c->text, closing))
		return 0;
	do {
		if (n == ARGS) {
			too_big(c);
			return n;
		}
		to[n++] = expr(c, 0);
	} while (!c->text.rc && inv_text_take(&c->text, ","));
	need(c, closing, why);
	return n;
}

static inv_word list(struct call *c)
{
	inv_word l = INV_NIL, w[ARGS];
	size_t n = 0;

	if (inv_text_take(&c->text, "]"))
		return INV_NIL;
	do {
		if (n == ARGS)
			return too_big(c);
		w[n++] = expr(c, 0);
	} while (!c->text.rc && inv_text_take(&c->text, ","));
	if (inv_text_take(&c->text, "|"))
		l = expr(c, 0);
	if (!need(c, "]", "']' expected in a list"))
		return 0;
	while (n > 0)
		l = cons(c, w[--n], l);
	return l;
}

/* Reads {...} and returns {{...}}: in a match spec a plain tuple is a call. */
static inv_word made_tuple(struct call *c)
{
	inv_word w[ARGS], t;
	size_t n = exprs(c, "}", w, "'}' expected in a tuple");

	if (c->text.rc)
		return 0;
	t = tuple(c, n, w);
	return tuple(c, 1, &t);
}

/* Reads a name: a function call or an atom. */
static inv_word name_or_call(struct call *c)
{
	inv_word w[1 + ARGS];
	size_t n;

	w[0] = inv_text_term(&c->text);
	if (!w[0] || inv_text_peek(&c->text) != '(')
		return w[0];
	inv_text_take(&c->text, "(");
	n = exprs(c, ")", w + 1, "')' expected after arguments");
	return c->text.rc ? 0 : tuple(c, n + 1, w);
}

static inv_word unary(struct call *c, const char *name)
{
	inv_word w[2] = { named(c, name), expr(c, LEVELS) };

	return tuple(c, 2, w);
}

static inv_word primary(struct call *c)
{
	static const char *const unaries[] = { "not", "bnot", "-", "+" };
	uint8_t ch = inv_text_peek(&c->text);
	inv_word t;

	for (size_t i = 0; i < sizeof(unaries) / sizeof(*unaries); i++)
		if (take_word(c, unaries[i]))
			return unary(c, unaries[i]);
	if (inv_text_take(&c->text, "(")) {
		t = expr(c, 0);
		return need(c, ")", "')' expected") ? t : 0;
	}
	if (inv_text_take(&c->text, "["))
		return list(c);
	if (inv_text_take(&c->text, "{"))
		return made_tuple(c);
	if ((ch >= 'a' && ch <= 'z') || ch == '\'')
		return name_or_call(c);
	return inv_text_term(&c->text);
}

/*
 * Returns true if `op' is - or /, and the text has -> or /=, which are not
 * operators of this level.
 */
static bool is_longer(struct call *c, const char *op)
{
	static const char *const longer[] = { "->", "/=" };
	uint8_t first = inv_text_peek(&c->text);

	for (size_t i = 0; i < 2; i++)
		if (!op[1] && *op == longer[i][0] && first == (uint8_t)*op &&
		    c->text.end - c->text.p > 1 &&
		    c->text.p[1] == (uint8_t)longer[i][1])
			return true;
	return false;
}

static const char *operator_of(struct call *c, unsigned level)
{
	for (const char *const *op = operators[level]; *op; op++)
		if (!is_longer(c, *op) && take_word(c, *op))
			return *op;
	return NULL;
}

/*
 * Reads an expression with operators of this level and of levels that bind more
 * tightly. All operators are left-associative.
 */
static inv_word expr(struct call *c, unsigned level)
{
	const char *op;
	inv_word w[3];

	if (c->text.rc)
		return 0;
	if (c->depth == DEPTH)
		return inv_text_fail(&c->text, "nested too deeply");
	c->depth++;
	if (level == LEVELS) {
		w[1] = primary(c);
	} else {
		w[1] = expr(c, level + 1);
		while (!c->text.rc && (op = operator_of(c, level)) != NULL) {
			w[0] = named(c, op);
			w[2] = expr(c, level + 1);
			w[1] = tuple(c, 3, w);
			if (level == COMPARES)
				break;
		}
	}
	c->depth--;
	return c->text.rc ? 0 : w[1];
}

/* Reads conditions: a comma means AND, a semicolon OR. */
static inv_word conditions(struct call *c)
{
	inv_word w[3] = { 0 };
	inv_word any = 0;

	do {
		inv_word all = 0;

		do {
			w[0] = named(c, "andalso");
			w[1] = all;
			w[2] = expr(c, 0);
			all = all ? tuple(c, 3, w) : w[2];
		} while (!c->text.rc && inv_text_take(&c->text, ","));
		w[0] = named(c, "orelse");
		w[1] = any;
		w[2] = all;
		any = any ? tuple(c, 3, w) : all;
	} while (!c->text.rc && inv_text_take(&c->text, ";"));
	return any;
}

/* --- calls ---------------------------------------------------------------- */

static inv_word arguments(struct call *c)
{
	inv_word l = INV_NIL, w[ARGS];
	size_t n = 0;

	if (inv_text_take(&c->text, ")"))
		return INV_NIL;
	do {
		if (n == ARGS)
			return too_big(c);
		w[n++] = inv_text_term(&c->text);
	} while (!c->text.rc && inv_text_take(&c->text, ","));
	if (!need(c, ")", "')' expected after arguments"))
		return 0;
	while (n > 0)
		l = cons(c, w[--n], l);
	return l;
}

/* Reads the arguments, or the arity, after the function's name. */
static inv_word arity_or_arguments(struct call *c)
{
	inv_word l = INV_NIL, t;

	if (inv_text_take(&c->text, "("))
		return arguments(c);
	if (!inv_text_take(&c->text, "/"))
		return named(c, "_");
	t = inv_text_term(&c->text);
	if (c->text.rc)
		return 0;
	if (!inv_is_small(t) || inv_small(t) < 0 || inv_small(t) > ARGS)
		return inv_text_fail(&c->text, "an arity is 0 to 255");
	for (int64_t n = inv_small(t); n > 0 && l; n--)
		l = cons(c, named(c, "_"), l);
	return l;
}

static inv_word name(struct call *c)
{
	inv_word t = inv_text_term(&c->text);

	if (t && !inv_box_of(t, INV_BOX_ATOM))
		return inv_text_fail(&c->text,
				     "a call is written module:function(...)");
	return t;
}

/* Reads a call and returns {M, F, Args}. */
static inv_word mfa(struct call *c)
{
	inv_word w[3] = { name(c), 0, 0 };

	if (c->text.rc)
		return 0;
	if (!inv_text_take(&c->text, ":")) {
		w[1] = named(c, "_");
		w[2] = named(c, "_");
		return tuple(c, 3, w);
	}
	w[1] = name(c);
	if (c->text.rc)
		return 0;
	w[2] = arity_or_arguments(c);
	return tuple(c, 3, w);
}

static inv_word clause(struct call *c)
{
	inv_word call = mfa(c), when = INV_NIL, head;

	if (!c->text.rc && take_word(c, "when")) {
		c->guard = true;
		when = cons(c, conditions(c), INV_NIL);
	}
	if (!c->text.rc && inv_text_peek(&c->text) == '-')
		return inv_text_fail(&c->text, "actions have no place here: "
					       "the events are recorded "
					       "already");
	if (!c->text.rc && inv_text_peek(&c->text))
		return inv_text_fail(&c->text,
				     "'when', an operator or the end expected");
	head = cons(c, call, INV_NIL);
	head = cons(c, named(c, "call"), head);
	head = cons(c, named(c, "_"), head);
	return tuple(c, 3, (inv_word[]){ head, when, INV_NIL });
}

int inv_call_parse(struct inv_heap *h, const char *text, inv_word *spec,
		   struct inv_err *err)
{
	struct call c = { .guard = false };

	inv_text_init(&c.text, h, text, err);
	c.text.variable = variable;
	c.text.arg = &c;
	*spec = cons(&c, clause(&c), INV_NIL);
	return c.text.rc;
}
