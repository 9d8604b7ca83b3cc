/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_COPY_H
#define INV_TERM_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "term/dict.h"

/*
 * Copies of packed terms that stay valid when the packet is freed. A copy has
 * the bytes of the terms, and the entries of the packet's dictionary that the
 * terms use.
 */

/* Memory that is used for one copy after another, so that each copy need not
 * allocate it. A struct of zeros is valid. */
struct inv_copier {
	/* private */
	uint32_t *copied; /* for each entry of the dictionary, the number of the
			     last copy that contains the entry */
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
 * Reads the copy that begins at `copy'. Sets *terms and *len to its terms, and
 * replaces the contents of `dict' by its entries. The terms and the entries
 * point into the copy. Returns 0 or INV_ENOMEM.
 */
int inv_copy_get(const uint8_t *copy, struct inv_dict *dict,
		 const uint8_t **terms, size_t *len);

#endif
