/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_EXPORT_CMD_EXPORT_H
#define INV_EXPORT_CMD_EXPORT_H

#include "cli/cmd.h"

extern const struct inv_cmd inv_cmd_export;

#endif
