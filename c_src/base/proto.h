/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_PROTO_H
#define INV_BASE_PROTO_H

#include "base/buf.h"
#include "base/err.h"
#include "base/varint.h"

/*
 * Writes protocol buffers into a buffer, in one pass and without memory of its
 * own:
 *
 *	size_t at = inv_proto_open(&b, 1);
 *
 *	inv_proto_u64(&b, 8, ts_ns);
 *	inv_proto_text(&b, 2, "name");
 *	inv_proto_close(&b, at);
 *
 * The length of a nested message is unknown when it is opened, so the writer
 * reserves four bytes for the length. The length is then a varint of four bytes
 * even if fewer would do; readers of protocol buffers accept that.
 *
 * The functions return no errors. On failure they set b->error: INV_ETOOBIG if
 * a field has more than INV_PROTO_MAX bytes, otherwise INV_ENOMEM.
 */
#define INV_PROTO_MAX (((size_t)1 << 28) - 1)

enum inv_proto_wire {
	INV_PROTO_VARINT = 0,
	INV_PROTO_FIXED64 = 1,
	INV_PROTO_BYTES = 2,
};

/*
 * The most bytes of a tag, which consists of a field's number (below 2^28) and
 * the wire type.
 */
#define INV_PROTO_TAG_MAX 5
/* Bytes that inv_proto_open reserves for the length. */
#define INV_PROTO_LENGTH 4

INV_HOT uint8_t *inv_proto_tag(uint8_t *w, uint32_t field,
			       enum inv_proto_wire wire)
{
	return inv_varint_put(w, (uint64_t)field << 3 | wire);
}

/* Writes a field of the type uint32, uint64, bool or enum. */
INV_HOT void inv_proto_u64(struct inv_buf *b, uint32_t field, uint64_t v)
{
	uint8_t *w = inv_buf_reserve(b, INV_PROTO_TAG_MAX + INV_VARINT_MAX);

	if (!w)
		return;
	w = inv_proto_tag(w, field, INV_PROTO_VARINT);
	w = inv_varint_put(w, v);
	b->len = (size_t)(w - b->data);
}

/* Writes a field of the type int32 or int64. A negative number takes ten
 * bytes. */
INV_HOT void inv_proto_i64(struct inv_buf *b, uint32_t field, int64_t v)
{
	inv_proto_u64(b, field, (uint64_t)v);
}

/* Writes a field of the type fixed64 or sfixed64. */
INV_HOT void inv_proto_fixed64(struct inv_buf *b, uint32_t field, uint64_t v)
{
	uint8_t *w = inv_buf_reserve(b, INV_PROTO_TAG_MAX + sizeof(v));

	if (!w)
		return;
	w = inv_proto_tag(w, field, INV_PROTO_FIXED64);
	for (unsigned i = 0; i < sizeof(v); i++)
		*w++ = (uint8_t)(v >> 8 * i);
	b->len = (size_t)(w - b->data);
}

INV_HOT void inv_proto_double(struct inv_buf *b, uint32_t field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	inv_proto_fixed64(b, field, bits);
}

/* Writes a field of the type bytes, or, if the n bytes are UTF-8, of the type
 * string. */
void inv_proto_bytes(struct inv_buf *b, uint32_t field, const void *p,
		     size_t n);

INV_HOT void inv_proto_text(struct inv_buf *b, uint32_t field, const char *s)
{
	inv_proto_bytes(b, field, s, strlen(s));
}

/*
 * Opens a nested message, a packed array, a string, or bytes. The caller then
 * appends the contents to b, and passes the result to inv_proto_close. Close
 * nested parts in the reverse order of opening.
 */
INV_HOT size_t inv_proto_open(struct inv_buf *b, uint32_t field)
{
	uint8_t *w = inv_buf_reserve(b, INV_PROTO_TAG_MAX + INV_PROTO_LENGTH);

	if (!w)
		return 0;
	w = inv_proto_tag(w, field, INV_PROTO_BYTES);
	b->len = (size_t)(w - b->data) + INV_PROTO_LENGTH;
	return b->len;
}

/* Closes the part that inv_proto_open opened: writes its length into the bytes
 * reserved for it. `at' is the result of inv_proto_open. */
INV_HOT void inv_proto_close(struct inv_buf *b, size_t at)
{
	size_t n = b->len - at;
	uint8_t *w;

	if (inv_unlikely(b->error || !b->data))
		return;
	if (inv_unlikely(n > INV_PROTO_MAX)) {
		b->error = INV_ETOOBIG;
		return;
	}
	w = b->data + at - INV_PROTO_LENGTH;
	for (unsigned i = 0; i < INV_PROTO_LENGTH - 1; i++, n >>= 7)
		*w++ = (uint8_t)(n | 0x80);
	*w = (uint8_t)n;
}

/* Writes an element of a packed array of integers. */
INV_HOT void inv_proto_element(struct inv_buf *b, uint64_t v)
{
	uint8_t *w = inv_buf_reserve(b, INV_VARINT_MAX);

	if (w)
		b->len = (size_t)(inv_varint_put(w, v) - b->data);
}

#endif
