/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SQL_CMD_SQL_H
#define INV_SQL_CMD_SQL_H

#include "cli/cmd.h"

extern const struct inv_cmd inv_cmd_sql;

#endif
