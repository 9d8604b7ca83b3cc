/* SPDX-License-Identifier: Apache-2.0 */
/* The helper program inviso_sql: `inviso sql', and `inviso merge' with the
 * formats sqlite and parquet. */
#include <sqlite3.h>
#include <stddef.h>

#include "cli/program.h"
#include "parquet/parquet.h"
#include "sink/sink.h"
#include "sql/cmd_sql.h"
#include "sql/sqlite.h"

static const struct inv_cmd *const commands[] = {
	&inv_cmd_sql,
	&inv_cmd_merge,
	NULL,
};

static const struct inv_sink_ops *const formats[] = {
	&inv_sink_sqlite,
	&inv_sink_parquet,
	NULL,
};

int main(int argc, char **argv)
{
	/* The program has one thread, and sets no limit on SQLite's memory. So
	 * SQLite needs no locks, and need not count its memory. */
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	inv_sink_provide(formats);
	return inv_program_run(commands, argc, argv);
}
