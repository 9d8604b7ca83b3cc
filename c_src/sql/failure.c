/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/failure.h"

#include <errno.h>

int inv_sql_failed(sqlite3 *db, struct inv_err *err, const char *what)
{
	int sys = errno;

	/* SQLite's own text would be only "disk I/O error". */
	if (sys && (sqlite3_errcode(db) & 0xff) == SQLITE_IOERR)
		return inv_err_sys(err, sys, "%s", what);
	return inv_err_set(err, INV_EIO, "%s: %s", what, sqlite3_errmsg(db));
}
