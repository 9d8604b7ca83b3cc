/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_PARQUET_THRIFT_H
#define INV_PARQUET_THRIFT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Writes the structs of Parquet's metadata in Thrift's compact protocol. The
 * fields of a struct are written in the order of their numbers.
 *
 *	struct inv_thrift t = { .out = &b };
 *
 *	inv_thrift_int(&t, 1, 2);
 *	inv_thrift_struct(&t, 5);
 *	...
 *	inv_thrift_end(&t);
 *	inv_thrift_end(&t);
 */
#define INV_THRIFT_DEPTH 8

struct inv_thrift {
	struct inv_buf *out;
	/* private */
	unsigned depth;
	int last[INV_THRIFT_DEPTH]; /* number of the last field of each open
				       struct */
};

enum inv_thrift_type {
	INV_THRIFT_TRUE = 1,
	INV_THRIFT_FALSE = 2,
	INV_THRIFT_I32 = 5,
	INV_THRIFT_I64 = 6,
	INV_THRIFT_BINARY = 8,
	INV_THRIFT_LIST = 9,
	INV_THRIFT_STRUCT = 12,
};

void inv_thrift_bool(struct inv_thrift *t, int field, bool v);
void inv_thrift_i32(struct inv_thrift *t, int field, int32_t v);
void inv_thrift_i64(struct inv_thrift *t, int field, int64_t v);
void inv_thrift_binary(struct inv_thrift *t, int field, const void *p,
		       size_t len);
void inv_thrift_text(struct inv_thrift *t, int field, const char *text);
/* Begins a list of n elements. The caller then writes the elements, without
 * numbers of fields: structs with inv_thrift_element and inv_thrift_end,
 * numbers and texts with the two functions below. */
void inv_thrift_list(struct inv_thrift *t, int field, enum inv_thrift_type of,
		     uint32_t n);
void inv_thrift_element(struct inv_thrift *t);
void inv_thrift_list_int(struct inv_thrift *t, int64_t v);
void inv_thrift_list_text(struct inv_thrift *t, const char *text);
/* inv_thrift_struct begins a struct in a field. inv_thrift_end ends the
 * innermost struct that is open; if there is none, it ends the outermost
 * struct, which is open from the start. */
void inv_thrift_struct(struct inv_thrift *t, int field);
void inv_thrift_end(struct inv_thrift *t);

#endif
