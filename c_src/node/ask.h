/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_ASK_H
#define INV_NODE_ASK_H

#include "node/call.h"
#include "node/decode.h"
#include "node/encode.h"
#include "node/gather.h"

/*
 * For the makers of questions (node/gather.h).
 *
 * What is sent is taken over and released.  A question that cannot be sent is
 * done, with its error.
 */
void inv_ask_rex(struct inv_ask *ask, struct inv_conn *c, const char *module,
		 const char *function, struct inv_ei *args, int ms);
void inv_ask_pid(struct inv_ask *ask, struct inv_conn *c, const erlang_pid *pid,
		 struct inv_ei *request, int ms);

/* Sets d at the answer of a question that is done; its failure, if there is no
 * answer. */
int inv_ask_answer(const struct inv_ask *ask, struct inv_decode *d,
		   struct inv_err *err);

/* Waits for a mail up to ms (-1: for ever); 0, which may be too early, or
 * INV_ECANCELLED. */
int inv_inbox_wait(struct inv_inbox *in, int stop_fd, int ms);

#endif
