/* SPDX-License-Identifier: Apache-2.0 */
#include "match/match.h"

#include <string.h>

#include "base/alloc.h"

/* Sizes of heaps, in words.  A usual match spec needs a few hundred words. */
#define HEAP_WORDS (UINT64_C(1) << 16)
#define HEAP_WORDS_MAX (UINT64_C(1) << 24)

int inv_heap_new(struct inv_heap *h, size_t cap)
{
	*h = (struct inv_heap){ .w = inv_alloc(cap * sizeof(*h->w)),
				.cap = cap };
	return h->w ? 0 : INV_ENOMEM;
}

void inv_heap_free(struct inv_heap *h)
{
	inv_free(h->w);
	*h = (struct inv_heap){ 0 };
}

static int make(struct inv_match *m, inv_word spec, unsigned otp,
		enum inv_match_event event, size_t words, struct inv_err *err)
{
	int rc;

	inv_heap_free(&m->heap);
	if (inv_heap_new(&m->heap, words))
		return inv_err_set(err, INV_ENOMEM, "no memory");
	rc = inv_spec_parse(&m->spec, spec, otp, event, &m->heap, err);
	if (rc)
		return rc;
	return inv_match_compile(&m->prog, &m->spec, otp, &m->heap, err);
}

/* It is not known beforehand how large the heap must be. So if a heap is too
 * small, this function tries again with a larger one. */
int inv_match_make(struct inv_match *m, inv_word spec, unsigned otp,
		   enum inv_match_event event, struct inv_err *err)
{
	size_t words = HEAP_WORDS;
	int rc;

	memset(m, 0, sizeof(*m));
	do {
		rc = make(m, spec, otp, event, words, err);
		words *= 16;
	} while (rc == INV_ETOOBIG && m->heap.used > m->heap.cap / 2 &&
		 words <= HEAP_WORDS_MAX);
	return rc;
}

void inv_match_release(struct inv_match *m)
{
	inv_heap_free(&m->heap);
}
