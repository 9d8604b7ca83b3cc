/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_FD_PASS_H
#define INV_NIF_FD_PASS_H

#include <stdbool.h>

/*
 * Passes the descriptor of a tracer's memory to a spooler that cannot open it
 * through /proc/<pid>/fd. If the kernel treats a VM as undumpable (its
 * executable is not readable, or has capabilities), other programs of the VM's
 * user cannot open files in /proc/<pid>/fd. The VM then sends the descriptor
 * over a unix socket to a program of the same user. The socket has an abstract
 * name, which leaves no file behind.
 */
bool inv_fd_pass_needed(void);

#define INV_FD_PASS_NAME 48

/*
 * Returns a listening socket, and sets `name', which begins with '@'. Returns
 * -1, with errno, on failure.
 */
int inv_fd_pass_listen(char name[INV_FD_PASS_NAME]);

/*
 * Waits up to ms milliseconds for a program to connect, and sends it fd.
 * Returns true if fd was sent. Returns false if no program connected, or if a
 * program of another user connected.
 */
bool inv_fd_pass_give(int listener, int fd, int ms);

#endif
