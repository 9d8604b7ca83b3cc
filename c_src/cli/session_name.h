/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_SESSION_NAME_H
#define INV_CLI_SESSION_NAME_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Names of sessions on nodes; of those that record, they are the names of the
 * recordings.
 */

/* One that nobody else has: "trace-3f2a91c4". */
void inv_session_name_make(char *out, size_t size, const char *kind);

/* Whether it is one: a to z, 0 to 9, _ . and -, at most 64. */
bool inv_session_name_good(const char *name);

/*
 * The argument NAME of commands about one recording, for argp: takes it, and at
 * the end has to have it.  What is wrong ends the program, as argp does.
 */
void inv_session_name_take(const char **name, const char *arg,
			   struct argp_state *state);
void inv_session_name_need(const char *name, struct argp_state *state);

#endif
