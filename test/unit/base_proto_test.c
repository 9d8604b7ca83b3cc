/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"

/* The expected bytes are from the documentation of protocol buffers. */
static void fields_are_written_as_documented(void **state)
{
	static const uint8_t want[] = {
		0x08, 0x96, 0x01, /* 1: 150 */
		0x12, 7,    't',  'e',	's',  't',  'i',  'n',
		'g',  0x19, 0x08, 0x07, 0x06, 0x05, 0x04, 0x03,
		0x02, 0x01, 0xf8, 0xff, 0xff, 0xff, 0x0f, 0x01, /* 2^29 - 1 */
		0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0x01,
	};
	struct inv_buf b = { 0 };

	(void)state;
	inv_proto_u64(&b, 1, 150);
	inv_proto_text(&b, 2, "testing");
	inv_proto_fixed64(&b, 3, UINT64_C(0x0102030405060708));
	inv_proto_u64(&b, (1u << 29) - 1, 1);
	inv_proto_i64(&b, 4, -1);
	assert_int_equal(b.error, 0);
	assert_int_equal(b.len, sizeof(want));
	assert_memory_equal(b.data, want, sizeof(want));
	inv_buf_release(&b);
}

static void a_length_has_four_bytes(void **state)
{
	static const uint8_t want[] = {
		0x1a, 0x83, 0x80, 0x80, 0, 0x08, 0x96, 0x01, /* 3 {1: 150} */
		0x22, 0x80, 0x80, 0x80, 0,		     /* 4 {} */
	};
	struct inv_buf b = { 0 };
	size_t at;

	(void)state;
	at = inv_proto_open(&b, 3);
	inv_proto_u64(&b, 1, 150);
	inv_proto_close(&b, at);
	inv_proto_close(&b, inv_proto_open(&b, 4));
	assert_int_equal(b.len, sizeof(want));
	assert_memory_equal(b.data, want, sizeof(want));
	inv_buf_release(&b);
}

/* Reads the varint at *off and moves *off to the byte after it. */
static uint64_t number_at(const struct inv_buf *b, size_t *off)
{
	uint64_t v = 0;
	const uint8_t *p = inv_varint_get(b->data + *off, b->data + b->len, &v);

	assert_non_null(p);
	*off = (size_t)(p - b->data);
	return v;
}

/* 5000 messages, each inside the previous one. The buffer is reallocated many
 * times meanwhile. */
static void lengths_of_nested_messages_hold_each_other(void **state)
{
	enum {
		DEPTH = 5000
	};
	static size_t at[DEPTH];
	struct inv_buf b = { 0 };
	size_t off = 0;

	(void)state;
	for (unsigned i = 0; i < DEPTH; i++)
		at[i] = inv_proto_open(&b, 2);
	for (unsigned i = DEPTH; i-- > 0;)
		inv_proto_close(&b, at[i]);
	for (unsigned i = 0; i < DEPTH; i++) {
		uint64_t n;

		assert_int_equal(number_at(&b, &off), 2 << 3 | 2);
		n = number_at(&b, &off);
		assert_int_equal(n, b.len - off);
	}
	assert_int_equal(off, b.len);
	inv_buf_release(&b);
}

static void a_message_of_many_bytes_has_its_length(void **state)
{
	static const size_t sizes[] = { 127,	 128,	  16383,  16384,
					2097151, 2097152, 9999999 };
	struct inv_buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t off = 1, at;

		inv_buf_reset(&b);
		at = inv_proto_open(&b, 1);
		assert_non_null(inv_buf_reserve(&b, sizes[i]));
		memset(b.data + b.len, 7, sizes[i]);
		inv_buf_commit(&b, sizes[i]);
		inv_proto_close(&b, at);
		assert_int_equal(number_at(&b, &off), sizes[i]);
		assert_int_equal(off, at);
	}
	inv_buf_release(&b);
}

static void a_field_that_is_too_big_is_an_error(void **state)
{
	struct inv_buf b = { 0 };
	size_t at;

	(void)state;
	at = inv_proto_open(&b, 1);
	/* INV_PROTO_MAX + 1 bytes are not really appended: only the length
	 * matters here. */
	b.len += INV_PROTO_MAX + 1;
	inv_proto_close(&b, at);
	assert_int_equal(b.error, INV_ETOOBIG);
	b.len = at;
	inv_buf_reset(&b);
	inv_proto_bytes(&b, 1, "", INV_PROTO_MAX + 1);
	assert_int_equal(b.error, INV_ETOOBIG);
	inv_proto_u64(&b, 1, 1);
	inv_proto_close(&b, inv_proto_open(&b, 1));
	assert_int_equal(b.len, 0);
	inv_buf_release(&b);
}

static void without_memory_nothing_is_written(void **state)
{
	struct inv_buf b = { .error = INV_ENOMEM };

	(void)state;
	inv_proto_close(&b, inv_proto_open(&b, 1));
	inv_proto_element(&b, 1);
	inv_proto_double(&b, 1, 1);
	inv_proto_text(&b, 1, "x");
	assert_int_equal(b.len, 0);
	assert_null(b.data);
}

/* Returns what protoc decodes from the buffer; the caller frees it. */
static char *decoded(const struct inv_buf *b, const char *proto)
{
	char dir[] = "/tmp/inviso-proto.XXXXXX", path[64], command[256];
	char *text = NULL;
	size_t size = 0, n;
	FILE *f, *out = open_memstream(&text, &size);

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.proto", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(proto, f) >= 0 && !fclose(f));
	snprintf(path, sizeof(path), "%s/t.bin", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fwrite(b->data, 1, b->len, f) == b->len && !fclose(f));
	snprintf(command, sizeof(command),
		 "cd %s && protoc --decode=M t.proto <t.bin 2>&1; rm -r %s",
		 dir, dir);
	f = popen(command, "r"); /* NOLINT(cert-env33-c): a fixed command */
	assert_non_null(f);
	while ((n = fread(command, 1, sizeof(command), f)))
		fwrite(command, 1, n, out);
	assert_int_equal(pclose(f), 0);
	fclose(out);
	return text;
}

static void protoc_reads_it(void **state)
{
	struct inv_buf b = { 0 };
	size_t at, in;
	char *text;

	(void)state;
	at = inv_proto_open(&b, 1);
	inv_proto_text(&b, 2, "b\xc3\xa4h \"q\"");
	inv_proto_i64(&b, 3, -5);
	in = inv_proto_open(&b, 4);
	inv_proto_element(&b, 1);
	inv_proto_element(&b, UINT64_MAX);
	inv_proto_close(&b, in);
	inv_proto_close(&b, at);
	inv_proto_fixed64(&b, 5, 77);
	inv_proto_double(&b, 6, 0.25);
	inv_proto_bytes(&b, 7, "\0\xff", 2);
	text = decoded(&b, "syntax = \"proto2\"; message M {"
			   " optional M m = 1; optional string s = 2;"
			   " optional int64 i = 3;"
			   " repeated uint64 p = 4 [packed = true];"
			   " optional fixed64 f = 5; optional double d = 6;"
			   " optional bytes b = 7; }");
	assert_string_equal(text, "m {\n  s: \"b\\303\\244h \\\"q\\\"\"\n"
				  "  i: -5\n  p: 1\n"
				  "  p: 18446744073709551615\n}\n"
				  "f: 77\nd: 0.25\nb: \"\\000\\377\"\n");
	free(text);
	inv_buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_written_as_documented),
		cmocka_unit_test(a_length_has_four_bytes),
		cmocka_unit_test(lengths_of_nested_messages_hold_each_other),
		cmocka_unit_test(a_message_of_many_bytes_has_its_length),
		cmocka_unit_test(a_field_that_is_too_big_is_an_error),
		cmocka_unit_test(without_memory_nothing_is_written),
		cmocka_unit_test(protoc_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
