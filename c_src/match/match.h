/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_MATCH_H
#define INV_MATCH_MATCH_H

#include "match/compile.h"
#include "match/run.h"

/*
 * A match spec in one piece, from a term to a program that was verified.  It
 * owns its memory.
 */
struct inv_match {
	struct inv_heap heap;
	struct inv_spec spec; /* spec.diags: what is wrong with it */
	struct inv_match_prog prog;
};

/*
 * Parses and compiles the spec, whose memory is referred to.  After INV_EINVAL
 * m->spec.diags has all errors, and err the first one.  m is to
 * be released in any case.
 */
int inv_match_make(struct inv_match *m, inv_word spec, unsigned otp,
		   enum inv_match_event event, struct inv_err *err);
void inv_match_release(struct inv_match *m);

/* A heap of cap words of its own; INV_ENOMEM. */
int inv_heap_new(struct inv_heap *h, size_t cap);
void inv_heap_free(struct inv_heap *h);

#endif
