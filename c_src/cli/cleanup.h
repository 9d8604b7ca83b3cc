/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_CLEANUP_H
#define INV_CLI_CLEANUP_H

/*
 * Removes an incomplete file or directory if a signal (SIGINT, SIGTERM or
 * SIGHUP) ends the command.
 */
void inv_cleanup_init(void);

/*
 * From now on, signals remove path, which is borrowed. If path is NULL, signals
 * remove no file.
 */
void inv_cleanup_file(const char *path);

/*
 * Block and unblock the signals that end the program. Block them from before
 * the file is created until after it is registered (inv_cleanup_file). Also
 * block them from before it is renamed or removed until after it is
 * unregistered.
 */
void inv_cleanup_hold(void);
void inv_cleanup_let(void);

#endif
