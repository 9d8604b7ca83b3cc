/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_VALUE_H
#define INV_MATCH_VALUE_H

#include <stdint.h>

#include "term/tree.h"

/*
 * A value on the stack of a running match program.  Numbers that fit are taken
 * apart, so that arithmetic needs no memory: an integer of 64 bits is always
 * INT, a float always FLOAT, and neither is ever a TERM.
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

/* What a TERM is; integers and floats have their own kinds. */
enum inv_type {
	INV_TYPE_UNKNOWN = 0, /* was not recorded */
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
	INV_TYPE_BITSTRING, /* not of whole bytes */
};

/* Atoms that programs know. */
enum inv_match_atom {
	INV_AM_TRUE,
	INV_AM_FALSE,
	INV_AM_EXIT,
	INV_AM_UNDEFINED,
	INV_AM_COUNT
};

/* A function's result besides 0 and errors: it failed, as in Erlang. */
#define INV_EXCEPTION 1

#endif
