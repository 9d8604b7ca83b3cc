/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CNODE_MESSAGE_H
#define INV_CNODE_MESSAGE_H

#include <ei.h>
#include <stddef.h>

/*
 * Sends messages over a connection of ei, in the form of the distribution
 * protocol (SEND, REG_SEND, SEND_TT, REG_SEND_TT). ei's own functions would add
 * the token that ei keeps.
 */
struct inv_cnode_message {
	const erlang_pid *to; /* NULL: the receiver is `name' */
	const char *name;     /* UTF-8 */
	const erlang_pid *from;
	const erlang_trace *token; /* NULL: none */
	const char *term;	   /* external format, with the version byte */
	int len;
};

/* Writes n bytes at p within ms (0: no limit). Returns 0 or an errno. */
typedef int inv_cnode_write(void *arg, int fd, const void *p, size_t n,
			    unsigned ms);

/*
 * Sends with the function `write' or, if it is NULL, to the socket fd. Returns
 * 0 or an errno.
 */
int inv_cnode_message_send(const struct inv_cnode_message *m, int fd,
			   unsigned ms, inv_cnode_write *write, void *arg);

#endif
