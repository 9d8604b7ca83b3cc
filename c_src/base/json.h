/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_JSON_H
#define INV_BASE_JSON_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * Writes JSON into a buffer.  The writer adds commas and quotes, and escapes
 * texts. The caller must close each object and array that it opens:
 *
 *	struct inv_json j = { .out = &b };
 *
 *	inv_json_open(&j, NULL, '{');
 *	inv_json_text(&j, "node", "a@h");
 *	inv_json_open(&j, "calls", '[');
 *	inv_json_uint(&j, NULL, 3);
 *	inv_json_close(&j, ']');
 *	inv_json_close(&j, '}');
 *	inv_json_line(&j);
 *
 * appends {"node":"a@h","calls":[3]} and a newline.
 *
 * The key is NULL for a value that is an element of an array or is in no
 * container.  Any other key must be a plain identifier, because the writer does
 * not escape keys; for other keys use inv_json_key_text.
 *
 * The functions return no errors: if memory runs out, they set out->error.
 */
struct inv_json {
	struct inv_buf *out;
	bool more; /* private: the next value needs a comma before it */
};

/* Writes what comes before a value: a comma, if needed; the key and a colon, if
 * key is not NULL; and the first character of the value, if `first' is not 0.
 */
INV_HOT void inv_json_lead(struct inv_json *j, const char *key, char first)
{
	size_t n = key ? strlen(key) : 0;
	uint8_t *w = inv_buf_reserve(j->out, n + 5), *begin = w;

	if (!w)
		return;
	if (j->more)
		*w++ = ',';
	if (key) {
		*w++ = '"';
		memcpy(w, key, n);
		w += n;
		*w++ = '"';
		*w++ = ':';
	}
	if (first)
		*w++ = (uint8_t)first;
	inv_buf_commit(j->out, (size_t)(w - begin));
	j->more = false;
}

INV_HOT void inv_json_key(struct inv_json *j, const char *key)
{
	inv_json_lead(j, key, 0);
}

/* Like inv_json_key, for a key with characters that may need escapes. */
void inv_json_key_text(struct inv_json *j, const char *key);

/* Opens an object ('{') or an array ('['). */
INV_HOT void inv_json_open(struct inv_json *j, const char *key, char bracket)
{
	inv_json_lead(j, key, bracket);
}

INV_HOT void inv_json_close(struct inv_json *j, char bracket)
{
	inv_buf_putc(j->out, bracket);
	j->more = true;
}

/* Appends a newline after a complete object. The next line starts a new
 * object. */
INV_HOT void inv_json_line(struct inv_json *j)
{
	inv_buf_putc(j->out, '\n');
	j->more = false;
}

/*
 * Appends bytes as a string.  Quotes, backslashes, control characters and
 * hidden characters (inv_char_hidden) are escaped; each byte that is not UTF-8
 * becomes U+FFFD.
 */
void inv_json_bytes(struct inv_json *j, const char *key, const void *p,
		    size_t n);

INV_HOT void inv_json_text(struct inv_json *j, const char *key,
			   const char *text)
{
	inv_json_bytes(j, key, text, strlen(text));
}

/* inv_json_begin starts a string, the caller appends the string's bytes to
 * j->out, and inv_json_end escapes these bytes in place and ends the string.
 * Pass the result of inv_json_begin to inv_json_end. */
INV_HOT size_t inv_json_begin(struct inv_json *j, const char *key)
{
	inv_json_lead(j, key, '"');
	return j->out->len;
}

void inv_json_end(struct inv_json *j, size_t begin);

/* Ends a string whose bytes need no escapes. */
INV_HOT void inv_json_end_plain(struct inv_json *j)
{
	inv_buf_putc(j->out, '"');
	j->more = true;
}

/* Appends a string that needs no escapes, such as a fixed word. */
INV_HOT void inv_json_word(struct inv_json *j, const char *key,
			   const char *word, size_t n)
{
	inv_json_begin(j, key);
	inv_buf_put(j->out, word, n);
	inv_json_end_plain(j);
}

INV_HOT void inv_json_int(struct inv_json *j, const char *key, int64_t n)
{
	inv_json_key(j, key);
	inv_buf_i64(j->out, n);
	j->more = true;
}

INV_HOT void inv_json_uint(struct inv_json *j, const char *key, uint64_t n)
{
	inv_json_key(j, key);
	inv_buf_u64(j->out, n);
	j->more = true;
}

INV_HOT void inv_json_bool(struct inv_json *j, const char *key, bool b)
{
	inv_json_key(j, key);
	inv_buf_puts(j->out, b ? "true" : "false");
	j->more = true;
}

INV_HOT void inv_json_null(struct inv_json *j, const char *key)
{
	inv_json_key(j, key);
	inv_buf_puts(j->out, "null");
	j->more = true;
}

/* Appends the JSON text to `out', for a script element of HTML. Escapes each <,
 * because </script> in a string would end the element. (In JSON, < occurs only
 * in strings.) */
void inv_json_embed(const struct inv_buf *json, struct inv_buf *out);

#endif
