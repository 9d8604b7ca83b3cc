/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_DIAG_H
#define INV_MATCH_DIAG_H

#include "term/tree.h"

/*
 * What is wrong with a match spec, in the words of erlang:match_spec_test/3: at
 * most 99 bytes each, in the order in which it was found.
 */
#define INV_DIAG_MAX 100

struct inv_diag {
	struct inv_diag *next;
	char text[INV_DIAG_MAX + 4];
};

struct inv_diags {
	struct inv_heap *heap; /* where they are kept */
	struct inv_diag *first;
	struct inv_diag **last; /* private; NULL: nothing was added */
	bool full;		/* of the heap: some are missing */
};

/*
 * Adds fmt, in which %T stands for t as the VM prints it, %N for n and %S for
 * s.
 */
void inv_diag_add(struct inv_diags *d, const char *fmt, inv_word t, uint64_t n,
		  const char *s);

/* t as the VM prints it with its own "%T", as much of it as fits; returns the
 * bytes written, of which there are less than size, and puts a zero. */
size_t inv_vm_print(inv_word t, char *buf, size_t size);

#endif
