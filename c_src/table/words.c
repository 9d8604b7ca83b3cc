/* SPDX-License-Identifier: Apache-2.0 */
#include "table/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void inv_words_release(struct inv_words *w)
{
	inv_buf_release(&w->texts);
	free(w->ends);
	free(w->slots);
	memset(w, 0, sizeof(*w));
}

const uint8_t *inv_words_text(const struct inv_words *w, uint32_t word,
			      size_t *len)
{
	size_t begin = w->ends[word - 1];

	*len = w->ends[word] - begin;
	return w->texts.data + begin;
}

/* Returns the slot of the text, or the free slot for it. */
static uint32_t *slot_of(const struct inv_words *w, const void *p, size_t len)
{
	uint32_t i = (uint32_t)XXH3_64bits(p, len) & (w->n_slots - 1);
	size_t n;

	for (;; i = (i + 1) & (w->n_slots - 1)) {
		uint32_t *slot = &w->slots[i];
		const uint8_t *text;

		if (!*slot)
			return slot;
		text = inv_words_text(w, *slot, &n);
		if (n == len && (!n || !memcmp(text, p, n)))
			return slot;
	}
}

static bool grow(struct inv_words *w)
{
	uint32_t cap = w->cap ? w->cap * 2 : 256;
	uint32_t *slots = calloc((size_t)cap * 2, sizeof(*slots));
	size_t *ends = realloc(w->ends, ((size_t)cap + 1) * sizeof(*ends));

	if (ends)
		w->ends = ends;
	if (!slots || !ends) {
		free(slots);
		return false;
	}
	w->ends[0] = 0;
	free(w->slots);
	w->slots = slots;
	w->n_slots = cap * 2;
	w->cap = cap;
	for (uint32_t i = 1; i <= w->n; i++) {
		size_t len;
		const uint8_t *text = inv_words_text(w, i, &len);

		*slot_of(w, text, len) = i;
	}
	return true;
}

uint32_t inv_words_add(struct inv_words *w, const void *p, size_t len)
{
	uint32_t *slot;

	if (w->n == w->cap && (w->cap == UINT32_MAX / 4 + 1 || !grow(w)))
		return 0;
	slot = slot_of(w, p, len);
	if (*slot)
		return *slot;
	/* Reserve memory even if the text is empty, so that inv_words_text
	 * never returns NULL. */
	inv_buf_reserve(&w->texts, len + 1);
	inv_buf_put(&w->texts, p, len);
	if (w->texts.error) {
		w->texts.error = 0;
		return 0;
	}
	w->ends[++w->n] = w->texts.len;
	*slot = w->n;
	return w->n;
}
