/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_PROGRAM_H
#define INV_CLI_PROGRAM_H

#include "cli/cmd.h"

/*
 * Runs a program that consists of commands: executes the command that the first
 * argument names. NULL ends the list of commands. Returns enum inv_exit. The
 * programs are inviso (main.c) and the helper programs (helper.h).
 */
int inv_program_run(const struct inv_cmd *const *cmds, int argc, char **argv);

#endif
