/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_CHAIN_H
#define INV_ENGINE_CHAIN_H

#include <stdint.h>

#include "engine/frames.h"

/*
 * Finds the sessions that get a return_to event. The VM puts one frame on the
 * stack for a traced call and all its tail calls, and reports the function to
 * which that frame returns. While several sessions trace local calls, a shadow
 * stack records which sessions want which return.
 *
 * The VM reports only the function to which a call returns. If two calls in a
 * row return to the same function, the second counts as a tail call of the
 * first. But if the first call called that same function, the second counts as
 * a recursion. Recursion through untraced functions is mistaken for tail calls;
 * later returns then go to all sessions that want return_to.
 */

/* Functions are identified by hashes; 0 means no function. */

/*
 * Records a call of `function' that returns to `caller', for the sessions of
 * `mask'.
 */
void inv_chain_call(struct inv_frames *chain, uint32_t function,
		    uint32_t caller, uint32_t mask);

/*
 * Returns the sessions that want a return to the function `to', or `all' if no
 * recorded call returns to `to'.
 */
uint32_t inv_chain_return(struct inv_frames *chain, uint32_t to, uint32_t all);

#endif
