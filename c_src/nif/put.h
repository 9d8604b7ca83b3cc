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

/* Returns true if n more bytes fit into the packet. The functions below that
 * append bytes return false if the bytes do not fit. */
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
 * by as many, so that the bytes do not also count as other bytes of the term.
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

static inline bool inv_put_bytes(struct inv_encoder *e, const uint8_t *bytes,
				 uint32_t n)
{
	if (!inv_put_room(e, n))
		return false;
	memcpy(e->p, bytes, n);
	e->p += n;
	return true;
}

/* Like inv_put_bytes, for bytes that are in the same packet, a little above
 * p. */
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
 * Codes of kept terms (nif/kept.h), which are never in a packet: the word of an
 * atom, or of a pid or port of this node, which stays the same as long as the VM
 * lives; and another node, before its first identifier: n varint, n bytes, as in
 * INV_DEF_NODE.
 */
#define INV_KEPT_NODE 0xde
#define INV_KEPT_WORD 0xdf

/* A word counts as one byte, like a number of the dictionary. */
static inline bool inv_put_word(struct inv_encoder *e, uint64_t word)
{
	if (!inv_put_room(e, 1 + sizeof(word)))
		return false;
	*e->p++ = INV_KEPT_WORD;
	memcpy(e->p, &word, sizeof(word));
	e->p += sizeof(word);
	e->limit += sizeof(word);
	return true;
}

/*
 * Writes the record's length at `start', where one byte is reserved for it. In
 * the rare case that the length needs more bytes, moves the record.
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
