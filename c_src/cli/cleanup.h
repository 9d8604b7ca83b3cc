/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_CLEANUP_H
#define INV_CLI_CLEANUP_H

/*
 * What is not to be left behind when the command is told to go (SIGINT,
 * SIGTERM, SIGHUP).  An input that is cut under its hands (SIGBUS) is read up
 * to there: see log/source.h.
 */
void inv_cleanup_init(void);

/* From now on path, borrowed, is to be removed then; NULL: nothing is. */
void inv_cleanup_file(const char *path);

/*
 * Signals that end the program wait between these two: while the file is there
 * and not known here, or the other way round.
 */
void inv_cleanup_hold(void);
void inv_cleanup_let(void);

#endif
