/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SQL_SQLITE_H
#define INV_SQL_SQLITE_H

#include "sink/sink.h"

/* The format sqlite of inviso merge. */
extern const struct inv_sink_ops inv_sink_sqlite;

#endif
