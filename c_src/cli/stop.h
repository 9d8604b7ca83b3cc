/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_STOP_H
#define INV_CLI_STOP_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/*
 * Turns SIGINT, SIGTERM and SIGHUP into stop requests on a descriptor, for
 * commands that must clean up before they exit. Signals that are ignored
 * (nohup) stay ignored. Threads that start after inv_stop_open have these
 * signals blocked.
 *
 * Signals within half a second of each other count as one request, because
 * timeout(1), sudo and container runtimes forward a signal that the terminal
 * has already sent.
 */
struct inv_stop {
	int fd; /* readable if there is a request; only for poll */
	/* private */
	pthread_t thread;
	int signals, quit;
	sigset_t before;
};

/* Returns 0 or INV_EIO. */
int inv_stop_open(struct inv_stop *s);
/* After this call, signals end the program again. */
void inv_stop_close(struct inv_stop *s);

/* Returns true if there was a request, and clears it. */
bool inv_stop_take(struct inv_stop *s);

#endif
