/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_PUT_H
#define INV_NIF_PUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "abi/term.h"
#include "base/likely.h"
#include "base/varint.h"
#include "nif/encode.h"

/* Returns true if n more bytes fit into the packet. Each function below that
 * appends bytes returns false if they do not fit. */
static inline bool inv_put_room(const struct inv_encoder *e, uint32_t n)
{
	return inv_likely((size_t)(e->top - e->p) >= n);
}

/* Returns the remaining budget of the current term. */
static inline size_t inv_put_left(const struct inv_encoder *e)
{
	return e->limit > e->p ? (size_t)(e->limit - e->p) : 0;
}

/*
 * Returns how many of a binary's `size' bytes fit into the budget. If binaries
 * have a separate budget, subtracts these bytes from it, and moves `limit' up
 * by their number, so that they do not count in the term's budget.
 */
static inline size_t inv_put_left_binary(struct inv_encoder *e, size_t size)
{
	size_t n;

	if (inv_likely(!e->more_binary))
		return inv_put_left(e);
	n = size < e->binary_left ? size : e->binary_left;
	e->binary_left -= (uint32_t)n;
	e->limit += n;
	return n;
}

static inline bool inv_put_byte(struct inv_encoder *e, uint8_t byte)
{
	if (!inv_put_room(e, 1))
		return false;
	*e->p++ = byte;
	return true;
}

static inline bool inv_put_varint(struct inv_encoder *e, uint64_t v)
{
	if (inv_unlikely((size_t)(e->top - e->p) < INV_VARINT_MAX))
		return false;
	e->p = inv_varint_put(e->p, v);
	return true;
}

static inline bool inv_put_code(struct inv_encoder *e, uint8_t code, uint64_t v)
{
	return inv_put_byte(e, code) && inv_put_varint(e, v);
}

/* Writes the number of a dictionary entry. */
static inline bool inv_put_entry(struct inv_encoder *e, uint32_t number)
{
	if (inv_likely(number < 64))
		return inv_put_byte(e, (uint8_t)(INV_T_DICT_SMALL + number));
	return inv_put_code(e, INV_T_DICT, number);
}

static inline bool inv_put_int(struct inv_encoder *e, int64_t v)
{
	if (v >= 0 && v < 64)
		return inv_put_byte(e, (uint8_t)v);
	return inv_put_code(e, INV_T_INT, inv_zigzag(v));
}

/* Copies n bytes. Most binaries are short, and for these a call of memcpy takes
 * longer than the copying. */
static inline void inv_put_copy(uint8_t *to, const uint8_t *from, uint32_t n)
{
	uint64_t first;
	uint64_t last;

	if (inv_unlikely(n < sizeof(first) || n > 2 * sizeof(first))) {
		memcpy(to, from, n);
		return;
	}
	memcpy(&first, from, sizeof(first));
	memcpy(&last, from + n - sizeof(last), sizeof(last));
	memcpy(to, &first, sizeof(first));
	memcpy(to + n - sizeof(last), &last, sizeof(last));
}

static inline bool inv_put_bytes(struct inv_encoder *e, const uint8_t *bytes,
				 uint32_t n)
{
	if (!inv_put_room(e, n))
		return false;
	inv_put_copy(e->p, bytes, n);
	e->p += n;
	return true;
}

/* Like inv_put_bytes, for bytes that are in the same packet above p, and can
 * overlap the place to which they are copied. */
static inline bool inv_put_moved(struct inv_encoder *e, const uint8_t *from,
				 uint32_t n)
{
	if (!inv_put_room(e, n))
		return false;
	memmove(e->p, from, n);
	e->p += n;
	return true;
}

/*
 * Codes of kept terms (nif/kept.h); packets never contain them.
 *
 * INV_KEPT_NODE  the definition of another node, in front of the first pid,
 *                port or reference of that node: n as a varint, and n bytes as
 *                in INV_DEF_NODE
 * INV_KEPT_WORD  an atom, or a pid or port of this node, as the VM's term: 8
 *                bytes, which stay the same as long as the VM lives
 */
#define INV_KEPT_NODE 0xde
#define INV_KEPT_WORD 0xdf

/* In the budget of a term, a word counts as one byte. In a packet, the number
 * of a dictionary entry replaces the word, and usually takes one byte. */
static inline bool inv_put_word(struct inv_encoder *e, uint64_t word)
{
	uint8_t *p = e->p;

	if (!inv_put_room(e, 1 + sizeof(word)))
		return false;
	*p = INV_KEPT_WORD;
	memcpy(p + 1, &word, sizeof(word));
	e->p = p + 1 + sizeof(word);
	e->limit += sizeof(word);
	return true;
}

/*
 * Writes the length of the record that ends at e->p. One byte is reserved for
 * the length, at `start'. If the length needs more bytes, moves the record.
 */
static inline bool inv_put_length(struct inv_encoder *e, uint8_t *start)
{
	uint32_t len = (uint32_t)(e->p - start) - 1;
	unsigned more = inv_varint_len(len) - 1;

	if (inv_unlikely(more > 0)) {
		if ((size_t)(e->top - e->p) < more)
			return false;
		memmove(start + 1 + more, start + 1, len);
		e->p += more;
	}
	inv_varint_put(start, len);
	return true;
}

#endif
