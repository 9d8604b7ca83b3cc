/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_MATCH_H
#define INV_MATCH_MATCH_H

#include "match/compile.h"
#include "match/run.h"

/*
 * A match spec: its parsed form and its verified program.  The struct owns its
 * memory.
 */
struct inv_match {
	struct inv_heap heap;
	struct inv_spec spec; /* spec.diags has the errors */
	struct inv_match_prog prog;
};

/*
 * Parses and compiles the match spec `spec' for an OTP release. Borrows the
 * terms of `spec'. If the function returns INV_EINVAL, m->spec.diags has all
 * errors of the match spec, and `err' has the first. Release `m' even if this
 * function fails.
 */
int inv_match_make(struct inv_match *m, inv_word spec, unsigned otp,
		   enum inv_match_event event, struct inv_err *err);
void inv_match_release(struct inv_match *m);

/* Allocates a heap of `cap' words (term/tree.h). Returns 0 or INV_ENOMEM. */
int inv_heap_new(struct inv_heap *h, size_t cap);
void inv_heap_free(struct inv_heap *h);

#endif
