/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "match/selector_int.h"

/*
 * Translates heads and guards from Elixir to Erlang, character by character.
 * Nearly the only state is a stack of open brackets. The stack is needed to
 * find the end of a keyword's value (the 1 in `a: 1'), because no token of
 * Elixir marks this end. The functions in guards keep their Elixir names here;
 * selector_expr.c translates them.
 */
#define NESTED 64

enum state {
	PLAIN,	/* not in the value of a keyword */
	VALUE,	/* in the value of a keyword; `}' must be written after the
		 * value */
	LISTED, /* like VALUE, but the keywords are not in brackets: they end
		 * the elements of a tuple or the arguments of a call, as in
		 * f(x, a: 1); `}]' must be written after the last value */
};

struct elixir {
	const char *begin;
	const char *p;
	unsigned first;
	struct inv__elixir *out;
	struct inv_err *err;
	int rc;
	struct {
		char bracket; /* '%': the { of a map */
		enum state state;
	} open[NESTED];
	size_t depth;
	bool when; /* a guard has begun: `when' was written */
	char last; /* the last character that was written; spaces copied from
		    * the original text do not count */
};

/* --- output --------------------------------------------------------------- */

static void put(struct elixir *e, const char *text, size_t len)
{
	inv_buf_put(&e->out->text, text, len);
	if (len)
		e->last = text[len - 1];
}

static void puts_(struct elixir *e, const char *text)
{
	put(e, text, strlen(text));
}

static void put_number(struct elixir *e, uint32_t n)
{
	inv_buf_u64(&e->out->text, n);
	e->last = '0';
}

/* Writes a quoted atom. */
static void put_atom(struct elixir *e, const char *before, const char *name,
		     size_t len)
{
	puts_(e, "'");
	puts_(e, before);
	for (size_t i = 0; i < len; i++) {
		if (name[i] == '\'' || name[i] == '\\')
			puts_(e, "\\");
		put(e, name + i, 1);
	}
	puts_(e, "'");
}

/* Adds an entry to the map of positions: the text that is written next comes
 * from e->p in the original text. */
static void note(struct elixir *e)
{
	uint32_t pair[2] = { (uint32_t)e->out->text.len,
			     (uint32_t)(e->p - e->begin) };

	inv_buf_put(&e->out->map, pair, sizeof(pair));
}

static unsigned column(const char *begin, const char *p, unsigned first)
{
	for (; begin < p; begin++)
		first += ((uint8_t)*begin & 0xc0) != 0x80;
	return first;
}

static void fail(struct elixir *e, const char *why)
{
	if (!e->rc)
		e->rc = inv_err_set(e->err, INV_EINVAL, "character %u: %s",
				    column(e->begin, e->p, e->first), why);
}

/* --- characters ----------------------------------------------------------- */

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' ||
	       c == '@';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Returns the length of the name at p. A name may end with ? or !. */
static size_t name_length(const char *p)
{
	size_t n = 0;

	while (is_name(p[n]))
		n++;
	if (n && (p[n] == '?' || p[n] == '!') && p[n + 1] != '=')
		n++;
	return n;
}

static uint32_t escaped(uint32_t c)
{
	static const char from[] = "ntrse0", to[] = "\n\t\r \033";
	const char *p = c < 128 && c ? strchr(from, (int)c) : NULL;

	return p ? (uint32_t)(uint8_t)to[p - from] : c;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *p = c ? strchr(digits, c | 0x20) : NULL;

	return p ? (int)(p - digits) : -1;
}

/* Reads a character inside quotes, which may be an escape sequence. */
static uint32_t quoted_char(struct elixir *e)
{
	const uint8_t *end = (const uint8_t *)e->p + strlen(e->p);
	unsigned n = 1;
	uint32_t c;

	if (!strncmp(e->p, "#{", 2))
		fail(e, "there is nothing to put into #{} here: write it out");
	if (!strncmp(e->p, "\\x{", 3) && hex_digit(e->p[3]) >= 0) {
		for (c = 0, e->p += 3; hex_digit(*e->p) >= 0 && c < 0x110000;
		     e->p++)
			c = c << 4 | (uint32_t)hex_digit(*e->p);
		if (*e->p != '}' || c > 0x10ffff)
			fail(e, "this \\x{} is not a character");
		e->p += !e->rc;
		return c;
	}
	if (e->p[0] == '\\' && e->p[1] == 'x' && hex_digit(e->p[2]) >= 0 &&
	    hex_digit(e->p[3]) >= 0) {
		c = (uint32_t)(hex_digit(e->p[2]) << 4 | hex_digit(e->p[3]));
		e->p += 4;
		return c;
	}
	if (e->p[0] == '\\' && e->p[1]) {
		e->p++;
		c = escaped(inv_utf8_get((const uint8_t *)e->p, end, &n));
	} else {
		c = inv_utf8_get((const uint8_t *)e->p, end, &n);
	}
	if (c == INV_CHAR_BAD)
		fail(e, "this is not UTF-8");
	e->p += n;
	return c;
}

/* Reads the text in quotes at e->p, and appends it in UTF-8, without escapes,
 * to *out. */
static void quoted(struct elixir *e, struct inv_buf *out)
{
	const char *from = e->p;
	char quote = *e->p++;
	uint8_t utf8[4];

	while (!e->rc && *e->p && *e->p != quote) {
		uint32_t c = quoted_char(e);

		if (!e->rc)
			inv_buf_put(out, utf8,
				    (size_t)(inv_utf8_put(utf8, c) - utf8));
	}
	if (!e->rc && !*e->p) {
		e->p = from;
		fail(e, "this quote is never closed");
	}
	e->p += !e->rc;
}

/* --- keywords ------------------------------------------------------------- */

static void keyword(struct elixir *e, const char *name, size_t len)
{
	if (!e->depth) {
		fail(e, "a keyword is not expected here");
		return;
	}
	if (e->open[e->depth - 1].bracket == '%') {
		put_atom(e, "", name, len);
		puts_(e, ":=");
		return;
	}
	if (e->open[e->depth - 1].state == PLAIN) {
		bool in_list = e->open[e->depth - 1].bracket == '[';

		e->open[e->depth - 1].state = in_list ? VALUE : LISTED;
		if (!in_list)
			puts_(e, "[");
	}
	puts_(e, "{");
	put_atom(e, "", name, len);
	puts_(e, ",");
}

static void open_bracket(struct elixir *e, char bracket, const char *text)
{
	if (e->depth == NESTED) {
		fail(e, "nested too deeply");
		return;
	}
	e->open[e->depth].bracket = bracket;
	e->open[e->depth++].state = PLAIN;
	puts_(e, text);
}

static void close_bracket(struct elixir *e)
{
	if (!e->depth) {
		fail(e, "this bracket was not opened");
		return;
	}
	switch (e->open[--e->depth].state) {
	case VALUE:
		puts_(e, "}");
		break;
	case LISTED:
		puts_(e, "}]");
		break;
	default:
		break;
	}
	put(e, e->p++, 1);
}

static void comma(struct elixir *e)
{
	if (e->depth && e->open[e->depth - 1].state != PLAIN)
		puts_(e, "}");
	if (e->depth && e->open[e->depth - 1].state == VALUE)
		e->open[e->depth - 1].state = PLAIN;
	put(e, e->p++, 1);
}

/* --- tokens --------------------------------------------------------------- */

/* Reads Foo.Bar. */
static void module(struct elixir *e)
{
	const char *from = e->p;

	while (is_upper(*e->p)) {
		while (is_name(*e->p))
			e->p++;
		if (*e->p != '.' || !is_upper(e->p[1]))
			break;
		e->p++;
	}
	put_atom(e, strncmp(from, "Elixir.", 7) != 0 ? "Elixir." : "", from,
		 (size_t)(e->p - from));
}

/* Writes an operator of Erlang that is a word, with spaces around it. Without
 * the spaces it would form one word with a name beside it. */
static void operator_word(struct elixir *e, const char *word)
{
	puts_(e, " ");
	puts_(e, word);
	puts_(e, " ");
}

static bool is_word(const char *p, size_t len, const char *word)
{
	return len == strlen(word) && !memcmp(p, word, len);
}

static void word(struct elixir *e)
{
	static const char *const operators[][2] = {
		{ "and", "andalso" },
		{ "or", "orelse" },
		{ "not", "not" },
		{ "in", "in" },
	};
	size_t n = name_length(e->p);
	const char *p = e->p;

	if (p[n] == ':' && (is_space(p[n + 1]) && p[n + 1] != '\t')) {
		e->p += n + 1;
		keyword(e, p, n);
		return;
	}
	e->p += n;
	if (is_word(p, n, "when")) {
		operator_word(e, e->when ? ";" : "when");
		e->when = true;
		return;
	}
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (is_word(p, n, operators[i][0])) {
			operator_word(e, operators[i][1]);
			return;
		}
	if (is_word(p, n, "nil") || is_word(p, n, "true") ||
	    is_word(p, n, "false") || *e->p == '(' || e->last == ':') {
		put_atom(e, "", p, n);
	} else if (*p == '_') {
		put(e, p, n);
	} else {
		/* The name of a variable. In Erlang such a name must begin with
		 * a capital letter, and cannot contain ? or !. */
		puts_(e, "V");
		put(e, p, is_name(p[n - 1]) ? n : n - 1);
		if (!is_name(p[n - 1]))
			puts_(e, p[n - 1] == '?' ? "@q " : "@x ");
	}
}

static void put_digits(struct elixir *e)
{
	while (is_digit(*e->p) || (*e->p == '_' && is_digit(e->p[1])))
		put(e, e->p++, 1);
}

static void number(struct elixir *e)
{
	static const char *const bases[] = { "x16#", "b2#", "o8#" };

	if (*e->p == '0')
		for (size_t i = 0; i < 3; i++)
			if (e->p[1] == bases[i][0]) {
				puts_(e, bases[i] + 1);
				e->p += 2;
				while (is_name(*e->p))
					put(e, e->p++, 1);
				return;
			}
	put_digits(e);
	if (*e->p != '.' || !is_digit(e->p[1]))
		return;
	put(e, e->p++, 1);
	put_digits(e);
	if (*e->p != 'e')
		return;
	put(e, e->p++, 1);
	if (*e->p == '-' || *e->p == '+')
		put(e, e->p++, 1);
	if (is_digit(*e->p))
		put_digits(e);
}

static void put_bytes(struct elixir *e, const struct inv_buf *b)
{
	puts_(e, "<<");
	for (size_t i = 0; i < b->len; i++) {
		puts_(e, i ? "," : "");
		put_number(e, b->data[i]);
	}
	puts_(e, ">>");
}

static void put_chars(struct elixir *e, const struct inv_buf *b)
{
	char text[16];
	unsigned n;

	puts_(e, "\"");
	for (size_t i = 0; i < b->len; i += n) {
		snprintf(text, sizeof(text), "\\x{%x}",
			 (unsigned)inv_utf8_get(b->data + i, b->data + b->len,
						&n));
		puts_(e, text);
	}
	puts_(e, "\"");
}

/* Translates "text" to a binary if `binary' is true, otherwise 'text' to a list
 * of characters. */
static void string(struct elixir *e, bool binary)
{
	struct inv_buf b = { 0 };

	quoted(e, &b);
	if (!e->rc && binary && *e->p == ':' && e->p[1] == ' ') {
		e->p++;
		keyword(e, (const char *)b.data, b.len);
		inv_buf_release(&b);
		return;
	}
	if (binary)
		put_bytes(e, &b);
	else
		put_chars(e, &b);
	if (b.error)
		e->rc = INV_ENOMEM;
	inv_buf_release(&b);
}

static void quoted_atom(struct elixir *e)
{
	struct inv_buf b = { 0 };

	e->p++;
	quoted(e, &b);
	if (!e->rc)
		put_atom(e, "", (const char *)b.data, b.len);
	if (b.error)
		e->rc = INV_ENOMEM;
	inv_buf_release(&b);
}

static void plain_atom(struct elixir *e)
{
	size_t n = name_length(++e->p);

	put_atom(e, "", e->p, n);
	e->p += n;
}

static void character(struct elixir *e)
{
	const uint8_t *end = (const uint8_t *)e->p + strlen(e->p);
	bool escape = e->p[1] == '\\' && e->p[2];
	unsigned n = 1;
	uint32_t c;

	e->p += escape ? 2 : 1;
	c = inv_utf8_get((const uint8_t *)e->p, end, &n);
	puts_(e, " ");
	put_number(e, escape ? escaped(c) : c);
	puts_(e, " ");
	e->p += n;
}

/* Reads %{ or %Name{. */
static void map(struct elixir *e)
{
	const char *from = e->p++;

	if (*e->p == '{') {
		e->p++;
		open_bracket(e, '%', "#{");
		return;
	}
	if (is_upper(*e->p)) {
		open_bracket(e, '%', "#{'__struct__':=");
		module(e);
		if (*e->p == '{') {
			e->p++;
			while (is_space(*e->p))
				e->p++;
			if (*e->p != '}')
				puts_(e, ",");
			return;
		}
	}
	e->p = from;
	fail(e, "a map is written %{}, and a struct %Name{}");
}

/* Translates #PID<0.1.2>, #Reference<...> or #Port<...>. */
static void identifier(struct elixir *e)
{
	static const char *const names[][2] = {
		{ "#PID<", "<" },
		{ "#Reference<", "#Ref<" },
		{ "#Ref<", "#Ref<" },
		{ "#Port<", "#Port<" },
	};

	for (size_t i = 0; i < 4; i++) {
		size_t n = strlen(names[i][0]);

		if (strncmp(e->p, names[i][0], n) != 0)
			continue;
		puts_(e, names[i][1]);
		e->p += n;
		while (is_digit(*e->p) || *e->p == '.')
			put(e, e->p++, 1);
		if (*e->p == '>')
			put(e, e->p++, 1);
		return;
	}
	fail(e, "#PID<0.1.2>, #Reference<0.1.2.3> and #Port<0.5> begin with # "
		"and nothing else does");
}

static void bytes(struct elixir *e)
{
	size_t n = strspn(e->p + 2, "0123456789, ");

	if (!n || strncmp(e->p + 2 + n, ">>", 2) != 0) {
		fail(e, "a match specification cannot take a binary apart: "
			"give it whole, \"abc\" or <<1, 2>>, or ask in a "
			"guard: when byte_size(b) > 4");
		return;
	}
	put(e, e->p, n + 4);
	e->p += n + 4;
}

static void operator(struct elixir *e)
{
	static const char *const table[][2] = {
		{ "--", " -- " },      { "!==", "=/=" },     { "===", "=:=" },
		{ "=>", "=>" },	       { "==", "==" },	     { "!=", "/=" },
		{ "<=", "=<" },	       { ">=", ">=" },	     { "++", "++" },
		{ "&&", " andalso " }, { "||", " orelse " }, { "!", " not " },
		{ "|", "|" },	       { "<", "<" },	     { ">", ">" },
		{ "+", "+" },	       { "-", "-" },	     { "*", "*" },
		{ "/", "/" },	       { "=", " = " },	     { ".", ":" },
		{ ";", ";" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		size_t n = strlen(table[i][0]);

		if (strncmp(e->p, table[i][0], n) != 0)
			continue;
		puts_(e, table[i][1]);
		e->p += n;
		return;
	}
	fail(e, "this is not expected here");
}

static void bracket_or_operator(struct elixir *e)
{
	switch (*e->p) {
	case '(':
	case '[':
	case '{':
		open_bracket(e, *e->p,
			     *e->p == '(' ? "(" :
			     *e->p == '[' ? "[" :
					    "{");
		e->p++;
		return;
	case ')':
	case ']':
	case '}':
		close_bracket(e);
		return;
	case ',':
		comma(e);
		return;
	default:
		operator(e);
	}
}

static void token(struct elixir *e)
{
	const char *p = e->p;

	if (is_upper(*p))
		module(e);
	else if (is_lower(*p) || *p == '_')
		word(e);
	else if (is_digit(*p))
		number(e);
	else if (*p == ':' && p[1] == '"')
		quoted_atom(e);
	else if (*p == ':' && (is_lower(p[1]) || is_upper(p[1]) || p[1] == '_'))
		plain_atom(e);
	else if (*p == '"')
		string(e, true);
	else if (!strncmp(p, "~c\"", 3)) {
		e->p += 2;
		string(e, false);
	} else if (*p == '\'')
		string(e, false);
	else if (*p == '?' && p[1])
		character(e);
	else if (*p == '%')
		map(e);
	else if (*p == '#')
		identifier(e);
	else if (!strncmp(p, "<<", 2))
		bytes(e);
	else
		bracket_or_operator(e);
}

/* Returns true if the arrow before the actions is next. The translation ends
 * there, because actions are the same in Elixir's and Erlang's notation. */
static bool is_arrow(const struct elixir *e)
{
	return !e->depth &&
	       (!strncmp(e->p, "->", 2) || !strncmp(e->p, "::", 2));
}

int inv__elixir_translate(const char *text, unsigned first,
			  struct inv__elixir *out, struct inv_err *err)
{
	struct elixir e = {
		.begin = text, .p = text, .first = first, .out = out, .err = err
	};

	*out = (struct inv__elixir){ .text = { 0 } };
	while (!e.rc && *e.p && !is_arrow(&e)) {
		note(&e);
		if (is_space(*e.p)) {
			inv_buf_putc(&out->text, *e.p++);
		} else {
			token(&e);
		}
	}
	if (!e.rc) {
		note(&e);
		inv_buf_puts(&out->text, e.p);
	}
	inv_buf_putc(&out->text, '\0');
	if (out->text.error || out->map.error || e.rc == INV_ENOMEM)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	return e.rc;
}

void inv__elixir_release(struct inv__elixir *e)
{
	inv_buf_release(&e->text);
	inv_buf_release(&e->map);
}

void inv__elixir_locate(const struct inv__elixir *e, const char *original,
			unsigned first, struct inv_err *err)
{
	const char *text = (const char *)e->text.data;
	uint32_t at = 0, pair[2] = { 0 };
	char rest[sizeof(err->text)];
	unsigned wrong, n = 1;
	const char *p, *colon;

	if (!err || strncmp(err->text, "character ", 10) != 0)
		return;
	wrong = 0;
	for (p = err->text + 10; is_digit(*p); p++)
		wrong = 10 * wrong + (unsigned)(*p - '0');
	p = text;
	colon = strchr(err->text, ':');
	if (!colon)
		return;
	for (; *p && n < wrong; p++)
		n += ((uint8_t)p[1] & 0xc0) != 0x80;
	for (size_t i = 0; i + sizeof(pair) <= e->map.len; i += sizeof(pair)) {
		memcpy(pair, e->map.data + i, sizeof(pair));
		if (pair[0] > (size_t)(p - text))
			break;
		at = pair[1];
	}
	snprintf(rest, sizeof(rest), "%s", colon);
	snprintf(err->text, sizeof(err->text), "character %u%.470s",
		 column(original, original + at, first), rest);
}
