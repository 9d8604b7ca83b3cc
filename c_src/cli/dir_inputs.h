/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_DIR_INPUTS_H
#define INV_CLI_DIR_INPUTS_H

#include <stdbool.h>

#include "log/inputs.h"

/* Returns true if path is a directory. */
bool inv_is_dir(const char *path);

/*
 * Adds the files in a directory whose names look like those of logs: *.log,
 * *.log.NUMBER and *.ti, in the order of their names. Returns 0; INV_EINVAL if
 * there are none; or an error of inv_inputs_add.
 */
int inv_dir_add(struct inv_inputs *in, const char *path, struct inv_err *err);

#endif
