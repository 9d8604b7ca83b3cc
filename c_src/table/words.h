/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TABLE_WORDS_H
#define INV_TABLE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * A table of texts that many rows repeat: names of nodes, processes, modules,
 * functions and tags. Each text is stored once and has a number, from 1 on. The
 * number 0 means no text. A struct of zeros is an empty table.
 */
struct inv_words {
	/* private */
	struct inv_buf texts;
	size_t *ends; /* ends[i]: where text i ends in `texts'; text i begins
			 where text i - 1 ends */
	uint32_t n;
	uint32_t cap;
	uint32_t *slots; /* hash table of numbers */
	uint32_t n_slots;
};

void inv_words_release(struct inv_words *w);

/* Returns the number of a text, and adds the text if it is new. Returns 0 if
 * memory is exhausted. */
uint32_t inv_words_add(struct inv_words *w, const void *p, size_t len);

/* Returns the text of a number other than 0, and its length. The pointer is
 * valid until the next text is added. */
const uint8_t *inv_words_text(const struct inv_words *w, uint32_t word,
			      size_t *len);

#endif
