/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_CLEANUP_H
#define INV_CLI_CLEANUP_H

/*
 * Removes an incomplete file if a signal ends the command (SIGINT, SIGTERM,
 * SIGHUP).
 */
void inv_cleanup_init(void);

/* From now on, signals remove path, which is borrowed. NULL: no file. */
void inv_cleanup_file(const char *path);

/* Block and unblock the signals that end the program, for the time in which the
 * file exists but is not registered here, or is registered but does not
 * exist. */
void inv_cleanup_hold(void);
void inv_cleanup_let(void);

#endif
