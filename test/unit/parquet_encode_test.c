/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes random numbers, and decodes them with a decoder that follows the
 * specification of Parquet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parquet/encode.h"

#define MOST 2000u

struct in {
	const uint8_t *p, *end;
};

static uint8_t byte(struct in *in)
{
	assert_true(in->p < in->end);
	return *in->p++;
}

static uint64_t varint(struct in *in)
{
	uint64_t v = 0;
	uint8_t b;
	unsigned shift = 0;

	do {
		b = byte(in);
		v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	return v;
}

static int64_t zigzag(struct in *in)
{
	uint64_t v = varint(in);

	return (int64_t)(v >> 1 ^ (~(v & 1) + 1));
}

/* Returns number i of an array of numbers of `bits' bits each, the lowest bit
 * first. */
static uint64_t packed(const uint8_t *p, size_t i, unsigned bits)
{
	uint64_t v = 0;

	for (unsigned b = 0; b < bits; b++) {
		size_t at = i * bits + b;

		v |= (uint64_t)(p[at / 8] >> at % 8 & 1) << b;
	}
	return v;
}

static const uint8_t *take(struct in *in, size_t n)
{
	const uint8_t *p = in->p;

	assert_true((size_t)(in->end - in->p) >= n);
	in->p += n;
	return p;
}

static void check_rle(const uint32_t *v, size_t n, unsigned bits)
{
	struct inv_buf b = { 0 };
	struct in in;
	size_t at = 0;

	inv_encode_rle(&b, v, n, bits);
	assert_int_equal(b.error, 0);
	in = (struct in){ b.data, b.data + b.len };
	while (at < n) {
		uint64_t head = varint(&in);

		if (head & 1) {
			size_t groups = head >> 1;
			const uint8_t *p = take(&in, groups * bits);

			for (size_t i = 0; i < groups * 8 && at < n; i++)
				assert_int_equal(packed(p, i, bits), v[at++]);
		} else {
			uint32_t x = 0;

			for (unsigned i = 0; i < (bits + 7) / 8; i++)
				x |= (uint32_t)byte(&in) << 8 * i;
			assert_true(head >> 1 > 0 && at + (head >> 1) <= n);
			for (uint64_t i = 0; i < head >> 1; i++)
				assert_int_equal(v[at++], x);
		}
	}
	assert_ptr_equal(in.p, in.end);
	inv_buf_release(&b);
}

static void check_delta(const int64_t *v, size_t n)
{
	struct inv_buf b = { 0 };
	struct in in;
	uint64_t block, minis;
	uint64_t last;
	size_t at = 1;

	inv_encode_delta(&b, v, n);
	assert_int_equal(b.error, 0);
	in = (struct in){ b.data, b.data + b.len };
	block = varint(&in);
	minis = varint(&in);
	assert_int_equal(block % 128, 0);
	assert_int_equal(block / minis % 32, 0);
	assert_int_equal(varint(&in), n);
	last = (uint64_t)zigzag(&in);
	if (n)
		assert_int_equal(last, v[0]);
	while (at < n) {
		uint64_t least = (uint64_t)zigzag(&in);
		const uint8_t *bits = take(&in, minis);

		for (uint64_t m = 0; m < minis && at < n; m++) {
			size_t per = block / minis;
			const uint8_t *p = take(&in, per / 8 * bits[m]);

			for (size_t i = 0; i < per && at < n; i++) {
				last += least + packed(p, i, bits[m]);
				assert_int_equal(last, v[at++]);
			}
		}
	}
	assert_ptr_equal(in.p, in.end);
	inv_buf_release(&b);
}

static uint64_t seed;

static uint64_t random_number(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return seed >> 11 ^ seed << 33;
}

static void rle_is_read_back(void **state)
{
	uint32_t *v = calloc(MOST, sizeof(*v));

	(void)state;
	assert_non_null(v);
	check_rle(v, 0, 1);
	for (unsigned round = 0; round < 400; round++) {
		unsigned bits = round % 33;
		uint32_t mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1;
		size_t n = random_number() % MOST, i = 0;

		seed += round;
		while (i < n) {
			uint32_t x = (uint32_t)random_number() & mask;
			size_t run = random_number() % 3 ? 1 :
							   random_number() % 40;

			while (run-- && i < n)
				v[i++] = x;
		}
		check_rle(v, n, bits);
	}
	free(v);
}

static void differences_are_read_back(void **state)
{
	static const int64_t ends[] = { INT64_MIN, INT64_MAX, 0, -1,
					INT64_MAX, INT64_MIN, 1 };
	int64_t *v = calloc(MOST, sizeof(*v));

	(void)state;
	assert_non_null(v);
	check_delta(v, 0);
	check_delta(v, 1);
	check_delta(ends, sizeof(ends) / sizeof(*ends));
	for (unsigned round = 0; round < 400; round++) {
		unsigned bits = round % 65;
		size_t n = random_number() % MOST;
		uint64_t x = random_number();

		for (size_t i = 0; i < n; i++) {
			x += bits ? random_number() >> (64 - bits) : 3;
			v[i] = (int64_t)x;
		}
		check_delta(v, n);
	}
	/* These lengths are not multiples of the block size, so the last block
	 * is not full. */
	for (size_t n = 0; n < 300; n++)
		check_delta(v, n);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rle_is_read_back),
		cmocka_unit_test(differences_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
