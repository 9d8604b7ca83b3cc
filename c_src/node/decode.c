/* SPDX-License-Identifier: Apache-2.0 */
#include "node/decode.h"

#include <stdlib.h>
#include <string.h>

#include "abi/control.h"
#include "node/etf_text.h"

#define TEXT_MAX 4096
#define TEXTS_MAX 1024

void inv_decode_init(struct inv_decode *d, const char *term, size_t len)
{
	d->term = term;
	d->len = len;
	inv_cursor_init(&d->c, INV_ENC_ETF, NULL, term, len);
}

void inv_texts_release(struct inv_texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i]);
	free(t->v);
	memset(t, 0, sizeof(*t));
}

int inv_decode_bad(struct inv_decode *d)
{
	if (!d->c.error)
		d->c.error = INV_EDAMAGED;
	return d->c.error;
}

/* Reads a token.  Returns INV_EDAMAGED if there are no more bytes. */
static int next(struct inv_decode *d, struct inv_token *tok)
{
	int r = inv_cursor_next(&d->c, tok);

	return r == INV_END ? inv_decode_bad(d) : r;
}

/*
 * Reads the elements of a string that is encoded as a list, because it has
 * characters above 255. The caller has already read the LIST token.
 */
static int list_text(struct inv_decode *d, char *buf, size_t size)
{
	struct inv_token tok;
	size_t at = 0;
	int64_t c;
	int r;

	for (;;) {
		r = next(d, &tok);
		if (r < 0)
			return r;
		if (tok.kind == INV_TOK_END)
			return 0;
		if (!inv_token_i64(&tok, &c) || c < 0 || c > 0x10ffff)
			return inv_decode_bad(d);
		inv_plain_char(buf, size, &at, (uint32_t)c);
	}
}

int inv_token_text(struct inv_decode *d, const struct inv_token *tok, char *buf,
		   size_t size)
{
	size_t at = 0;

	buf[0] = 0;
	switch (tok->kind) {
	case INV_TOK_ATOM:
	case INV_TOK_BINARY:
		inv_plain_text(buf, size, tok->bytes, tok->len);
		return 0;
	case INV_TOK_STRING:
		for (size_t i = 0; i < tok->len; i++)
			if (!inv_plain_char(buf, size, &at, tok->bytes[i]))
				break;
		return 0;
	case INV_TOK_NIL:
		return 0;
	case INV_TOK_LIST:
		return list_text(d, buf, size);
	default:
		return inv_decode_bad(d);
	}
}

int inv_decode_text(struct inv_decode *d, char *buf, size_t size)
{
	struct inv_token tok;
	int r;

	buf[0] = 0;
	r = next(d, &tok);
	return r < 0 ? r : inv_token_text(d, &tok, buf, size);
}

static int add_text(struct inv_texts *out, const char *text)
{
	char **v = realloc(out->v, (out->n + 1) * sizeof(*v));

	if (!v)
		return INV_ENOMEM;
	out->v = v;
	v[out->n] = strdup(text);
	if (!v[out->n])
		return INV_ENOMEM;
	out->n++;
	return 0;
}

/* Reads the elements of a list and its END token. */
static int list_texts(struct inv_decode *d, struct inv_texts *out, size_t max)
{
	char text[TEXT_MAX];
	struct inv_token tok;
	int r;

	for (;;) {
		r = next(d, &tok);
		if (r < 0)
			return r;
		if (tok.kind == INV_TOK_END)
			return 0;
		if (tok.sep == INV_SEP_BAR)
			return inv_decode_bad(d);
		r = inv_token_text(d, &tok, text, sizeof(text));
		if (r == 0 && out->n < max)
			r = add_text(out, text);
		if (r < 0)
			return r;
	}
}

int inv_decode_texts(struct inv_decode *d, struct inv_texts *out, size_t max)
{
	struct inv_token tok;
	int r = next(d, &tok);

	if (r < 0)
		return r;
	if (tok.kind == INV_TOK_NIL)
		return 0;
	return tok.kind == INV_TOK_LIST ? list_texts(d, out, max) :
					  inv_decode_bad(d);
}

int inv_decode_i64(struct inv_decode *d, int64_t *v)
{
	struct inv_token tok;
	int r = next(d, &tok);

	if (r < 0)
		return r;
	return inv_token_i64(&tok, v) ? 0 : inv_decode_bad(d);
}

int inv_decode_number(struct inv_decode *d, int64_t other, int64_t *v)
{
	struct inv_token tok;
	int r = next(d, &tok);

	if (r < 0)
		return r;
	if (tok.kind == INV_TOK_ATOM)
		*v = other;
	else if (!inv_token_i64(&tok, v))
		return inv_decode_bad(d);
	return 0;
}

int inv_decode_u64(struct inv_decode *d, uint64_t *v)
{
	int64_t i;
	int r = inv_decode_i64(d, &i);

	if (r < 0)
		return r;
	if (i < 0)
		return inv_decode_bad(d);
	*v = (uint64_t)i;
	return 0;
}

/*
 * The cursor first checks the bytes of the pid, because libei does not check
 * them when it decodes the pid.
 */
int inv_decode_pid(struct inv_decode *d, erlang_pid *pid)
{
	int index = (int)inv_cursor_offset(&d->c);
	struct inv_token tok;
	int r = next(d, &tok);

	if (r < 0)
		return r;
	if (tok.kind != INV_TOK_PID || ei_decode_pid(d->term, &index, pid))
		return inv_decode_bad(d);
	return 0;
}

int inv_decode_bytes(struct inv_decode *d, const uint8_t **p, size_t *len)
{
	struct inv_token tok;
	int r = next(d, &tok);

	if (r < 0)
		return r;
	if (tok.kind != INV_TOK_BINARY || tok.last_bits != 8)
		return inv_decode_bad(d);
	*p = tok.bytes;
	*len = tok.len;
	return 0;
}

int inv_decode_list(struct inv_decode *d, size_t max, size_t *n)
{
	struct inv_token tok;
	int rc = next(d, &tok);

	if (rc)
		return rc;
	*n = 0;
	if (tok.kind == INV_TOK_NIL)
		return 0;
	if (tok.kind != INV_TOK_LIST || tok.count > max)
		return inv_decode_bad(d);
	*n = tok.count;
	return 0;
}

int inv_decode_map(struct inv_decode *d, uint32_t *pairs)
{
	struct inv_token tok;
	int r = next(d, &tok);

	if (r < 0)
		return r;
	if (tok.kind != INV_TOK_MAP)
		return inv_decode_bad(d);
	*pairs = tok.count;
	return 0;
}

int inv_token_word(const struct inv_token *tok, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (inv_token_is(tok, names[i]))
			return i;
	return -1;
}

int inv_decode_word(struct inv_decode *d, const char *const *names, int *word)
{
	struct inv_token tok;
	int r = next(d, &tok);

	*word = -1;
	if (r < 0)
		return r;
	if (tok.kind != INV_TOK_ATOM)
		return inv_decode_bad(d);
	*word = inv_token_word(&tok, names);
	return 0;
}

int inv_decode_skip(struct inv_decode *d)
{
	int r = inv_cursor_skip(&d->c);

	return r == INV_END ? inv_decode_bad(d) : r;
}

int inv_decode_bool(struct inv_decode *d, bool *v)
{
	static const char *const words[] = { "false", "true", NULL };
	int word;
	int r = inv_decode_word(d, words, &word);

	if (r == 0 && word < 0)
		r = inv_decode_bad(d);
	*v = word == 1;
	return r;
}

/* --- maps ----------------------------------------------------------------- */

static int read_pair(struct inv_decode *d, const struct inv_field *f, void *out)
{
	char *at;
	struct inv_token key;
	int r = next(d, &key);

	if (r == 0 && key.kind != INV_TOK_ATOM)
		r = inv_decode_bad(d);
	if (r < 0)
		return r;
	while (f->key && !inv_token_is(&key, f->key))
		f++;
	at = (char *)out + f->at;
	return !f->key	 ? inv_decode_skip(d) :
	       f->fields ? inv_decode_fields(d, f->fields, out) :
	       f->read	 ? f->read(d, at) :
			   inv_decode_text(d, at, f->size);
}

int inv_decode_fields(struct inv_decode *d, const struct inv_field *fields,
		      void *out)
{
	uint32_t pairs = 0;
	int r = inv_decode_map(d, &pairs);

	while (r == 0 && pairs-- > 0)
		r = read_pair(d, fields, out);
	return r < 0 ? r : inv_cursor_end(&d->c);
}

int inv_field_number(struct inv_decode *d, void *at)
{
	return inv_decode_number(d, -1, at);
}

int inv_field_limit(struct inv_decode *d, void *at)
{
	return inv_decode_number(d, 0, at);
}

int inv_field_count(struct inv_decode *d, void *at)
{
	return inv_decode_u64(d, at);
}

int inv_field_texts(struct inv_decode *d, void *at)
{
	inv_texts_release(at);
	return inv_decode_texts(d, at, TEXTS_MAX);
}

int inv_field_bool(struct inv_decode *d, void *at)
{
	return inv_decode_bool(d, at);
}

int inv_field_pid(struct inv_decode *d, void *at)
{
	return inv_decode_pid(d, at);
}

/* --- answers -------------------------------------------------------------- */

enum {
	CODE_FAILED = INV_EREMOTE,
	CODE_USAGE = INV_EINVAL,
	CODE_REFUSED = INV_EREFUSED,
	CODE_NOTHING = INV_ENOTHING,
	CODE_AGAIN = INV_EBUSY,
};

static const struct {
	const char *word;
	int code;
} classes[] = {
#define CLASS(name, text) { text, CODE_##name },
	INV_CONTROL_CLASSES(CLASS)
#undef CLASS
};

static int code_of(const struct inv_token *class)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (inv_token_is(class, classes[i].word))
			return classes[i].code;
	return INV_EREMOTE;
}

int inv_decode_class(struct inv_decode *d, int *code)
{
	struct inv_token tok;
	int r = next(d, &tok);

	*code = 0;
	if (r < 0)
		return r;
	if (tok.kind != INV_TOK_ATOM)
		return inv_decode_bad(d);
	if (!inv_token_is(&tok, "none"))
		*code = code_of(&tok);
	return 0;
}

/* Reads Class and Text of {error, Class, Text} into err. Returns the code of
 * Class. */
static int failure(struct inv_decode *d, struct inv_err *err)
{
	char text[sizeof(err->text)];
	int code;
	int r = inv_decode_class(d, &code);

	if (r == 0)
		r = inv_decode_text(d, text, sizeof(text));
	if (r < 0)
		return inv_err_set(err, r, "an invalid answer");
	return inv_err_set(err, code ? code : INV_EREMOTE, "%s", text);
}

int inv_decode_strange(const struct inv_decode *d, struct inv_err *err)
{
	char words[200];

	inv_etf_text(words, sizeof(words), d->term, d->len);
	return inv_err_set(err, INV_EDAMAGED, "an unexpected answer: %s",
			   words);
}

static int bad_rpc(struct inv_decode *d, struct inv_err *err)
{
	size_t at = inv_cursor_offset(&d->c);
	char words[300];

	inv_etf_text(words, sizeof(words), d->term + at, d->len - at);
	return inv_err_set(err, INV_EREMOTE, "the call failed there: %s",
			   words);
}

int inv_decode_ok(struct inv_decode *d, uint32_t arity, struct inv_err *err)
{
	static const char *const heads[] = { "ok", "error", "badrpc", NULL };
	uint32_t n;
	int head;

	if (inv_cursor_tuple(&d->c, &n) < 0 || n == 0 ||
	    inv_decode_word(d, heads, &head) < 0)
		return inv_decode_strange(d, err);
	if (head == 0 && n == arity)
		return 0;
	if (head == 1 && n == 3)
		return failure(d, err);
	if (head == 2 && n == 2)
		return bad_rpc(d, err);
	return inv_decode_strange(d, err);
}

int inv_decode_answer_ok(struct inv_decode *d, struct inv_err *err)
{
	struct inv_token tok;

	if (next(d, &tok) == 0 && tok.kind == INV_TOK_ATOM &&
	    inv_token_is(&tok, "ok"))
		return 0;
	inv_decode_init(d, d->term, d->len);
	return inv_decode_ok(d, 0, err);
}
