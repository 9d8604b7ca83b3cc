/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_CLEANUP_H
#define INV_CLI_CLEANUP_H

/*
 * Installs signal handlers: if SIGINT, SIGTERM or SIGHUP ends the command, the
 * handler removes the incomplete file or directory of inv_cleanup_file.
 */
void inv_cleanup_init(void);

/*
 * Registers the incomplete file that a signal removes. path is borrowed. If
 * path is NULL, signals remove no file from now on.
 */
void inv_cleanup_file(const char *path);

/*
 * Block and unblock the signals that end the program. Block them before the
 * file is created, and unblock them after it is registered (inv_cleanup_file).
 * Also block them before the file is renamed or removed, and unblock them after
 * inv_cleanup_file(NULL).
 */
void inv_cleanup_hold(void);
void inv_cleanup_let(void);

#endif
