/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "cli/cmd.h"
#include "cli/helper.h"
#include "cli/merge_run.h"

static int exec_merge(int argc, char **argv)
{
	struct inv_merge_opts o;
	int status = inv_merge_opts_parse(&o, argc, argv);

	if (!status && o.format->program)
		status =
			inv_helper_exec(o.format->program, "merge", argc, argv);
	else if (!status)
		status = inv_merge_run(&o);
	inv_merge_opts_release(&o);
	return status;
}

const struct inv_cmd inv_cmd_merge = {
	.name = "merge",
	.summary = "merge logs into one timeline",
	.exec = exec_merge,
};
