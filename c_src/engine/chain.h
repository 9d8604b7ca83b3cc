/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_CHAIN_H
#define INV_ENGINE_CHAIN_H

#include <stdint.h>

#include "engine/frames.h"

/*
 * Finds the sessions that get a return_to event. The VM puts one frame on the
 * stack for a traced call and all its tail calls, and reports the function to
 * which that frame returns. While several sessions trace local calls, a shadow
 * stack records, for each of these frames, which sessions want its return.
 *
 * From the caller of each call, this code guesses which calls share a frame. If
 * two calls in a row return to the same function, the second counts as a tail
 * call of the first. But if the first was a call of that function itself, the
 * second counts as a recursion. Recursion through untraced functions is
 * mistaken for tail calls. Then later returns have no frame on the shadow
 * stack, and are sent to all sessions that want return_to.
 */

/* `function', `caller' and `to' are hashes of functions; 0: no function. */

/*
 * Records a call of `function' that returns to `caller'. The sessions of `mask'
 * want that return.
 */
void inv_chain_call(struct inv_frames *chain, uint32_t function,
		    uint32_t caller, uint32_t mask);

/*
 * Returns those sessions of `all' that want a return to the function `to', or
 * `all' if the shadow stack is empty. Removes the frames of the calls that have
 * ended.
 */
uint32_t inv_chain_return(struct inv_frames *chain, uint32_t to, uint32_t all);

#endif
