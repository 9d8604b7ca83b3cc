/* SPDX-License-Identifier: Apache-2.0 */
/* The program for `inviso top'. It is separate because it needs ncurses. */
#include <stddef.h>

#include "cli/program.h"
#include "top/cmd_top.h"

static const struct inv_cmd *const commands[] = {
	&inv_cmd_top,
	NULL,
};

int main(int argc, char **argv)
{
	return inv_program_run(commands, argc, argv);
}
