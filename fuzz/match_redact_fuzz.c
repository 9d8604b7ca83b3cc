/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redacts arbitrary terms in the encoding of logs.
 *
 *	byte 0    bit 0: the rest is the text of rules, and not terms
 *	byte 1    the length of the dictionary, which follows
 *	the rest  terms, or the text of rules
 *
 * The target checks that valid terms are still valid after they were redacted.
 * If only the shape of a term is kept (INV_REDACT_SHAPE), the result must have
 * no data, and redacting it again must change nothing. The rules are read
 * twice: all at once, and one by one. If rules are refused, there must be a
 * message.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "match/redact_terms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct inv_cursor cursor;
static struct inv_dict dict;
static struct inv_redact rules;
static struct inv_redact_ends ends;
static struct inv_buf first, second;

struct input {
	const uint8_t *p;
	size_t len;
};

/* Redacts all terms. */
static int redact(const struct input *in, enum inv_redact_how how,
		  struct inv_buf *out)
{
	struct inv_redact_copy x = { .rules = &rules,
				     .dict = &dict,
				     .cursor = &cursor,
				     .ends = &ends,
				     .p = in->p,
				     .end = in->len ? in->p + in->len : in->p,
				     .out = out };
	int rc = 0;

	inv_buf_reset(out);
	inv_redact_ends_reset(&ends);
	/* If a value was redacted, the terms after it may contain the same
	 * value. So inv_redact_result searches these terms for the value. */
	while (!rc && x.p < x.end)
		rc = how == INV_REDACT_BY_RULES && x.n_hidden ?
			     inv_redact_result(&x) :
			     inv_redact_term(&x, how);
	CHECK(x.p <= x.end);
	return rc;
}

/* Reads the terms. Returns false if they are invalid. Sets *data to true if
 * they contain a large integer, float, binary or string. */
static bool walk(const struct input *in, bool *data)
{
	struct inv_token tok;
	int rc;

	*data = false;
	inv_cursor_init(&cursor, INV_ENC_PACKED, &dict, in->p, in->len);
	while (!(rc = inv_cursor_next(&cursor, &tok)))
		if (tok.kind == INV_TOK_BINARY || tok.kind == INV_TOK_STRING ||
		    tok.kind == INV_TOK_FLOAT || tok.kind == INV_TOK_BIG)
			*data = true;
	return rc == INV_END;
}

static void check_terms(const struct input *in)
{
	struct input out;
	bool data;
	bool valid = walk(in, &data);
	int rc = redact(in, INV_REDACT_BY_RULES, &first);

	if (valid) {
		CHECK(!rc);
		out = (struct input){ first.data, first.len };
		CHECK(walk(&out, &data));
	}
	rc = redact(in, INV_REDACT_SHAPE, &first);
	if (!valid)
		return;
	CHECK(!rc);
	out = (struct input){ first.data, first.len };
	CHECK(walk(&out, &data) && !data);
	CHECK(!redact(&out, INV_REDACT_SHAPE, &second));
	CHECK(first.len == second.len &&
	      (!first.len || !memcmp(first.data, second.data, first.len)));
}

static void check_rules(const struct input *in)
{
	static struct inv_redact one;
	struct inv_err err = { 0 };
	char *text = malloc(in->len + 1);
	const char *p = text;
	int rc;

	CHECK(text);
	memcpy(text, in->p, in->len);
	text[in->len] = '\0';
	memset(&one, 0, sizeof(one));
	rc = inv_redact_parse(&one, text, strlen(text), NULL, &err);
	CHECK(!rc || err.text[0]);
	inv_buf_reset(&first);
	do
		rc = inv_redact_next(&p, NULL, &first, &err);
	while (!rc);
	CHECK(rc == INV_END || err.text[0]);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] = "a*,b,#a/2.2,#*/4.3,a:a(-),*:*(_,-) -> -";
	struct input in;
	size_t n;

	if (size < 2)
		return 0;
	n = data[1] < size - 2 ? data[1] : size - 2;
	in = (struct input){ data + 2 + n, size - 2 - n };
	if (data[0] & 1) {
		check_rules(&in);
		return 0;
	}
	if (!inv_redact_any(&rules))
		CHECK(!inv_redact_parse(&rules, text, sizeof(text) - 1, NULL,
					NULL));
	dict.n = 0;
	inv_dict_parse(&dict, data + 2, n, NULL);
	check_terms(&in);
	return 0;
}
