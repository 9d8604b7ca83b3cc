/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_CHAIN_H
#define INV_ENGINE_CHAIN_H

#include <stdint.h>

#include "engine/frames.h"

/*
 * Whose an event return_to is.  The VM puts one frame on the stack for a traced
 * call and all that it comes to by tail calls, and tells where it returns to.
 * While several sessions trace local calls, a stack beside it remembers who
 * wants to hear of which.
 *
 * What is known of a call is the function that it returns to.  Two calls one
 * after the other that return to the same are taken for tail calls, unless that
 * function is the one that was called before: then it is recursion.  Recursion
 * through functions that nobody traces is taken for tail calls too; then the
 * events at the end are for all that ask for any.
 */

/* Functions are numbers, hashes of them; 0 is none. */

/* A call of `function' that returns to `caller'. */
void inv_chain_call(struct inv_frames *chain, uint32_t function,
		    uint32_t caller, uint32_t mask);

/* The sessions that want to hear of a return there; `all': if it is unknown. */
uint32_t inv_chain_return(struct inv_frames *chain, uint32_t to, uint32_t all);

#endif
