/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the input as the answer of an OTLP collector.
 *
 *	byte 0    bit 0: the collector accepted the spans
 *	          bit 1: the body is JSON
 *	the rest  the body
 *
 * The target checks that the collector's text can be shown on a terminal and
 * is not long. The number of rejected spans must fit into a signed number, and
 * must be 0 if the collector did not accept the request. A second run must have
 * the same result.
 */
#include <string.h>

#include "base/utf8.h"
#include "check.h"
#include "export/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bound of a text is 300 bytes. The last character of the text can exceed
 * the bound by 3 bytes. */
#define TEXT_MAX (300u + 3)

static void check(const struct inv_answer *a, size_t size, bool ok)
{
	const uint8_t *p = a->text.data, *end;
	unsigned n;

	CHECK(!a->text.error);
	CHECK(a->text.len <= size && a->text.len <= TEXT_MAX);
	CHECK(a->rejected <= INT64_MAX && (ok || !a->rejected));
	end = a->text.len ? p + a->text.len : p;
	for (; p < end; p += n) {
		uint32_t c = inv_utf8_get(p, end, &n);

		CHECK(c != INV_CHAR_BAD && c >= ' ' &&
		      (c < 0x7f || c >= 0xa0) && !inv_char_hidden(c));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inv_answer a = { 0 }, b = { 0 };
	bool ok, json;

	if (!size || size - 1 > INV_ANSWER_MAX)
		return 0;
	ok = data[0] & 1;
	json = data[0] & 2;
	inv_answer_read(&a, data + 1, size - 1, ok, json);
	check(&a, size - 1, ok);
	inv_answer_read(&b, data + 1, size - 1, ok, json);
	CHECK(a.rejected == b.rejected && a.text.len == b.text.len &&
	      (!a.text.len || !memcmp(a.text.data, b.text.data, a.text.len)));
	inv_buf_release(&a.text);
	inv_buf_release(&b.text);
	return 0;
}
