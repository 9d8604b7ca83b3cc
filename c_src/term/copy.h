/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_COPY_H
#define INV_TERM_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "term/dict.h"

/*
 * Copies of packed terms that remain valid when the packet is gone: the bytes
 * of the terms, and the entries of the packet's dictionary that the terms use.
 */

/* What copying needs besides the terms. All zero is valid. */
struct inv_copier {
	/* private */
	uint32_t *copied; /* for each entry of the dictionary: the last turn in
			     which it was copied */
	uint32_t cap;
	uint32_t turn; /* the number of the current copy */
};

/*
 * Appends a copy of the len bytes of terms to `out'. Returns 0, INV_EDAMAGED if
 * the terms are invalid, or INV_ENOMEM; after an error nothing is appended.
 */
int inv_copy_put(struct inv_copier *c, struct inv_buf *out,
		 const struct inv_dict *dict, const uint8_t *terms, size_t len);

void inv_copier_release(struct inv_copier *c);

/*
 * Sets *terms and *len to the terms of the copy that begins at `copy', and
 * replaces the contents of `dict' by the copied entries. Both point into the
 * copy. Returns 0 or INV_ENOMEM.
 */
int inv_copy_get(const uint8_t *copy, struct inv_dict *dict,
		 const uint8_t **terms, size_t *len);

#endif
