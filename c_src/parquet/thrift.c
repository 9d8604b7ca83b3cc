/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/thrift.h"

static void varint(struct inv_thrift *t, uint64_t v)
{
	do {
		inv_buf_putc(t->out, (char)(v < 0x80 ? v : (v & 0x7f) | 0x80));
		v >>= 7;
	} while (v);
}

static void zigzag(struct inv_thrift *t, int64_t v)
{
	varint(t, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void head(struct inv_thrift *t, int field, enum inv_thrift_type type)
{
	int delta = field - t->last[t->depth];

	/* All structs of Parquet have fewer than 16 fields, so `delta' fits
	 * into 4 bits. */
	inv_buf_putc(t->out, (char)(delta << 4 | (int)type));
	t->last[t->depth] = field;
}

void inv_thrift_bool(struct inv_thrift *t, int field, bool v)
{
	head(t, field, v ? INV_THRIFT_TRUE : INV_THRIFT_FALSE);
}

void inv_thrift_i32(struct inv_thrift *t, int field, int32_t v)
{
	head(t, field, INV_THRIFT_I32);
	zigzag(t, v);
}

void inv_thrift_i64(struct inv_thrift *t, int field, int64_t v)
{
	head(t, field, INV_THRIFT_I64);
	zigzag(t, v);
}

void inv_thrift_binary(struct inv_thrift *t, int field, const void *p,
		       size_t len)
{
	head(t, field, INV_THRIFT_BINARY);
	varint(t, len);
	inv_buf_put(t->out, p, len);
}

void inv_thrift_text(struct inv_thrift *t, int field, const char *text)
{
	inv_thrift_binary(t, field, text, strlen(text));
}

void inv_thrift_list(struct inv_thrift *t, int field, enum inv_thrift_type of,
		     uint32_t n)
{
	head(t, field, INV_THRIFT_LIST);
	if (n < 15) {
		inv_buf_putc(t->out, (char)(n << 4 | of));
	} else {
		inv_buf_putc(t->out, (char)(0xf0 | of));
		varint(t, n);
	}
}

void inv_thrift_element(struct inv_thrift *t)
{
	t->last[++t->depth] = 0;
}

void inv_thrift_list_int(struct inv_thrift *t, int64_t v)
{
	zigzag(t, v);
}

void inv_thrift_list_text(struct inv_thrift *t, const char *text)
{
	size_t len = strlen(text);

	varint(t, len);
	inv_buf_put(t->out, text, len);
}

void inv_thrift_struct(struct inv_thrift *t, int field)
{
	head(t, field, INV_THRIFT_STRUCT);
	inv_thrift_element(t);
}

void inv_thrift_end(struct inv_thrift *t)
{
	inv_buf_putc(t->out, 0);
	if (t->depth)
		t->depth--;
}
