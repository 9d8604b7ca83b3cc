/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/chain.h"

#define MANY 64 /* one return removes at most this many frames */

/*
 * Makes a frame of a chain, the shadow stack for return_to. In a chain, three
 * fields of struct inv_call_frame have other meanings: `returns' has the
 * sessions that want the return, `exceptions' the function to which the call
 * returns, and `tracer' the function that was called last.
 */
static struct inv_call_frame frame(uint32_t mask, uint32_t caller,
				   uint32_t last)
{
	return (struct inv_call_frame){ .returns = mask,
					.exceptions = caller,
					.tracer = last };
}

void inv_chain_call(struct inv_frames *chain, uint32_t function,
		    uint32_t caller, uint32_t mask)
{
	struct inv_call_frame next = frame(mask, caller, function);
	struct inv_call_frame top;

	if (inv_frames_pop(chain, &top)) {
		if (top.exceptions == caller && top.tracer != caller)
			next.returns |= top.returns;
		else
			(void)inv_frames_push(chain, &top);
	}
	(void)inv_frames_push(chain, &next);
}

uint32_t inv_chain_return(struct inv_frames *chain, uint32_t to, uint32_t all)
{
	struct inv_call_frame top;
	uint32_t mask = 0;
	unsigned left;

	/*
	 * A return removes one frame. An exception removes several: all calls
	 * above the function that catches it.
	 */
	for (left = MANY; left > 0 && inv_frames_pop(chain, &top); left--) {
		if (left < MANY && top.exceptions != to && top.tracer == to) {
			(void)inv_frames_push(chain, &top);
			return all & mask;
		}
		mask |= top.returns;
		if (top.exceptions == to)
			return all & mask;
	}
	return left < MANY ? all & mask : all;
}
