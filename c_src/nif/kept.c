/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/kept.h"

#include <string.h>

#include "abi/term.h"
#include "nif/ident.h"
#include "nif/put.h"

static const uint8_t *skip_varints(const uint8_t *p, const uint8_t *end,
				   uint64_t n)
{
	uint64_t v;

	while (p && n-- > 0)
		p = inv_varint_get(p, end, &v);
	return p;
}

/* Skips a varint n, and the n bytes after it. */
static const uint8_t *skip_bytes(const uint8_t *p, const uint8_t *end)
{
	uint64_t n;

	p = inv_varint_get(p, end, &n);
	return p && n <= (uint64_t)(end - p) ? p + n : NULL;
}

static const uint8_t *skip(const uint8_t *p, const uint8_t *end, uint64_t n)
{
	return n <= (uint64_t)(end - p) ? p + n : NULL;
}

static const uint8_t *skip_bits(const uint8_t *p, const uint8_t *end)
{
	uint64_t bits;

	p = inv_varint_get(p, end, &bits);
	return p ? skip(p, end, bits / 8 + (bits % 8 != 0)) : NULL;
}

static const uint8_t *skip_ref(const uint8_t *p, const uint8_t *end)
{
	uint64_t n;

	p = skip_varints(p, end, 1);
	p = p ? inv_varint_get(p, end, &n) : NULL;
	return p ? skip_varints(p, end, n) : NULL;
}

static const uint8_t *skip_cut(const uint8_t *p, const uint8_t *end)
{
	p = skip(p, end, 1);
	return p ? skip_varints(p, end, 1) : NULL;
}

static const uint8_t *skip_string_cut(const uint8_t *p, const uint8_t *end)
{
	p = skip_bytes(p, end);
	return p ? skip_cut(p, end) : NULL;
}

/* Skips the bytes of a term after its code. The elements of a list, tuple or
 * map are not skipped; they are terms of their own. Returns NULL if the bytes
 * are not complete. */
static const uint8_t *skip_rest(uint8_t code, const uint8_t *p,
				const uint8_t *end)
{
	if (code >= INV_T_BINARY_SMALL && code < INV_T_STRING_SMALL)
		return skip(p, end, code - INV_T_BINARY_SMALL);
	if (code >= INV_T_STRING_SMALL && code < INV_T_NIL)
		return skip(p, end, code - INV_T_STRING_SMALL + 1u);
	switch (code) {
	case INV_T_INT:
	case INV_T_TUPLE:
	case INV_T_MAP:
		return skip_varints(p, end, 1);
	case INV_T_XPORT:
		return skip_varints(p, end, 2);
	case INV_T_XPID:
		return skip_varints(p, end, 3);
	case INV_T_FLOAT:
		return skip(p, end, 8);
	case INV_T_BIG:
		p = skip(p, end, 1);
		return p ? skip_bytes(p, end) : NULL;
	case INV_T_BINARY:
	case INV_T_STRING:
	case INV_T_TEXT:
		return skip_bytes(p, end);
	case INV_T_BITS:
		return skip_bits(p, end);
	case INV_T_BINARY_CUT:
		p = skip_varints(p, end, 1);
		return p ? skip_bytes(p, end) : NULL;
	case INV_T_STRING_CUT:
		return skip_string_cut(p, end);
	case INV_T_REF:
		return skip_ref(p, end);
	case INV_T_CUT:
	case INV_T_HOLE:
		return skip_cut(p, end);
	default:
		return p;
	}
}

static bool put_word(struct inv_encoder *e, const uint8_t *p)
{
	ERL_NIF_TERM term;
	uint32_t number;

	memcpy(&term, p, sizeof(term));
	if (inv_packet_dict_find(e->dict, term, &number))
		return inv_put_entry(e, number);
	if (enif_is_atom(e->env, term))
		return inv_ident_atom(e, term);
	if (enif_is_pid(e->env, term))
		return inv_ident_pid(e, term);
	return enif_is_port(e->env, term) ? inv_ident_port(e, term) :
					    inv_encode_hole(e);
}

bool inv_kept_terms(struct inv_encoder *e, const uint8_t *p, uint32_t n)
{
	const uint8_t *end = p + n;
	const uint8_t *plain = p; /* the bytes before `plain' were written */

	while (p < end) {
		const uint8_t *at = p;
		uint8_t code = *p++;

		if (inv_likely(code != INV_KEPT_WORD &&
			       code != INV_KEPT_NODE)) {
			p = skip_rest(code, p, end);
			if (!p)
				return false;
			continue;
		}
		if (!inv_put_bytes(e, plain, (uint32_t)(at - plain)))
			return false;
		at = p;
		p = code == INV_KEPT_WORD ? skip(p, end, sizeof(ERL_NIF_TERM)) :
					    skip_bytes(p, end);
		if (!p)
			return false;
		plain = p;
		if (code == INV_KEPT_WORD) {
			if (!put_word(e, at))
				return false;
			continue;
		}
		at = skip_varints(at, end, 1);
		if (!inv_ident_node(e, at, (uint32_t)(p - at)))
			return false;
	}
	return inv_put_bytes(e, plain, (uint32_t)(end - plain));
}
