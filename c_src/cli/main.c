/* SPDX-License-Identifier: Apache-2.0 */
/* The program inviso: the list of its commands, which cli/program.h runs. */
#include <stddef.h>

#include "cli/program.h"
#include "parquet/parquet.h"

/* Commands of helper programs (cli/helper.h). */
static const struct inv_cmd sql = {
	.name = "sql",
	.summary = INV_CMD_SQL_SUMMARY,
	.helper = "inviso_sql",
};

static const struct inv_cmd export = {
	.name = "export",
	.summary = INV_CMD_EXPORT_SUMMARY,
	.helper = "inviso_export",
};

static const struct inv_cmd top = {
	.name = "top",
	.summary = INV_CMD_TOP_SUMMARY,
	.helper = "inviso_top",
};

static const struct inv_cmd *const commands[] = {
	&inv_cmd_trace,
	&inv_cmd_seq,
	&inv_cmd_count,
	&inv_cmd_hist,
	&inv_cmd_flame,
	&top,
	&inv_cmd_record,
	&inv_cmd_status,
	&inv_cmd_stop,
	&inv_cmd_fetch,
	&inv_cmd_merge,
	&inv_cmd_report,
	&sql,
	&export, /* this and `sql' are in helper programs */
	&inv_cmd_recover,
	&inv_cmd_case,
	&inv_cmd_autostart,
	&inv_cmd_ms,
	NULL,
};

/*
 * The code of these formats may use c_src/sink, but c_src/sink must not use
 * this code (c_src/LAYERS). So the list of formats in c_src/sink cannot name
 * these formats.
 */
static const struct inv_sink_ops *const formats[] = {
	&inv_sink_parquet,
	NULL,
};

int main(int argc, char **argv)
{
	inv_sink_provide(formats);
	return inv_program_run(commands, argc, argv);
}
