/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_CLEANUP_H
#define INV_CLI_CLEANUP_H

/*
 * Removes an incomplete file or directory if a signal ends the command (SIGINT, SIGTERM,
 * SIGHUP).
 */
void inv_cleanup_init(void);

/*
 * From now on, signals remove path, which is borrowed. If path is NULL, signals
 * remove no file.
 */
void inv_cleanup_file(const char *path);

/*
 * Block and unblock the signals that end the program. Block them while the file
 * exists but is not registered yet, and while it is registered but no longer
 * exists.
 */
void inv_cleanup_hold(void);
void inv_cleanup_let(void);

#endif
