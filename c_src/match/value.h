/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_VALUE_H
#define INV_MATCH_VALUE_H

#include <stdint.h>

#include "term/tree.h"

/*
 * A value on the stack of a running match program.  An integer that fits in 64
 * bits is always of kind INT, and a float of kind FLOAT, so that arithmetic
 * needs no memory.  All other values are of kind TERM.
 */
enum inv_val_kind {
	INV_VAL_TERM,
	INV_VAL_INT,
	INV_VAL_FLOAT,
};

struct inv_val {
	uint8_t kind;
	union {
		inv_word t;
		int64_t i;
		double f;
	};
};

static inline struct inv_val inv_val_term(inv_word t)
{
	return (struct inv_val){ .kind = INV_VAL_TERM, .t = t };
}

static inline struct inv_val inv_val_int(int64_t i)
{
	return (struct inv_val){ .kind = INV_VAL_INT, .i = i };
}

static inline struct inv_val inv_val_float(double f)
{
	return (struct inv_val){ .kind = INV_VAL_FLOAT, .f = f };
}

/* The type of a value of kind TERM. */
enum inv_type {
	INV_TYPE_UNKNOWN = 0, /* the term was not recorded */
	INV_TYPE_BIG,
	INV_TYPE_ATOM,
	INV_TYPE_REF,
	INV_TYPE_FUN,
	INV_TYPE_PORT,
	INV_TYPE_PID,
	INV_TYPE_TUPLE,
	INV_TYPE_MAP,
	INV_TYPE_NIL,
	INV_TYPE_LIST,
	INV_TYPE_BINARY,
	INV_TYPE_BITSTRING, /* its size is not a whole number of bytes */
};

/* Atoms that programs use without making them in a heap. */
enum inv_match_atom {
	INV_AM_TRUE,
	INV_AM_FALSE,
	INV_AM_EXIT,
	INV_AM_UNDEFINED,
	INV_AM_COUNT
};

/*
 * A result of C functions that compute functions of match specs: in Erlang, the
 * function would raise an exception. The other results are 0 and negative error
 * codes.
 */
#define INV_EXCEPTION 1

#endif
