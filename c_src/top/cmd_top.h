/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TOP_CMD_TOP_H
#define INV_TOP_CMD_TOP_H

#include "cli/cmd.h"

extern const struct inv_cmd inv_cmd_top;

#endif
