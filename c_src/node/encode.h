/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_ENCODE_H
#define INV_NODE_ENCODE_H

#include <ei.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Building requests: libei's, with failures that stick, so that one look at
 * the end is enough.  Sizes of containers come first, as in the format.
 */
struct inv_encode {
	ei_x_buff x;
	bool failed; /* no memory */
};

void inv_encode_init(struct inv_encode *e);
void inv_encode_release(struct inv_encode *e);

void inv_encode_tuple(struct inv_encode *e, size_t arity);
void inv_encode_map(struct inv_encode *e, size_t pairs);
/* n elements, then inv_encode_nil; for none inv_encode_nil alone. */
void inv_encode_list(struct inv_encode *e, size_t n);
void inv_encode_nil(struct inv_encode *e);

void inv_encode_atom(struct inv_encode *e, const char *name);
void inv_encode_bool(struct inv_encode *e, bool v);
void inv_encode_i64(struct inv_encode *e, int64_t v);
void inv_encode_u64(struct inv_encode *e, uint64_t v);
void inv_encode_pid(struct inv_encode *e, const erlang_pid *pid);
void inv_encode_bytes(struct inv_encode *e, const void *p, size_t len);
void inv_encode_text(struct inv_encode *e, const char *s); /* a binary */
/* A list of such. */
void inv_encode_texts(struct inv_encode *e, const char *const *v, size_t n);

/* Bytes that are terms already. */
void inv_encode_raw(struct inv_encode *e, const void *p, size_t len);

#endif
