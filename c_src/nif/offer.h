/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_OFFER_H
#define INV_NIF_OFFER_H

#include <stdbool.h>

/*
 * How a spooler gets at a tracer's memory when it cannot open it through
 * /proc/<pid>/fd: a VM that the kernel holds for undumpable (its executable
 * may not be read, or has capabilities) has that directory closed to its own
 * user.  The descriptor then goes over a unix socket with an abstract name, so
 * that nothing is left behind, to a process of the same user.
 */
bool inv_offer_needed(void);

#define INV_OFFER_NAME 48

/* A listening socket, and its name with '@' first; -1 and errno on failure. */
int inv_offer_listen(char name[INV_OFFER_NAME]);

/*
 * Waits up to ms milliseconds for one that connects and sends it fd.  True if
 * it was sent; false if nobody came, or one of another user did.
 */
bool inv_offer_give(int listener, int fd, int ms);

#endif
