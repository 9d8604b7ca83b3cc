/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_ASK_H
#define INV_NODE_ASK_H

#include "base/clock.h"
#include "node/call.h"
#include "node/decode.h"
#include "node/encode.h"
#include "node/gather.h"

/*
 * Helpers for the functions inv_…_ask, which send requests (node/gather.h).
 *
 * inv_ask_rex calls module:function(args...) on the node through its process
 * rex. The answer must come within `ms' milliseconds. Releases `args'. If the
 * request cannot be sent, `ask' is done at once and contains the error.
 */
void inv_ask_rex(struct inv_ask *ask, struct inv_conn *c, const char *module,
		 const char *function, struct inv_buf *args, int ms);
/*
 * Like inv_ask_rex, for a function of inviso's code.  On a node where inviso is
 * not installed, the command has loaded the module under another name
 * (abi/control.h, section 2). inv_ask_pid calls no function: it sends `request'
 * to the process `pid'.
 */
void inv_ask_code(struct inv_ask *ask, struct inv_conn *c, const char *module,
		  const char *function, struct inv_buf *args, int ms);
void inv_ask_pid(struct inv_ask *ask, struct inv_conn *c, const erlang_pid *pid,
		 struct inv_buf *request, int ms);

/* Returns the time of CLOCK_REALTIME and of CLOCK_MONOTONIC. */
static inline struct inv_ask_time inv_ask_now(void)
{
	return (struct inv_ask_time){ inv_real_ns(), inv_mono_ns() };
}

/*
 * Initializes `d' to decode the answer of an ask that is done. Returns 0, or
 * the ask's error if there is no answer.
 */
int inv_ask_answer(const struct inv_ask *ask, struct inv_decode *d,
		   struct inv_err *err);

/*
 * Waits until the inbox has an item, but at most `ms' milliseconds (-1: no
 * limit). Returns INV_ECANCELLED if `stop_fd' is readable, otherwise 0. If a
 * signal arrives, the function returns 0 earlier, even without an item.
 */
int inv_inbox_wait(struct inv_inbox *in, int stop_fd, int ms);

#endif
