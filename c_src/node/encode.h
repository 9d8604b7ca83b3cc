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
struct inv_ei {
	ei_x_buff x;
	bool failed; /* no memory */
};

void inv_ei_init(struct inv_ei *e);
void inv_ei_release(struct inv_ei *e);

void inv_ei_tuple(struct inv_ei *e, size_t arity);
void inv_ei_map(struct inv_ei *e, size_t pairs);
/* n elements, then inv_ei_nil; for none inv_ei_nil alone. */
void inv_ei_list(struct inv_ei *e, size_t n);
void inv_ei_nil(struct inv_ei *e);

void inv_ei_atom(struct inv_ei *e, const char *name);
void inv_ei_bool(struct inv_ei *e, bool v);
void inv_ei_i64(struct inv_ei *e, int64_t v);
void inv_ei_u64(struct inv_ei *e, uint64_t v);
void inv_ei_pid(struct inv_ei *e, const erlang_pid *pid);
void inv_ei_bytes(struct inv_ei *e, const void *p, size_t len);
void inv_ei_text(struct inv_ei *e, const char *s); /* a binary */
/* A list of such. */
void inv_ei_texts(struct inv_ei *e, const char *const *v, size_t n);

/* Bytes that are terms already. */
void inv_ei_raw(struct inv_ei *e, const void *p, size_t len);

#endif
