/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_MERGE_RUN_H
#define INV_CLI_MERGE_RUN_H

#include "cli/merge_opts.h"

/*
 * Merges the LOGs as the options say, and writes the output, the summary and
 * all messages. Returns an exit status.
 */
int inv_merge_run(const struct inv_merge_opts *o);

#endif
