/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_STOP_H
#define INV_CLI_STOP_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/*
 * The user's wish to stop: SIGINT, SIGTERM and SIGHUP as a descriptor, for
 * commands that have something to take away before they leave.  Those that are
 * ignored (nohup) stay so.  Threads that begin later have them blocked.
 *
 * What comes within half a second of a signal is the same wish: timeout(1),
 * sudo and container runtimes pass on what the terminal has sent already.
 */
struct inv_stop {
	int fd; /* readable: there is one; not to be read by others */
	/* private */
	pthread_t thread;
	int signals, quit;
	sigset_t before;
};

/* INV_EIO. */
int inv_stop_open(struct inv_stop *s);
/* Signals end the program again. */
void inv_stop_close(struct inv_stop *s);

/* Whether there was one; that one is forgotten. */
bool inv_stop_take(struct inv_stop *s);

#endif
