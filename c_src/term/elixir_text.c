/* SPDX-License-Identifier: Apache-2.0 */
/* Atoms, strings and numbers as Elixir's inspect/2 prints them. */
#include "base/utf8.h"
#include "term/print_int.h"

static bool is_lower(unsigned c)
{
	return (c >= 'a' && c <= 'z') || c == '_';
}

static bool is_upper(unsigned c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_word(unsigned c)
{
	return is_lower(c) || is_upper(c) || (c >= '0' && c <= '9');
}

/* Returns how many bytes from p on are letters, digits or _. If `at' is true, @
 * counts, too. */
static size_t word(const uint8_t *p, size_t len, bool at)
{
	size_t i = 0;

	while (i < len && (is_word(p[i]) || (at && p[i] == '@')))
		i++;
	return i;
}

/* Returns true for a name such as f, f? or f!, which needs no quotes. If
 * `upper' is true, the name may begin with an upper-case letter; if `at' is
 * true, it may contain @. */
static bool is_name(const uint8_t *p, size_t len, bool upper, bool at)
{
	size_t n;

	if (!len || !(is_lower(p[0]) || (upper && is_upper(p[0]))))
		return false;
	n = word(p, len, at);
	return n == len || (n == len - 1 && (p[n] == '?' || p[n] == '!'));
}

/* Returns true for the atom of an Elixir module, such as 'Elixir.Shop.Cart'. */
static bool is_alias(const uint8_t *p, size_t len)
{
	const uint8_t *begin, *end = p + len;
	size_t n;

	if (len <= INV_ELIXIR_PREFIX ||
	    memcmp(p, "Elixir.", INV_ELIXIR_PREFIX) != 0)
		return false;
	begin = p += INV_ELIXIR_PREFIX;
	for (;; p++) {
		n = p < end && is_upper(*p) ?
			    word(p, (size_t)(end - p), false) :
			    0;
		/* Without its prefix, Elixir.Elixir.A would become Elixir.A,
		 * which is another atom. */
		if (!n || (p == begin && n == 6 && !memcmp(p, "Elixir", 6)))
			return false;
		p += n;
		if (p == end)
			return true;
		if (*p != '.')
			return false;
	}
}

bool inv__elixir_is_alias(const uint8_t *p, size_t len)
{
	return is_alias(p, len);
}

static bool is_text(const uint8_t *p, size_t len, const char *text)
{
	return len == strlen(text) && !memcmp(p, text, len);
}

/*
 * Returns the letter of the escape sequence for ch in double quotes (n for a
 * newline), or 0 if ch has no such escape sequence.
 */
static char escape_letter(uint32_t ch)
{
	if (ch == 7)
		return 'a';
	if (ch == '"')
		return '"';
	return inv__escape_letter(ch);
}

/* The longest text of a character: \u{10FFFF} */
#define CHAR_MAX_LEN 10
/* In the output, space is reserved for this many characters at a time. */
#define SOME 64

/*
 * Returns true for a character that Unicode joins with the next character
 * (property Grapheme_Cluster_Break=Prepend). If a closing quote followed it,
 * Elixir would read both as one character and not find the string's end.
 */
static bool joins_next(uint32_t ch)
{
	static const struct {
		uint32_t first, last;
	} range[] = {
		{ 0x600, 0x605 },     { 0x6dd, 0x6dd },
		{ 0x70f, 0x70f },     { 0x890, 0x891 },
		{ 0x8e2, 0x8e2 },     { 0xd4e, 0xd4e },
		{ 0x110bd, 0x110bd }, { 0x110cd, 0x110cd },
		{ 0x111c2, 0x111c3 }, { 0x1193f, 0x1193f },
		{ 0x11941, 0x11941 }, { 0x11a3a, 0x11a3a },
		{ 0x11a84, 0x11a89 }, { 0x11d46, 0x11d46 },
		{ 0x11f02, 0x11f02 },
	};

	for (size_t i = 0; i < sizeof(range) / sizeof(*range); i++)
		if (ch <= range[i].last)
			return ch >= range[i].first;
	return false;
}

/* Writes the character ch of a string at w, escaped if necessary. `next' is the
 * character after it. */
static uint8_t *put_char(uint8_t *w, uint32_t ch, uint32_t next)
{
	char letter = escape_letter(ch);

	if (letter || (ch == '#' && next == '{')) {
		*w++ = '\\';
		*w++ = (uint8_t)(letter ? letter : '#');
		return w;
	}
	if (ch < 32 || (ch > 127 && ch < 160) || inv_char_hidden(ch) ||
	    joins_next(ch)) {
		int shift = 20;

		memcpy(w, "\\u{", 3);
		w += 3;
		while (shift && ch >> shift == 0)
			shift -= 4;
		for (; shift >= 0; shift -= 4)
			*w++ = (uint8_t) "0123456789ABCDEF"[ch >> shift & 15];
		*w++ = '}';
		return w;
	}
	return inv_utf8_put(w, ch);
}

/* Appends a text, which is UTF-8, in double quotes. */
static void quote(const uint8_t *p, size_t len, struct inv_buf *out)
{
	const uint8_t *end = p + len;
	uint8_t *w;
	uint32_t ch;
	unsigned n;

	inv_buf_putc(out, '"');
	while (p < end) {
		w = inv_buf_reserve(out, SOME * CHAR_MAX_LEN);
		if (!w)
			return;
		for (int i = 0; i < SOME && p < end; i++, p += n) {
			ch = inv_utf8_get(p, end, &n);
			w = put_char(w, ch == INV_CHAR_BAD ? 0xfffd : ch,
				     p + n < end ? p[n] : 0);
		}
		out->len = (size_t)(w - out->data);
	}
	inv_buf_putc(out, '"');
}

void inv__elixir_atom(const uint8_t *p, size_t len, struct inv_buf *out)
{
	if (is_text(p, len, "nil") || is_text(p, len, "true") ||
	    is_text(p, len, "false")) {
		inv_buf_put(out, p, len);
		return;
	}
	if (is_alias(p, len)) {
		inv_buf_put(out, p + INV_ELIXIR_PREFIX,
			    len - INV_ELIXIR_PREFIX);
		return;
	}
	inv_buf_putc(out, ':');
	if (is_name(p, len, true, true))
		inv_buf_put(out, p, len);
	else
		quote(p, len, out);
}

bool inv__elixir_is_key(const uint8_t *p, size_t len)
{
	return len < INV_ELIXIR_PREFIX ||
	       memcmp(p, "Elixir.", INV_ELIXIR_PREFIX) != 0;
}

void inv__elixir_key(const uint8_t *p, size_t len, struct inv_buf *out)
{
	if (is_name(p, len, true, false))
		inv_buf_put(out, p, len);
	else
		quote(p, len, out);
	inv_buf_puts(out, ": ");
}

void inv__elixir_function(const uint8_t *p, size_t len, struct inv_buf *out)
{
	if (is_name(p, len, false, false))
		inv_buf_put(out, p, len);
	else
		quote(p, len, out);
}

/* --- strings -------------------------------------------------------------- */

/* Returns true if String.printable?/1 accepts the character. */
static bool is_printable(uint32_t ch)
{
	if (ch < 32)
		return (ch >= 7 && ch <= 13) || ch == 27;
	return ch < 128 || (ch >= 0xa0 && ch < 0xd800) ||
	       (ch >= 0xe000 && ch <= 0xfffd) ||
	       (ch >= 0x10000 && ch <= 0x10ffff);
}

static bool is_string(const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	uint32_t ch;
	unsigned n;

	for (; p < end; p += n) {
		ch = inv_utf8_get(p, end, &n);
		if (ch == INV_CHAR_BAD || !is_printable(ch))
			return false;
	}
	return true;
}

bool inv__elixir_is_char(int64_t ch)
{
	return ch >= 0 && ch < 127 && is_printable((uint32_t)ch);
}

static bool is_charlist(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!inv__elixir_is_char(p[i]))
			return false;
	return len > 0;
}

void inv__elixir_char(uint32_t ch, uint32_t next, struct inv_buf *out)
{
	uint8_t *w = inv_buf_reserve(out, CHAR_MAX_LEN);

	if (w)
		out->len = (size_t)(put_char(w, ch, next) - out->data);
}

/* Appends numbers, separated by commas. */
static void put_bytes(const uint8_t *p, size_t len, struct inv_buf *out)
{
	for (size_t i = 0; i < len; i++) {
		if (i)
			inv_buf_puts(out, ", ");
		inv_buf_u64(out, p[i]);
	}
}

void inv__elixir_charlist(const struct inv_token *tok, struct inv_buf *out)
{
	if (is_charlist(tok->bytes, tok->len)) {
		inv_buf_puts(out, "~c");
		quote(tok->bytes, tok->len, out);
		if (tok->cut)
			inv__print_cut(tok->cut, tok->left, out);
		return;
	}
	inv_buf_putc(out, '[');
	put_bytes(tok->bytes, tok->len, out);
	if (tok->cut) {
		if (tok->len)
			inv_buf_puts(out, ", ");
		inv__print_cut(tok->cut, tok->left, out);
	}
	inv_buf_putc(out, ']');
}

/* Returns how many bytes of a binary are printed as text, or SIZE_MAX if the
 * binary is not text. If the binary was cut inside a character, the bytes of
 * this character are not counted. */
static size_t text_of(const struct inv_token *tok)
{
	size_t len = tok->len;

	if (!tok->cut && tok->last_bits != 8)
		return SIZE_MAX;
	if (tok->cut && !len)
		return SIZE_MAX;
	if (tok->cut)
		len -= inv_utf8_partial(tok->bytes, len);
	return is_string(tok->bytes, len) ? len : SIZE_MAX;
}

void inv__elixir_binary(const struct inv_token *tok, struct inv_buf *out)
{
	size_t text = text_of(tok);
	unsigned used = tok->len && !tok->cut ? tok->last_bits : 8;

	if (text != SIZE_MAX) {
		quote(tok->bytes, text, out);
		if (tok->cut)
			inv__print_binary_cut(tok->left + 8 * (tok->len - text),
					      out);
		return;
	}
	inv_buf_puts(out, "<<");
	put_bytes(tok->bytes, tok->len - (used < 8), out);
	if (tok->len && (tok->cut || (used < 8 && tok->len > 1)))
		inv_buf_puts(out, ", ");
	if (tok->cut) {
		inv__print_binary_cut(tok->left, out);
	} else if (used < 8) {
		inv_buf_u64(out, tok->bytes[tok->len - 1] >> (8 - used));
		inv_buf_puts(out, "::size(");
		inv_buf_u64(out, used);
		inv_buf_putc(out, ')');
	}
	inv_buf_puts(out, ">>");
}

/* --- texts in Erlang's syntax --------------------------------------------- */

/* Reads an atom at *p in Erlang's syntax, and appends its name, without
 * quotes. */
static bool get_atom(const char **p, const char *end, struct inv_buf *name)
{
	const char *s = *p;
	bool quoted = s < end && *s == '\'';

	for (s += quoted;
	     s < end && (quoted ? *s != '\'' : *s != ':' && *s != '/'); s++) {
		if (*s == '\\' && (++s == end || (*s != '\\' && *s != '\'')))
			return false;
		if (!quoted && (uint8_t)*s < 128 && *s != '@' &&
		    !is_word((uint8_t)*s))
			return false;
		inv_buf_putc(name, *s);
	}
	if ((quoted && s == end) || !name->len)
		return false;
	*p = s + quoted;
	return !name->error;
}

static bool translate(const char *text, size_t len, struct inv_buf *out)
{
	const char *p = text, *end = text + len;
	struct inv_buf first = { 0 }, second = { 0 };
	bool done = get_atom(&p, end, &first);

	if (done && p == end) {
		inv__elixir_atom(first.data, first.len, out);
	} else if (done && *p++ == ':' && get_atom(&p, end, &second) &&
		   p < end && *p == '/') {
		inv__elixir_atom(first.data, first.len, out);
		inv_buf_putc(out, '.');
		inv__elixir_function(second.data, second.len, out);
		inv_buf_put(out, p, (size_t)(end - p));
	} else {
		done = false;
	}
	inv_buf_release(&first);
	inv_buf_release(&second);
	return done;
}

bool inv_term_print_translated(const char *text, size_t len,
			       struct inv_buf *out)
{
	const size_t n = sizeof(INV_CHILD_OF) - 1;
	const size_t before = out->len;

	if (len < n || memcmp(text, INV_CHILD_OF, n) != 0)
		return translate(text, len, out);
	inv_buf_puts(out, INV_CHILD_OF);
	if (translate(text + n, len - n, out))
		return true;
	out->len = before;
	return false;
}
