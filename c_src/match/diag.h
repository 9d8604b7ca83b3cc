/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_DIAG_H
#define INV_MATCH_DIAG_H

#include "term/tree.h"

/*
 * The errors of a match spec, in the order in which they were found. The texts
 * are those of erlang:match_spec_test/3, at most 99 bytes each.
 */
#define INV_DIAG_MAX 100

struct inv_diag {
	struct inv_diag *next;
	char text[INV_DIAG_MAX + 4];
};

struct inv_diags {
	struct inv_heap *heap; /* memory for the errors */
	struct inv_diag *first;
	struct inv_diag **last; /* where to append the next error; NULL: there
				 * are no errors yet */
	bool full;		/* the heap is full, so errors are missing */
};

/*
 * Adds an error with the text `fmt', in which %T is replaced by the term `t' as
 * the VM prints it, %N by `n' and %S by `s'.
 */
void inv_diag_add(struct inv_diags *d, const char *fmt, inv_word t, uint64_t n,
		  const char *s);

/*
 * Appends `t' as "%T" in the VM's C code prints it, cut to at most `max' bytes.
 */
void inv_vm_print(inv_word t, size_t max, struct inv_buf *out);

#endif
