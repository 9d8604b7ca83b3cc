/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_SESSION_NAME_H
#define INV_CLI_SESSION_NAME_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* Names of sessions on nodes. The name of a recording is the name of its
 * session. */

/* Makes a unique name, such as "trace-3f2a91c4". */
void inv_session_name_make(char *out, size_t size, const char *kind);

/* Returns true if the name is valid: at most 64 of the characters a to z, 0 to
 * 9, _ . and -. */
bool inv_session_name_good(const char *name);

/*
 * For argp parsers of commands with the argument NAME. inv_session_name_take
 * stores arg; at the end inv_session_name_need checks that NAME was given. An
 * error ends the program with a usage message.
 */
void inv_session_name_take(const char **name, const char *arg,
			   struct argp_state *state);
void inv_session_name_need(const char *name, struct argp_state *state);

#endif
