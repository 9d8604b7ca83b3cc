/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_HELPER_H
#define INV_CLI_HELPER_H

#include <limits.h>

/*
 * A helper program contains commands, and formats of `inviso merge', that need
 * a library. The program inviso itself does not load this library. A helper
 * program is in the same directory as inviso (priv/inviso_sql). It contains
 * most code of inviso and additional code, and takes the same arguments.
 *
 * Replaces this process by the helper program: `inviso COMMAND ARGUMENT...'
 * becomes `HELPER COMMAND ARGUMENT...'. argv[0] is ignored. If this fails,
 * reports the reason and returns an exit status.
 */
int inv_helper_exec(const char *helper, const char *command, int argc,
		    char **argv);

/* Stores the path of a program in the directory of this program. If this
 * program was started through a link, this is the directory of the link's
 * target. Returns 0, or -1 with errno. */
int inv_helper_path(const char *program, char path[PATH_MAX]);

#endif
