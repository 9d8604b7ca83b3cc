/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_DRY_H
#define INV_CLI_DRY_H

#include <stdbool.h>

#include "cli/members.h"

/* --dry-run: waits for the sessions' results, and prints for each node one line
 * with counts and several lines that list the functions. Prints no notes if
 * `quiet' is true. Returns an enum inv_exit. */
int inv_dry_run(struct inv_members *ms, bool json, bool quiet);

#endif
