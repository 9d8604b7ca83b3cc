/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SQL_FAILURE_H
#define INV_SQL_FAILURE_H

#include <sqlite3.h>

#include "base/err.h"

/* Sets *err to the error of the last call of SQLite. If that is an input or
 * output error, sets *err to the error in errno. Returns the code. */
int inv_sql_failed(sqlite3 *db, struct inv_err *err, const char *what);

#endif
