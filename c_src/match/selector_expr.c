/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "match/selector_int.h"

/*
 * The maximum depth of recursion of expr(). A pair of brackets takes seven
 * levels of recursion: one for each of the six levels of operators, and one for
 * the pair itself. The depth must be limited, because a level of recursion
 * takes up to 5 KiB of stack, and this code also runs on threads of the VM.
 */
#define DEPTH 560

/* --- making terms --------------------------------------------------------- */

inv_word inv__selector_too_big(struct inv__selector *c)
{
	if (!c->text.rc)
		c->text.rc = inv_err_set(c->text.err, INV_ETOOBIG,
					 "the selector is too big");
	return 0;
}

inv_word inv__selector_atom(struct inv__selector *c, const char *name,
			    size_t len)
{
	inv_word *w = inv_heap_take(c->text.h, (len + 7) / 8);
	inv_word t;

	if (!w)
		return inv__selector_too_big(c);
	memcpy(w, name, len);
	t = inv_make_atom(c->text.h, w, len);
	return t ? t : inv__selector_too_big(c);
}

inv_word inv__selector_tuple(struct inv__selector *c, size_t n,
			     const inv_word *elements)
{
	inv_word *w;

	for (size_t i = 0; i < n; i++)
		if (!elements[i])
			return 0;
	w = inv_make_tuple(c->text.h, n);
	if (!w)
		return inv__selector_too_big(c);
	if (n)
		memcpy(w + 1, elements, n * sizeof(*w));
	return (inv_word)(uintptr_t)w;
}

inv_word inv__selector_cons(struct inv__selector *c, inv_word head,
			    inv_word tail)
{
	inv_word t = head && tail ? inv_make_cons(c->text.h, head, tail) : 0;

	return t || !head || !tail ? t : inv__selector_too_big(c);
}

inv_word inv__selector_named(struct inv__selector *c, const char *name)
{
	return inv__selector_atom(c, name, strlen(name));
}

#define tuple inv__selector_tuple
#define cons inv__selector_cons
#define named inv__selector_named

static inv_word op2(struct inv__selector *c, const char *name, inv_word x,
		    inv_word y)
{
	inv_word w[3] = { named(c, name), x, y };

	return tuple(c, 3, w);
}

static inv_word fail(struct inv__selector *c, const char *why)
{
	return inv_text_fail(&c->text, why);
}

static const char only_pattern[] =
	"a pattern is expected before this; what is to be computed can be in a "
	"guard: f(X) when X > 2 * 3";

/* --- variables ------------------------------------------------------------ */

static inv_word variable(void *arg, struct inv_text *s, const char *name,
			 size_t len)
{
	struct inv__selector *c = arg;
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
		if (i == INV__SELECTOR_VARS)
			return inv_text_fail(s, "too many variables");
		c->names[i].name = name;
		c->names[c->n_names++].len = len;
	}
	snprintf(text, sizeof(text), "$%zu", i + 1);
	return named(c, text);
}

/* --- tokens --------------------------------------------------------------- */

static inv_word expr(struct inv__selector *c, unsigned level);

/*
 * Operators by level: the first level binds least tightly, the last level most
 * tightly. The parser takes the first operator of a level with which the text
 * begins. So an operator must stand before every operator that is its prefix:
 * ">=" before ">".
 */
#define LEVELS 6
#define COMPARES 2
#define LISTS 3
static const char *const operators[LEVELS][10] = {
	{ "orelse" },
	{ "andalso" },
	{ "=:=", "=/=", "==", "/=", "=<", ">=", "<", ">" },
	{ "++", "in" },
	{ "+", "-", "bor", "bxor", "bsl", "bsr", "or", "xor" },
	{ "*", "/", "div", "rem", "band", "and" },
};

static bool is_word_char(int ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
	       (ch >= '0' && ch <= '9') || ch == '_' || ch == '@';
}

bool inv__selector_take(struct inv__selector *c, const char *token)
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

static bool need(struct inv__selector *c, const char *token, const char *why)
{
	if (c->text.rc)
		return false;
	if (inv_text_take(&c->text, token))
		return true;
	fail(c, why);
	return false;
}

/*
 * Copies the name of the atom t to c->name[i], and returns the copy. Returns
 * NULL if t is no atom, or if its name is too long.
 */
static const char *name_of(struct inv__selector *c, inv_word t, unsigned i)
{
	const inv_word *b = t ? inv_box_of(t, INV_BOX_ATOM) : NULL;

	if (!b || inv_box_n(b) >= sizeof(c->name[i]))
		return NULL;
	memcpy(c->name[i], inv_box_ptr(b, 1), inv_box_n(b));
	c->name[i][inv_box_n(b)] = 0;
	return c->name[i];
}

/* --- lists, tuples, maps -------------------------------------------------- */

/*
 * Reads expressions that are separated by commas, and the token `closing'.
 * Stores the expressions in `to' and returns how many there are. `why' is the
 * message if neither a comma nor `closing' is next.
 */
static size_t exprs(struct inv__selector *c, const char *closing, inv_word *to,
		    const char *why)
{
	size_t n = 0;

	if (inv_text_take(&c->text, closing))
		return 0;
	do {
		if (n == INV__SELECTOR_ARGS) {
			inv__selector_too_big(c);
			return n;
		}
		to[n++] = expr(c, 0);
	} while (!c->text.rc && inv_text_take(&c->text, ","));
	if (!c->text.rc && !c->guard && inv_text_peek(&c->text) == '=')
		fail(c, "a match specification has no `=' in its patterns: "
			"give the pattern alone");
	need(c, closing, why);
	return n;
}

static inv_word list_of(struct inv__selector *c, const inv_word *w, size_t n,
			inv_word tail)
{
	while (n > 0)
		tail = cons(c, w[--n], tail);
	return tail;
}

static inv_word list(struct inv__selector *c)
{
	inv_word tail = INV_NIL, w[INV__SELECTOR_ARGS];
	size_t n = 0;

	if (inv_text_take(&c->text, "]"))
		return INV_NIL;
	do {
		if (n == INV__SELECTOR_ARGS)
			return inv__selector_too_big(c);
		w[n++] = expr(c, 0);
	} while (!c->text.rc && inv_text_take(&c->text, ","));
	if (inv_text_take(&c->text, "|"))
		tail = expr(c, 0);
	if (!need(c, "]", "']' expected in a list"))
		return 0;
	return list_of(c, w, n, tail);
}

/* Makes the term of the match spec for a tuple with the elements w. In a guard
 * this is {{...}}, because in guards of match specs {...} is a call. */
static inv_word made_tuple(struct inv__selector *c, size_t n, const inv_word *w)
{
	inv_word t = tuple(c, n, w);

	return c->guard ? tuple(c, 1, &t) : t;
}

static inv_word read_tuple(struct inv__selector *c)
{
	inv_word w[INV__SELECTOR_ARGS];
	size_t n = exprs(c, "}", w, "'}' expected in a tuple");

	return c->text.rc ? 0 : made_tuple(c, n, w);
}

/* Reads the key of a map. In a pattern the key must not contain variables. */
static inv_word map_key(struct inv__selector *c)
{
	size_t before = c->n_names;
	bool guard = c->guard;
	inv_word key;

	key = expr(c, 0);
	c->guard = guard;
	if (!c->guard && c->n_names > before)
		return fail(c, "a key of a map cannot be a variable");
	return key;
}

/* Reads a map after "#{". */
static inv_word read_map(struct inv__selector *c)
{
	inv_word pairs[2 * INV__SELECTOR_ARGS], *w, m;
	size_t n = 0;

	if (!inv_text_take(&c->text, "}")) {
		do {
			if (n == INV__SELECTOR_ARGS)
				return inv__selector_too_big(c);
			pairs[2 * n] = map_key(c);
			/* A pattern may have := or =>, which mean the same
			 * here. A guard makes a map, so it must have =>. */
			if (c->guard || !inv_text_take(&c->text, ":="))
				need(c, "=>",
				     c->guard ? "'=>' expected in a map" :
						"':=' expected in a map");
			pairs[2 * n + 1] = c->text.rc ? 0 : expr(c, 0);
			n++;
		} while (!c->text.rc && inv_text_take(&c->text, ","));
		if (!need(c, "}", "'}' expected in a map"))
			return 0;
	}
	w = inv_heap_take(c->text.h, 1 + 2 * n);
	if (!w)
		return inv__selector_too_big(c);
	memcpy(w + 1, pairs, 2 * n * sizeof(*w));
	return inv_make_map(w, n, 0, &m) ?
		       fail(c, "the keys cannot be compared") :
		       m;
}

/* --- records -------------------------------------------------------------- */

static const struct inv_record_def *definition(struct inv__selector *c,
					       const char *module,
					       const char *name)
{
	static const struct inv_records none;
	const struct inv_record_def *r;
	char why[256];
	bool twice;

	r = inv_records_find(c->records ? c->records : &none,
			     module ? module : c->module, name, !module,
			     &twice);
	if (r) {
		c->used_record = true;
		return r;
	}
	if (twice)
		snprintf(why, sizeof(why),
			 "#%.60s{} has different definitions: write "
			 "module#%.60s{}",
			 name, name);
	else
		snprintf(why, sizeof(why),
			 "the fields of #%.60s{} are not known here: give "
			 "--records FILE, a .hrl or .beam that defines it, or "
			 "write a tuple, {%.60s,_,...}",
			 name, name);
	fail(c, why);
	return NULL;
}

/* Reads the name of a field. Returns the field's index in the record, from 1.
 * If there is no such field, reports an error and returns 0. */
static size_t field(struct inv__selector *c, const struct inv_record_def *r)
{
	const char *name = name_of(c, inv_text_term(&c->text), 2);
	char why[256];

	if (c->text.rc)
		return 0;
	for (size_t i = 0; name && i < r->n; i++)
		if (!strcmp(r->fields[i].name, name))
			return i + 1;
	snprintf(why, sizeof(why), "the record %.60s has no such field",
		 r->name);
	fail(c, why);
	return 0;
}

/* Sets those fields of a record that the text does not give. If the text has `_
 * = Value', `others' is this value, and the fields get it. Otherwise the fields
 * get _ in a pattern, and `undefined' in a guard. But in a guard the text must
 * give each field that has a default value, because the default is not known
 * here. */
static void other_fields(struct inv__selector *c,
			 const struct inv_record_def *r, inv_word *w,
			 inv_word others)
{
	for (size_t i = 1; i <= r->n; i++) {
		if (w[i])
			continue;
		if (!others && c->guard && r->fields[i - 1].has_default) {
			fail(c, "in a guard, give all fields that have a "
				"default");
			return;
		}
		w[i] = others ? others : named(c, c->guard ? "undefined" : "_");
	}
}

/* Reads the fields of a record after "{". */
static inv_word fields(struct inv__selector *c, const struct inv_record_def *r)
{
	inv_word w[INV__SELECTOR_ARGS] = { 0 }, others = 0, value;
	size_t i;

	if (r->n >= INV__SELECTOR_ARGS)
		return inv__selector_too_big(c);
	w[0] = named(c, r->name);
	if (!inv_text_take(&c->text, "}")) {
		do {
			i = 0;
			if (!inv__selector_take(c, "_"))
				i = field(c, r);
			need(c, "=", "'=' expected after a field");
			value = c->text.rc ? 0 : expr(c, 0);
			if (i)
				w[i] = value;
			else
				others = value;
		} while (!c->text.rc && inv_text_take(&c->text, ","));
		need(c, "}", "'}' expected in a record");
	}
	if (!c->text.rc)
		other_fields(c, r, w, others);
	return c->text.rc ? 0 : made_tuple(c, r->n + 1, w);
}

/* Reads rec{...} or rec.field after "#".  In Value#rec.field, `value' is Value;
 * without a Value it is 0. */
static inv_word read_record(struct inv__selector *c, const char *module,
			    inv_word value)
{
	const struct inv_record_def *r;
	const char *name = name_of(c, inv_text_term(&c->text), 1);
	size_t i;

	if (c->text.rc)
		return 0;
	if (!name)
		return fail(c, "the name of a record is expected after #");
	r = definition(c, module, name);
	if (!r)
		return 0;
	if (!value && inv_text_take(&c->text, "{"))
		return fields(c, r);
	if (!c->guard)
		return fail(c, "'{' and fields are expected");
	if (!need(c, ".", "'.' and a field are expected"))
		return 0;
	i = field(c, r);
	if (!i)
		return 0;
	return value ? op2(c, "element", inv_make_int(c->text.h, (int)i + 1),
			   value) :
		       inv_make_int(c->text.h, (int)i + 1);
}

static bool is_literal(struct inv__selector *c, const char *text)
{
	size_t n = strlen(text);

	return !c->text.rc && (size_t)(c->text.end - c->text.p) >= n &&
	       !memcmp(c->text.p, text, n);
}

/* Reads a term or expression that begins with #: a port, a reference, a fun, a
 * map or a record. */
static inv_word hash(struct inv__selector *c)
{
	if (is_literal(c, "#Port<") || is_literal(c, "#Ref<") ||
	    is_literal(c, "#Fun<"))
		return inv_text_term(&c->text);
	inv_text_take(&c->text, "#");
	if (inv_text_take(&c->text, "{"))
		return read_map(c);
	return read_record(c, NULL, 0);
}

/* --- calls in guards ------------------------------------------------------ */

/* Translates a call of a function that exists in Elixir but not in Erlang. w
 * are the function's name and its n arguments. Returns 0 for all other
 * functions. */
static inv_word elixir_call(struct inv__selector *c, const inv_word *w,
			    size_t n)
{
	struct inv_heap *h = c->text.h;

	if (n == 1 && inv_word_is(w[0], "is_nil"))
		return op2(c, "=:=", w[1], named(c, "nil"));
	if (n != 2)
		return 0;
	if (inv_word_is(w[0], "elem"))
		return op2(c, "element",
			   inv_is_small(w[2]) ?
				   inv_make_int(h, inv_small(w[2]) + 1) :
				   op2(c, "+", w[2], inv_make_int(h, 1)),
			   w[1]);
	if (inv_word_is(w[0], "is_map_key"))
		return op2(c, "is_map_key", w[2], w[1]);
	if (inv_word_is(w[0], "is_struct"))
		return op2(c, "andalso",
			   tuple(c, 2,
				 (inv_word[]){ named(c, "is_map"), w[1] }),
			   op2(c, "=:=",
			       op2(c, "map_get", named(c, "__struct__"), w[1]),
			       w[2]));
	return 0;
}

/* Translates is_record(X, rec) to is_record(X, rec, Size), which match specs
 * need. */
static inv_word is_record(struct inv__selector *c, inv_word *w)
{
	const struct inv_record_def *r;
	const char *name = name_of(c, w[2], 1);

	if (!name)
		return fail(c, "is_record(X, Name) needs the name of a record");
	r = definition(c, NULL, name);
	if (!r)
		return 0;
	w[3] = inv_make_int(c->text.h, (int64_t)r->n + 1);
	return tuple(c, 4, w);
}

/* The functions of the newest release are accepted. If a node has an older
 * release, the node reports the functions that it does not have. */
#define RELEASE 29

static bool is_operator(inv_word name)
{
	for (unsigned i = 0; i < LEVELS; i++)
		for (const char *const *op = operators[i]; *op; op++)
			if (inv_word_is(name, *op))
				return true;
	return inv_word_is(name, "not") || inv_word_is(name, "bnot");
}

static bool is_guard_function(const struct inv__selector *c, inv_word name,
			      size_t arity)
{
	const inv_word *b = inv_box_of(name, INV_BOX_ATOM);
	int fn;

	if (!b)
		return false;
	if (c->elixir && arity == 2 &&
	    (inv_word_is(name, "div") || inv_word_is(name, "rem")))
		return true;
	if (is_operator(name))
		return false;
	fn = inv_match_fn_find(inv_box_ptr(b, 1), inv_box_n(b), arity, RELEASE);
	return (fn >= 0 && inv_match_fns[fn].guard) ||
	       (!arity && inv_word_is(name, "self"));
}

/* Reads the rest of a call, after the function's name. */
static inv_word call(struct inv__selector *c, inv_word name)
{
	inv_word w[1 + INV__SELECTOR_ARGS], t;
	size_t n;

	if (!c->guard)
		return fail(c, only_pattern);
	w[0] = name;
	inv_text_take(&c->text, "(");
	n = exprs(c, ")", w + 1, "')' expected after arguments");
	if (c->text.rc)
		return 0;
	t = c->elixir ? elixir_call(c, w, n) : 0;
	if (t || c->text.rc)
		return t;
	if (n == 2 && inv_word_is(w[0], "is_record"))
		return is_record(c, w);
	if (!is_guard_function(c, w[0], n))
		return fail(c, "match specs do not have the function before "
			       "this");
	return tuple(c, n + 1, w);
}

/* Reads an expression that begins with a name: an atom, a call f(...) or
 * erlang:f(...), or a record with its module. */
static inv_word name_or_call(struct inv__selector *c)
{
	inv_word name = inv_text_term(&c->text);

	if (!name)
		return 0;
	if (c->guard && inv_word_is(name, "erlang") &&
	    inv_text_take(&c->text, ":")) {
		name = inv_text_term(&c->text);
		return name ? call(c, name) : 0;
	}
	switch (inv_text_peek(&c->text)) {
	case '(':
		return inv_box_of(name, INV_BOX_ATOM) ? call(c, name) : name;
	case '#':
		inv_text_take(&c->text, "#");
		return read_record(c, name_of(c, name, 0), 0);
	default:
		return name;
	}
}

/* --- operators ------------------------------------------------------------ */

static bool is_number(inv_word t, double *f)
{
	const inv_word *b = inv_box_of(t, INV_BOX_FLOAT);

	if (inv_is_small(t))
		*f = (double)inv_small(t);
	else if (b)
		memcpy(f, &b[1], sizeof(*f));
	return inv_is_small(t) || b;
}

/* Computes x op y in a pattern. x and y must be floats, or integers whose
 * result stays below 2^60. */
static inv_word computed(struct inv__selector *c, char op, inv_word x,
			 inv_word y)
{
	double f, g;
	int64_t i = 0;
	bool big;

	if (!is_number(x, &f) || !is_number(y, &g))
		return fail(c, only_pattern);
	if (!inv_is_small(x) || !inv_is_small(y)) {
		f = op == '+' ? f + g : op == '-' ? f - g : f * g;
		return inv_make_float(c->text.h, f);
	}
	if (op == '+')
		big = __builtin_add_overflow(inv_small(x), inv_small(y), &i);
	else if (op == '-')
		big = __builtin_sub_overflow(inv_small(x), inv_small(y), &i);
	else
		big = __builtin_mul_overflow(inv_small(x), inv_small(y), &i);
	return big ? fail(c, "this number is too big to be computed here") :
		     inv_make_int(c->text.h, i);
}

static inv_word unary(struct inv__selector *c, const char *name)
{
	inv_word x = expr(c, LEVELS), w[2];

	if (c->text.rc)
		return 0;
	if (!c->guard) {
		if (*name != '-' && *name != '+')
			return fail(c, only_pattern);
		return computed(c, '*',
				inv_make_int(c->text.h, *name == '-' ? -1 : 1),
				x);
	}
	w[0] = named(c, name);
	w[1] = x;
	return tuple(c, 2, w);
}

static inv_word variable_or_term(struct inv__selector *c)
{
	const uint8_t *from = c->text.p;
	inv_word t = inv_text_term(&c->text);
	bool any = *from == '_' && c->text.p == from + 1;

	if (t && any && c->guard)
		return fail(c, "a guard cannot have _");
	if (t && c->guard && (*from == '_' || (*from >= 'A' && *from <= 'Z')) &&
	    inv_text_take(&c->text, "#"))
		return read_record(c, NULL, t);
	return t;
}

static inv_word primary(struct inv__selector *c)
{
	static const char *const unaries[] = { "not", "bnot", "-", "+" };
	uint8_t ch = inv_text_peek(&c->text);
	inv_word t;

	if (is_literal(c, "--") || is_literal(c, "++"))
		return fail(c, "an expression is expected here");
	if (ch && strchr("-+", ch) && c->text.end - c->text.p > 1 &&
	    strchr("0123456789$", c->text.p[1]))
		return inv_text_term(&c->text);
	for (size_t i = 0; i < sizeof(unaries) / sizeof(*unaries); i++)
		if (inv__selector_take(c, unaries[i]))
			return unary(c, unaries[i]);
	if (inv_text_take(&c->text, "(")) {
		t = expr(c, 0);
		return need(c, ")", "')' expected") ? t : 0;
	}
	if (inv_text_take(&c->text, "["))
		return list(c);
	if (inv_text_take(&c->text, "{"))
		return read_tuple(c);
	if (ch == '#')
		return hash(c);
	if ((ch >= 'a' && ch <= 'z') || ch == '\'' || ch >= 0xc3)
		return name_or_call(c);
	if ((ch >= 'A' && ch <= 'Z') || ch == '_')
		return variable_or_term(c);
	return inv_text_term(&c->text);
}

/*
 * Returns true if `op' is a single character, and the next token is not `op'
 * but a longer token that begins with it: ->, /=, ++ or --.
 */
static bool is_longer(struct inv__selector *c, const char *op)
{
	static const char *const longer[] = { "->", "/=", "++", "--" };
	uint8_t first = inv_text_peek(&c->text);

	for (size_t i = 0; i < sizeof(longer) / sizeof(*longer); i++)
		if (!op[1] && *op == longer[i][0] && first == (uint8_t)*op &&
		    c->text.end - c->text.p > 1 &&
		    c->text.p[1] == (uint8_t)longer[i][1])
			return true;
	return false;
}

static const char *operator_of(struct inv__selector *c, unsigned level)
{
	for (const char *const *op = operators[level]; *op; op++)
		if (!is_longer(c, *op) && inv__selector_take(c, *op))
			return *op;
	return NULL;
}

/* Returns the list x ++ y in a pattern, where x is a list of known length. */
static inv_word append(struct inv__selector *c, inv_word x, inv_word y)
{
	inv_word first = y, *last = &first, *cell;

	for (; inv_is_cons(x); x = inv_cons(x)[1]) {
		cell = inv_heap_take(c->text.h, 2);
		if (!cell)
			return inv__selector_too_big(c);
		cell[0] = inv_cons(x)[0];
		cell[1] = y;
		*last = (inv_word)(uintptr_t)cell + 2;
		last = &cell[1];
	}
	return x == INV_NIL ? first :
			      fail(c, "only a list that ends can be on the "
				      "left of ++");
}

/* Returns the guard for Elixir's `x in [A, B]': x =:= A orelse x =:= B. */
static inv_word member(struct inv__selector *c, inv_word x, inv_word of)
{
	inv_word any = 0, is;

	for (; inv_is_cons(of); of = inv_cons(of)[1]) {
		is = op2(c, "=:=", x, inv_cons(of)[0]);
		any = any ? op2(c, "orelse", any, is) : is;
	}
	if (of != INV_NIL)
		return fail(c, "`in' needs a list that is written out");
	return any ? any : named(c, "false");
}

static inv_word apply(struct inv__selector *c, const char *op, inv_word x,
		      inv_word y)
{
	if (c->text.rc)
		return 0;
	if (!strcmp(op, "in"))
		return c->guard && c->elixir ?
			       member(c, x, y) :
			       fail(c, "match specs do not have `in'");
	if (!strcmp(op, "++"))
		return c->guard ? fail(c, "match specs do not have ++") :
				  append(c, x, y);
	if (c->guard)
		return op2(c, op, x, y);
	if (op[1] || !strchr("+-*", *op))
		return fail(c, only_pattern);
	return computed(c, *op, x, y);
}

/*
 * Reads an expression whose operators are of this level, or of levels that bind
 * more tightly. ++ and -- are right-associative, comparisons cannot be chained,
 * and all other operators are left-associative.
 */
static inv_word expr(struct inv__selector *c, unsigned level)
{
	const char *op;
	inv_word x;

	if (c->text.rc)
		return 0;
	if (c->depth == DEPTH)
		return fail(c, "nested too deeply");
	c->depth++;
	if (level == LEVELS) {
		x = primary(c);
	} else {
		x = expr(c, level + 1);
		while (!c->text.rc && (op = operator_of(c, level)) != NULL) {
			x = apply(c, op, x,
				  expr(c, level == LISTS ? level : level + 1));
			if (level == COMPARES || level == LISTS)
				break;
		}
	}
	c->depth--;
	return c->text.rc ? 0 : x;
}

/* --- heads and guards ----------------------------------------------------- */

void inv__selector_begin(struct inv__selector *c)
{
	c->text.variable = variable;
	c->text.arg = c;
}

inv_word inv__selector_arguments(struct inv__selector *c, unsigned *n)
{
	inv_word w[INV__SELECTOR_ARGS];

	*n = (unsigned)exprs(c, ")", w, "')' expected after arguments");
	return c->text.rc ? 0 : list_of(c, w, *n, INV_NIL);
}

inv_word inv__selector_guard(struct inv__selector *c)
{
	inv_word any[INV__SELECTOR_ARGS], all[INV__SELECTOR_ARGS];
	size_t n_any = 0, n_all;

	c->guard = true;
	do {
		n_all = 0;
		do {
			if (n_all == INV__SELECTOR_ARGS ||
			    n_any == INV__SELECTOR_ARGS)
				return inv__selector_too_big(c);
			all[n_all++] = expr(c, 0);
		} while (!c->text.rc && inv_text_take(&c->text, ","));
		any[n_any++] = list_of(c, all, n_all, INV_NIL);
	} while (!c->text.rc && inv_text_take(&c->text, ";"));
	c->guard = false;
	return c->text.rc ? 0 : list_of(c, any, n_any, INV_NIL);
}
