/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_SHELL_WORD_H
#define INV_CLI_SHELL_WORD_H

#include "base/buf.h"

/* Appends text as one word of a shell command, in quotes if it needs them. */
void inv_shell_word_put(struct inv_buf *out, const char *text);

#endif
