/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_SPEC_ACTIONS_H
#define INV_CLI_SPEC_ACTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * The actions of a SPEC on which the command itself acts: slow(TIME) and
 * failed. A node's parser (inviso_spec) reads the whole SPEC. To the node, both
 * actions mean `return'.
 */
struct inv_spec_actions {
	bool slow;
	int64_t min_ns;
	bool failed;
	bool no_returns; /* there are actions, and none of them records the
			    returns of calls */
	/* The function in the SPEC as a condition of inv_filter_add_mfa: "m",
	 * "m:f" or "m:f/2". */
	char function[1024];
	/* The SPEC has app(...) or behaviour(...), whose modules only the node
	 * knows; so `function' applies to any module. */
	bool group;
};

/* Finds the actions in a SPEC. Returns 0, or INV_EINVAL with a message: the
 * TIME of slow is invalid. */
int inv_spec_actions_find(struct inv_spec_actions *a, const char *spec,
			  struct inv_err *err);

#endif
