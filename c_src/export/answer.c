/* SPDX-License-Identifier: Apache-2.0 */
#include "export/answer.h"

#include <string.h>

#include "base/utf8.h"
#include "base/varint.h"

/* The most bytes of a collector's message that are shown. */
#define TEXT_MAX 300u

/* The field numbers of each protobuf message. */
enum {
	RESPONSE_PARTIAL = 1,
	PARTIAL_REJECTED = 1,
	PARTIAL_MESSAGE = 2,
	STATUS_MESSAGE = 2,
};

struct field {
	uint64_t number;
	uint64_t value; /* of a varint */
	const uint8_t *bytes;
	size_t len;
};

/* Reads the next field. Returns the byte after it, or NULL. */
static const uint8_t *next(const uint8_t *p, const uint8_t *end,
			   struct field *f)
{
	uint64_t tag, n;

	*f = (struct field){ 0 };
	p = inv_varint_get(p, end, &tag);
	if (!p)
		return NULL;
	f->number = tag >> 3;
	switch (tag & 7) {
	case 0:
		return inv_varint_get(p, end, &f->value);
	case 1:
		return end - p >= 8 ? p + 8 : NULL;
	case 2:
		p = inv_varint_get(p, end, &n);
		if (!p || n > (uint64_t)(end - p))
			return NULL;
		f->bytes = p;
		f->len = n;
		return p + n;
	case 5:
		return end - p >= 4 ? p + 4 : NULL;
	default:
		return NULL;
	}
}

/* Appends text that another machine has sent, so that it is safe on a
 * terminal. */
static void put_text(struct inv_buf *b, const uint8_t *p, size_t n)
{
	const uint8_t *end = p + n;
	unsigned len;

	for (; p < end && b->len < TEXT_MAX; p += len) {
		uint32_t c = inv_utf8_get(p, end, &len);

		if (c < ' ' || (c >= 0x7f && c < 0xa0))
			inv_buf_putc(b, ' ');
		else if (c == INV_CHAR_BAD || inv_char_hidden(c))
			inv_buf_putc(b, '?');
		else
			inv_buf_put(b, p, len);
	}
}

static void read_partial(struct inv_answer *a, const uint8_t *p,
			 const uint8_t *end)
{
	struct field f;

	while (p < end && (p = next(p, end, &f))) {
		/* The number is signed: ignore a negative one. */
		if (f.number == PARTIAL_REJECTED && !f.bytes &&
		    f.value <= INT64_MAX)
			a->rejected = f.value;
		else if (f.number == PARTIAL_MESSAGE && f.bytes)
			put_text(&a->text, f.bytes, f.len);
	}
}

static void read_proto(struct inv_answer *a, const uint8_t *p, size_t n,
		       bool ok)
{
	const uint8_t *end = p + n;
	struct field f;

	while (p < end && (p = next(p, end, &f))) {
		if (!f.bytes)
			continue;
		if (ok && f.number == RESPONSE_PARTIAL)
			read_partial(a, f.bytes, f.bytes + f.len);
		else if (!ok && f.number == STATUS_MESSAGE)
			put_text(&a->text, f.bytes, f.len);
	}
}

/* Reads the number of rejected spans, which is a string or a number in JSON. */
static void read_json_rejected(struct inv_answer *a, const uint8_t *p, size_t n)
{
	static const char key[] = "\"rejectedSpans\"";
	const uint8_t *end = p + n;

	p = n ? memmem(p, n, key, sizeof(key) - 1) : NULL;
	if (!p)
		return;
	p += sizeof(key) - 1;
	while (p < end && (*p == ' ' || *p == ':' || *p == '"'))
		p++;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (a->rejected < INT64_MAX / 10 - 9)
			a->rejected = a->rejected * 10 + (*p - '0');
}

void inv_answer_read(struct inv_answer *a, const uint8_t *p, size_t n, bool ok,
		     bool json)
{
	if (!json) {
		read_proto(a, p, n, ok);
		return;
	}
	if (ok)
		read_json_rejected(a, p, n);
	if (!ok || a->rejected)
		put_text(&a->text, p, n);
}
