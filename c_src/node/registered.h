/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_REGISTERED_H
#define INV_NODE_REGISTERED_H

#include <stddef.h>

#include "base/err.h"
#include "node/ask.h"
#include "term/cursor.h"

/*
 * Decodes the answer to INV_VERB_NAMES: the registered names of the node's
 * processes and ports, as many as the node sends (abi/control.h). Calls `each'
 * with the token of the process or port and the name, UTF-8, as ~tw prints it;
 * both are valid during the call. `each' returns 0, or an error, which ends the
 * decoding. Returns 0, the error of `each', or those of other answers.
 */
typedef int inv_registered_each(void *arg, const struct inv_token *tok,
				const char *name, size_t len);

int inv_registered_got(const struct inv_ask *ask, inv_registered_each *each,
		       void *arg, struct inv_err *err);

#endif
