/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/scalar.h"

#include <string.h>

#include "nif/put.h"

/* A HOLE replaces a big integer that has more bytes. */
#define BIG_BYTES_MAX 4096u

/*
 * The size of a big integer is found by comparing it with powers of two,
 * because a comparison copies nothing. big_limits[i] contains 2^(8 *
 * big_bytes[i]) and its negative.
 */
#define N_BIG_LIMITS 4
static ERL_NIF_TERM big_limits[N_BIG_LIMITS][2]; /* positive, negative */
static const uint32_t big_bytes[N_BIG_LIMITS] = { 64, 256, 1024,
						  BIG_BYTES_MAX };
static ErlNifEnv *constants;

static ERL_NIF_TERM make_power(ErlNifEnv *env, uint32_t bytes, bool negative)
{
	/* The external format of a big integer: 131, LARGE_BIG_EXT, n (4
	 * bytes), sign, n bytes. */
	static uint8_t etf[7 + BIG_BYTES_MAX + 1];
	ERL_NIF_TERM term = 0;
	uint32_t n = bytes + 1;

	memset(etf, 0, sizeof(etf));
	etf[0] = 131;
	etf[1] = 111;
	etf[2] = (uint8_t)(n >> 24);
	etf[3] = (uint8_t)(n >> 16);
	etf[4] = (uint8_t)(n >> 8);
	etf[5] = (uint8_t)n;
	etf[6] = negative;
	etf[7 + bytes] = 1;
	enif_binary_to_term(env, etf, 7 + n, &term, 0);
	return term;
}

void inv_scalar_end(void)
{
	enif_free_env(constants);
	constants = NULL;
}

void inv_scalar_init(void)
{
	unsigned i;

	if (constants)
		return; /* an earlier load of the library has made them */
	constants = enif_alloc_env();
	for (i = 0; i < N_BIG_LIMITS; i++) {
		big_limits[i][0] = make_power(constants, big_bytes[i], false);
		big_limits[i][1] = make_power(constants, big_bytes[i], true);
	}
}

bool inv_scalar_missing(struct inv_encoder *e, enum inv_term_code code,
			enum inv_cut kind, uint64_t n)
{
	e->cut = true;
	return inv_put_byte(e, code) && inv_put_byte(e, (uint8_t)kind) &&
	       inv_put_varint(e, n);
}

/* Writes a big integer. Its absolute value is the n bytes at `le', the least
 * significant first. */
static bool put_big(struct inv_encoder *e, bool negative, const uint8_t *le,
		    uint32_t n)
{
	return inv_put_byte(e, INV_T_BIG) && inv_put_byte(e, negative) &&
	       inv_put_varint(e, n) && inv_put_bytes(e, le, n);
}

uint32_t inv_scalar_big_bytes(ERL_NIF_TERM term)
{
	unsigned i;

	for (i = 0; i < N_BIG_LIMITS; i++)
		if (enif_compare(term, big_limits[i][0]) < 0 &&
		    enif_compare(term, big_limits[i][1]) > 0)
			return big_bytes[i];
	return 0;
}

bool inv_scalar_integer(struct inv_encoder *e, ERL_NIF_TERM term)
{
	const uint8_t *d;
	ErlNifSInt64 i;
	ErlNifUInt64 u;
	ErlNifBinary bin;
	uint32_t size;
	uint32_t n;
	bool ok;

	if (enif_get_int64(e->env, term, &i))
		return inv_put_int(e, i);
	if (enif_get_uint64(e->env, term, &u))
		return put_big(e, false, (const uint8_t *)&u, 8);
	size = inv_scalar_big_bytes(term);
	if (size == 0)
		return inv_scalar_missing(e, INV_T_HOLE, INV_CUT_INT,
					  BIG_BYTES_MAX);
	if (size > 64 && size > inv_put_left(e))
		return inv_scalar_missing(e, INV_T_HOLE, INV_CUT_INT, size / 4);
	if (!enif_term_to_binary(e->env, term, &bin))
		return inv_scalar_missing(e, INV_T_HOLE, INV_CUT_INT, 0);
	d = bin.data;
	if (d[1] == 110) { /* SMALL_BIG_EXT */
		n = d[2];
		ok = put_big(e, d[3] != 0, d + 4, n);
	} else { /* LARGE_BIG_EXT */
		n = (uint32_t)d[2] << 24 | (uint32_t)d[3] << 16 |
		    (uint32_t)d[4] << 8 | d[5];
		ok = put_big(e, d[6] != 0, d + 7, n);
	}
	enif_release_binary(&bin);
	return ok;
}

bool inv_scalar_float(struct inv_encoder *e, ERL_NIF_TERM term)
{
	double d = 0;

	enif_get_double(e->env, term, &d);
	return inv_put_byte(e, INV_T_FLOAT) &&
	       inv_put_bytes(e, (const uint8_t *)&d, 8);
}

bool inv_scalar_binary(struct inv_encoder *e, const uint8_t *data, size_t size)
{
	size_t room = inv_put_left_binary(e, size);

	if (size <= 31 && size <= room)
		return inv_put_byte(e, (uint8_t)(INV_T_BINARY_SMALL + size)) &&
		       inv_put_bytes(e, data, (uint32_t)size);
	if (size <= room)
		return inv_put_code(e, INV_T_BINARY, size) &&
		       inv_put_bytes(e, data, (uint32_t)size);
	e->cut = true;
	return inv_put_code(e, INV_T_BINARY_CUT, (uint64_t)size * 8) &&
	       inv_put_varint(e, room) &&
	       inv_put_bytes(e, data, (uint32_t)room);
}

/* Reads the bitstring in the external format, BIT_BINARY_EXT: 131, 77, number
 * of bytes (4 bytes), number of bits used in the last byte, bytes. */
bool inv_scalar_bits(struct inv_encoder *e, ERL_NIF_TERM term)
{
	size_t room = inv_put_left(e);
	ErlNifBinary bin;
	uint64_t bits;
	size_t size;
	bool ok;

	if (!enif_term_to_binary(e->env, term, &bin))
		return inv_scalar_missing(e, INV_T_HOLE, INV_CUT_BITS, 0);
	if (bin.size < 8 || bin.data[1] != 77) {
		ok = inv_scalar_missing(e, INV_T_HOLE, INV_CUT_BITS, 0);
	} else {
		size = bin.size - 7;
		bits = (uint64_t)(size - 1) * 8 + bin.data[6];
		if (size <= room) {
			ok = inv_put_code(e, INV_T_BITS, bits) &&
			     inv_put_bytes(e, bin.data + 7, (uint32_t)size);
		} else {
			e->cut = true;
			ok = inv_put_code(e, INV_T_BINARY_CUT, bits) &&
			     inv_put_varint(e, room) &&
			     inv_put_bytes(e, bin.data + 7, (uint32_t)room);
		}
	}
	enif_release_binary(&bin);
	return ok;
}
