/* SPDX-License-Identifier: Apache-2.0 */
#include "match/selector.h"

#include <stdio.h>
#include <string.h>

#include "abi/event.h"
#include "match/selector_int.h"

#define atom inv__selector_named

/* The state of inv_selector_parse. */
struct reader {
	struct inv__selector c;
	struct inv_selector *s;
	const char *original;	       /* the text as the user wrote it */
	struct inv__elixir translated; /* the part of the text that is in
					* Elixir's notation, translated to
					* Erlang's notation */
	const char *from; /* where this part begins in `original'; the part
			   * ends with the text */
};

static int fail(struct reader *r, const char *why)
{
	inv_text_fail(&r->c.text, why);
	return r->c.text.rc;
}

static int syntax(struct reader *r, const uint8_t *at, const char *why)
{
	r->c.text.p = at;
	return fail(r, why);
}

static bool is_upper(uint8_t c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_name_char(uint8_t c)
{
	return is_upper(c) || (c >= 'a' && c <= 'z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '@' || c == '*' ||
	       c >= 0x80;
}

static uint8_t peek(struct reader *r)
{
	return inv_text_peek(&r->c.text);
}

/* --- Elixir's notation ---------------------------------------------------- */

static unsigned column(const char *begin, const char *p)
{
	unsigned n = 1;

	for (; begin < p; begin++)
		n += ((uint8_t)*begin & 0xc0) != 0x80;
	return n;
}

/* Translates the rest of the text from Elixir's notation, and lets the parser
 * continue at the beginning of the translation. */
static int translate(struct reader *r)
{
	struct inv_text *t = &r->c.text;
	const char *text;
	int rc;

	r->from = (const char *)t->p;
	rc = inv__elixir_translate(r->from, column(r->original, r->from),
				   &r->translated, t->err);
	if (rc) {
		t->rc = rc;
		return rc;
	}
	text = (const char *)r->translated.text.data;
	t->begin = t->p = (const uint8_t *)text;
	t->end = t->begin + strlen(text);
	r->c.elixir = true;
	return 0;
}

/* --- names ---------------------------------------------------------------- */

/* Makes an atom of `before' and the name, joined. Sets *wild to true if the
 * name is a wildcard. */
static inv_word make_name(struct reader *r, const uint8_t *name, size_t len,
			  const char *before, bool *wild)
{
	char text[1024];
	int n = snprintf(text, sizeof(text), "%s%.*s", before, (int)len,
			 (const char *)name);

	*wild = memchr(name, '*', len) != NULL;
	if (n < 0 || n > 255 * 4)
		return inv_text_fail(&r->c.text,
				     "an atom has at most 255 characters");
	return inv__selector_atom(&r->c, text, (size_t)n);
}

/* Reads a module or function in Erlang's notation: an atom, a wildcard, or
 * _. */
static inv_word erlang_name(struct reader *r, bool *wild)
{
	const uint8_t *from, *p;
	inv_word t;

	*wild = false;
	peek(r);
	from = p = r->c.text.p;
	while (p < r->c.text.end && is_name_char(*p))
		p++;
	if (memchr(from, '*', (size_t)(p - from))) {
		r->c.text.p = p;
		return make_name(r, from, (size_t)(p - from), "", wild);
	}
	t = inv_text_term(&r->c.text);
	if (t && !inv_box_of(t, INV_BOX_ATOM))
		return inv_text_fail(&r->c.text, "a call is written "
						 "module:function(...)");
	return t;
}

static size_t part_length(const struct reader *r, const uint8_t *p)
{
	const uint8_t *from = p;

	while (p < r->c.text.end && is_name_char(*p) && *p != '@')
		p++;
	return (size_t)(p - from);
}

/* Returns true if arguments or an arity follow at p. */
static bool begins_args(const struct reader *r, const uint8_t *p)
{
	while (p < r->c.text.end && *p == ' ')
		p++;
	return p < r->c.text.end && (*p == '/' || *p == '(');
}

/*
 * Reads the name of an Elixir module, whose parts are separated by dots. Each
 * part begins with a capital letter or a star. But a last part that begins with
 * a star, and is followed by an arity or arguments, is the function's name and
 * is not read.
 */
static int elixir_module(struct reader *r)
{
	const uint8_t *from = r->c.text.p;
	const uint8_t *p = from + part_length(r, from);

	while (p + 1 < r->c.text.end && *p == '.' &&
	       (is_upper(p[1]) || p[1] == '*')) {
		const uint8_t *end = p + 1 + part_length(r, p + 1);

		if (p[1] == '*' && begins_args(r, end))
			break;
		p = end;
	}
	r->s->module = make_name(
		r, from, (size_t)(p - from),
		p - from > 7 && !memcmp(from, "Elixir.", 7) ? "" : "Elixir.",
		&r->s->wild_module);
	r->c.text.p = p;
	return r->c.text.rc;
}

/* Reads the name of a function in Elixir's notation. */
static int elixir_function(struct reader *r)
{
	const uint8_t *from, *p;

	peek(r);
	inv_text_take(&r->c.text, ":");
	from = p = r->c.text.p;
	while (p < r->c.text.end &&
	       (is_name_char(*p) || *p == '?' || *p == '!'))
		p++;
	if (p == from || *from == '@' || (*from >= '0' && *from <= '9'))
		return fail(r, "a function is expected after the module");
	r->s->function = make_name(r, from, (size_t)(p - from), "",
				   &r->s->wild_function);
	r->c.text.p = p;
	return r->c.text.rc;
}

/* Called after a module without a function. Sets the function to _, and reports
 * an error if arguments, an arity or a match spec follow. */
static int no_function(struct reader *r)
{
	uint8_t c = peek(r);

	r->s->function = atom(&r->c, "_");
	if (!r->c.text.rc && (c == '/' || c == '(' || c == '['))
		return fail(r, "a module and a function are expected, such as "
			       "lists:seq/2");
	return r->c.text.rc;
}

/* Reads Shop.Cart.add, Shop.Cart or :lists.seq. */
static int elixir_call(struct reader *r)
{
	if (*r->c.text.p == ':') {
		r->c.text.p++;
		r->s->module = erlang_name(r, &r->s->wild_module);
	} else {
		elixir_module(r);
	}
	if (!r->c.text.rc && inv_text_take(&r->c.text, "."))
		elixir_function(r);
	else
		no_function(r);
	return r->c.text.rc ? r->c.text.rc : translate(r);
}

static int erlang_call(struct reader *r)
{
	r->s->module = erlang_name(r, &r->s->wild_module);
	if (r->c.text.rc || !inv_text_take(&r->c.text, ":"))
		return no_function(r);
	r->s->function = erlang_name(r, &r->s->wild_function);
	return r->c.text.rc;
}

/* --- arities, heads, match specs ------------------------------------------ */

static int arity(struct reader *r)
{
	const uint8_t *from;
	inv_word t;

	peek(r);
	from = r->c.text.p;
	/* The translation from Elixir's notation writes `any' as Vany. */
	if (inv_text_take(&r->c.text, "any") ||
	    inv_text_take(&r->c.text, "Vany"))
		return 0;
	t = inv_text_term(&r->c.text);
	if (r->c.text.rc || inv_word_is(t, "_"))
		return r->c.text.rc;
	if (!inv_is_small(t) || inv_small(t) < 0 ||
	    inv_small(t) > INV__SELECTOR_ARGS)
		return syntax(r, from, "an arity is 0 to 255");
	r->s->arity = (int)inv_small(t);
	return 0;
}

/* Makes the clauses of the selector: one for each alternative of the guard, all
 * with the same head. */
static void make_clauses(struct reader *r, inv_word head, inv_word guards)
{
	inv_word l = INV_NIL, w[3] = { head, 0, INV_NIL };
	inv_word all[INV__SELECTOR_ARGS];
	size_t n = 0;

	for (; inv_is_cons(guards) && n < INV__SELECTOR_ARGS;
	     guards = inv_cons(guards)[1])
		all[n++] = inv_cons(guards)[0];
	while (n > 0) {
		w[1] = all[--n];
		l = inv__selector_cons(&r->c, inv__selector_tuple(&r->c, 3, w),
				       l);
	}
	r->s->clauses = l;
}

/* Adds atoms _ in front of the list l, which has `has' elements, until the list
 * has `full' elements. */
static inv_word padded(struct reader *r, inv_word l, unsigned has,
		       unsigned full)
{
	for (; l && has < full; has++)
		l = inv__selector_cons(&r->c, atom(&r->c, "_"), l);
	return l;
}

/* Reads "(Args)" and, if it follows, "when Guard". */
static int head(struct reader *r)
{
	static const unsigned most[] = {
		[INV_SELECT_CALL] = INV__SELECTOR_ARGS,
		[INV_SELECT_SEND] = 2,
		[INV_SELECT_RECEIVE] = 3,
	};
	inv_word args, guards;
	unsigned n;

	inv_text_take(&r->c.text, "(");
	inv__selector_begin(&r->c);
	args = inv__selector_arguments(&r->c, &n);
	if (r->c.text.rc)
		return r->c.text.rc;
	if (n > most[r->s->kind] || (r->s->kind != INV_SELECT_CALL && !n))
		return fail(r,
			    r->s->kind == INV_SELECT_SEND ?
				    "send takes a pattern of the message, "
				    "send(Msg) or send(To, Msg)" :
				    "receive takes a pattern of the message, "
				    "receive(Msg)");
	guards = inv__selector_take(&r->c, "when") ?
			 inv__selector_guard(&r->c) :
			 inv__selector_cons(&r->c, INV_NIL, INV_NIL);
	if (r->s->kind == INV_SELECT_CALL)
		r->s->arity = (int)n;
	else
		args = padded(r, args, n, most[r->s->kind]);
	if (!r->c.text.rc)
		make_clauses(r, args, guards);
	r->s->n_vars = (unsigned)r->c.n_names;
	return r->c.text.rc;
}

/* Returns true if the term is a clause of a match spec, and its head can match
 * what a selector of this kind and arity selects. */
static bool is_clause(inv_word t, enum inv_selector_kind kind, int arity_)
{
	const inv_word *b = inv_box_of(t, INV_BOX_TUPLE);
	int n = kind == INV_SELECT_SEND	   ? 2 :
		kind == INV_SELECT_RECEIVE ? 3 :
					     arity_;
	inv_word l;

	if (!b || inv_box_n(b) != 3)
		return false;
	for (l = b[1]; inv_is_cons(l); l = inv_cons(l)[1])
		n--;
	return l != INV_NIL || n == 0 ||
	       (kind == INV_SELECT_CALL && arity_ < 0);
}

static int raw(struct reader *r)
{
	const uint8_t *from = r->c.text.p;
	inv_word t, l;

	r->c.text.variable = NULL;
	t = inv_text_term(&r->c.text);
	if (r->c.text.rc)
		return r->c.text.rc;
	for (l = t; inv_is_cons(l); l = inv_cons(l)[1])
		if (!is_clause(inv_cons(l)[0], r->s->kind, r->s->arity))
			return syntax(r, from,
				      "each clause of a match spec is {Head, "
				      "Guards, Body}, with a pattern for each "
				      "argument in its head");
	if (t == INV_NIL || l != INV_NIL)
		return syntax(r, from,
			      "a match spec is a list of {Head, Guards, Body}");
	r->s->clauses = t;
	r->s->raw = true;
	return 0;
}

/* Reads the part of a selector after the function, or after send or receive: an
 * arity, arguments with a guard, or a match spec. */
static int conditions(struct reader *r)
{
	if (r->s->kind == INV_SELECT_CALL && inv_text_take(&r->c.text, "/"))
		arity(r);
	else if (peek(r) == '(')
		return head(r);
	if (!r->c.text.rc && peek(r) == '[')
		return raw(r);
	if (!r->c.text.rc && peek(r) == '(')
		return fail(r, "either an arity or arguments, not both");
	if (!r->c.text.rc && inv__selector_take(&r->c, "when"))
		return fail(r, "a guard needs arguments: lists:seq(A, B) when "
			       "A < B");
	return r->c.text.rc;
}

/* --- actions -------------------------------------------------------------- */

static int action(struct reader *r)
{
	static const struct {
		const char *name;
		unsigned bit;
	} known[] = {
		{ "return", INV_ACTION_RETURN },
		{ "failed", INV_ACTION_RETURN },
		{ "slow", INV_ACTION_RETURN },
		{ "caller", INV_ACTION_CALLER },
		{ "stack", INV_ACTION_STACK },
		{ "count", INV_ACTION_COUNT },
		{ "time", INV_ACTION_COUNT },
	};
	size_t i, n = sizeof(known) / sizeof(*known);

	peek(r);
	for (i = 0; i < n && !inv__selector_take(&r->c, known[i].name); i++)
		;
	if (i == n)
		return fail(r, "the actions are return, slow(50ms), failed, "
			       "caller, stack, count, time");
	r->s->actions |= known[i].bit;
	if (strcmp(known[i].name, "slow") != 0)
		return 0;
	if (!inv_text_take(&r->c.text, "("))
		return fail(r, "slow needs a time: slow(50ms)");
	while (r->c.text.p < r->c.text.end && *r->c.text.p != ')')
		r->c.text.p++;
	return inv_text_take(&r->c.text, ")") ?
		       0 :
		       fail(r, "slow needs a time: slow(50ms)");
}

static int actions(struct reader *r)
{
	int rc;

	if (!inv_text_take(&r->c.text, "->") &&
	    !inv_text_take(&r->c.text, "::"))
		return 0;
	if (r->s->kind != INV_SELECT_CALL || r->s->raw)
		return fail(r, "actions are for calls without a match spec");
	do
		rc = action(r);
	while (!rc && (inv_text_take(&r->c.text, ";") ||
		       inv_text_take(&r->c.text, ",")));
	return rc;
}

/* --- what is selected ----------------------------------------------------- */

/* If `word' is next, reads it and returns true. If a colon or a star follows,
 * the word belongs to the name of a module; then returns false. */
static bool kind_word(struct reader *r, const char *word)
{
	const uint8_t *p = r->c.text.p;

	if (inv__selector_take(&r->c, word) && peek(r) != ':' &&
	    (r->c.text.p == r->c.text.end || *r->c.text.p != '*'))
		return true;
	r->c.text.p = p;
	return false;
}

static bool system_event(struct reader *r)
{
	static const char *const words[] = {
#define WORD(name, text) text,
		INV_SYSTEM_TAGS(WORD)
#undef WORD
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (kind_word(r, words[i])) {
			r->s->kind = INV_SELECT_SYSTEM;
			r->s->system = words[i];
			return true;
		}
	return false;
}

static bool kind(struct reader *r)
{
	static const struct {
		const char *word;
		enum inv_selector_kind kind;
	} words[] = {
		{ "send", INV_SELECT_SEND },
		{ "receive", INV_SELECT_RECEIVE },
		{ "procs", INV_SELECT_PROCS },
		{ "ports", INV_SELECT_PORTS },
		{ "running", INV_SELECT_RUNNING },
		{ "gc", INV_SELECT_GC },
		{ "garbage_collection", INV_SELECT_GC },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (kind_word(r, words[i].word)) {
			r->s->kind = words[i].kind;
			return true;
		}
	return system_event(r);
}

static bool group(struct reader *r)
{
	static const char *const words[] = { "app", "behaviour", "behavior" };
	const uint8_t *p = r->c.text.p;

	for (size_t i = 0; i < 3; i++) {
		if (inv__selector_take(&r->c, words[i]) && peek(r) == '(')
			return true;
		r->c.text.p = p;
	}
	return false;
}

/* Reads {M, F, A}. */
static int triple(struct reader *r)
{
	inv_text_take(&r->c.text, "{");
	r->s->module = erlang_name(r, &r->s->wild_module);
	if (!r->c.text.rc && !inv_text_take(&r->c.text, ","))
		return fail(r, "',' expected in {Module, Function, Arity}");
	r->s->function = erlang_name(r, &r->s->wild_function);
	if (!r->c.text.rc && !inv_text_take(&r->c.text, ","))
		return fail(r, "',' expected in {Module, Function, Arity}");
	if (!r->c.text.rc)
		arity(r);
	if (!r->c.text.rc && !inv_text_take(&r->c.text, "}"))
		return fail(r, "'}' expected after {Module, Function, Arity}");
	return r->c.text.rc;
}

static int target(struct reader *r)
{
	uint8_t c = peek(r);

	if (!c)
		return fail(r, "a selector is expected, such as lists:seq/2, "
			       "send(Msg) or procs");
	if (is_upper(c) || c == ':' ||
	    (c == '*' && r->c.text.end - r->c.text.p > 1 &&
	     r->c.text.p[1] == '.'))
		return elixir_call(r);
	if (c == '{')
		return triple(r);
	if (group(r))
		return fail(r, "the modules of an application or a behaviour "
			       "are known only to a node: use a wildcard here, "
			       "such as shop_*");
	return erlang_call(r);
}

/* From now on, the definition of a record such as #rec{} is looked up in the
 * selector's module. */
static void home(struct reader *r)
{
	const inv_word *b = inv_box_of(r->s->module, INV_BOX_ATOM);

	if (!b || r->s->wild_module || inv_box_n(b) >= sizeof(r->c.name[0]))
		return;
	memcpy(r->c.name[0], inv_box_ptr(b, 1), inv_box_n(b));
	r->c.name[0][inv_box_n(b)] = 0;
	r->c.module = r->c.name[0];
}

static int rest(struct reader *r)
{
	int rc = r->s->kind > INV_SELECT_RECEIVE ? 0 : conditions(r);

	if (!rc)
		rc = actions(r);
	if (!rc)
		inv_text_take(&r->c.text, ".");
	if (!rc && peek(r))
		return fail(r, "'when', an operator, -> or the end expected");
	return rc;
}

/* Reads the rest of a selector of messages. If the rest is an error in Erlang's
 * notation, tries to read it in Elixir's notation. */
static int message(struct reader *r)
{
	const uint8_t *p = r->c.text.p;
	struct inv_err *err = r->c.text.err, other = { 0 };
	size_t used = r->c.text.h->used;
	int rc = rest(r);

	if (rc != INV_EINVAL)
		return rc;
	r->c.text.h->used = used;
	r->c.text.p = p;
	r->c.text.rc = 0;
	r->c.text.err = &other;
	r->c.n_names = 0;
	r->c.depth = 0;
	r->c.guard = r->c.used_record = false;
	r->c.text.depth = 0;
	r->s->clauses = INV_NIL;
	r->s->raw = false;
	if (!translate(r) && !rest(r)) {
		r->c.text.err = err;
		return 0;
	}
	r->c.text.err = err;
	r->from = NULL; /* report the error that was found in Erlang's notation:
			   its position needs no conversion */
	return r->c.text.rc ? INV_EINVAL : 0;
}

/* Sets s->to_name to true if a clause for sent messages has an atom as the
 * receiver. */
static void find_names(struct inv_selector *s)
{
	if (s->kind != INV_SELECT_SEND || s->raw)
		return;
	for (inv_word l = s->clauses; inv_is_cons(l); l = inv_cons(l)[1]) {
		inv_word to = inv_cons(inv_box(inv_cons(l)[0])[1])[0];
		const inv_word *b = inv_box_of(to, INV_BOX_ATOM);

		s->to_name |= b && !inv_word_is(to, "_") && inv_box_n(b) &&
			      *(const char *)inv_box_ptr(b, 1) != '$';
	}
}

static int parse(struct reader *r)
{
	int rc;

	peek(r);
	if (kind(r) && r->s->kind == INV_SELECT_SYSTEM && peek(r) == '(')
		return fail(r, "events have no threshold here: they were "
			       "selected by it when they were recorded");
	if (r->s->kind != INV_SELECT_CALL)
		return r->s->kind > INV_SELECT_RECEIVE ? rest(r) : message(r);
	rc = target(r);
	if (rc)
		return rc;
	home(r);
	return rest(r);
}

int inv_selector_parse(struct inv_heap *h, const char *text,
		       const struct inv_records *records,
		       struct inv_selector *s, struct inv_err *err)
{
	struct reader r = { .c = { .records = records },
			    .s = s,
			    .original = text };
	int rc;

	*s = (struct inv_selector){ .arity = -1, .clauses = INV_NIL };
	inv_text_init(&r.c.text, h, text, err);
	s->module = s->function = atom(&r.c, "_");
	rc = parse(&r);
	if (!rc)
		rc = r.c.text.rc;
	/* The parser has found an error in the translation: convert its
	 * position. (If the translator has found the error, the position is
	 * right already, and r.c.elixir is false.) */
	if (rc == INV_EINVAL && r.from && r.c.elixir)
		inv__elixir_locate(&r.translated, r.from, column(text, r.from),
				   err);
	inv__elixir_release(&r.translated);
	s->records = r.c.used_record;
	find_names(s);
	return rc;
}
