/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INVISO_CNODE_H
#define INVISO_CNODE_H

/*
 * Sequential tracing (seq_trace) for C nodes that use ei.
 *
 * A C node with this library receives, keeps and sends trace tokens as an
 * Erlang process does. While it has a token, the library records in a log what
 * the node sends, receives and prints. `inviso merge' merges this log with the
 * logs of Erlang nodes.
 *
 *	struct inviso_cnode *c;
 *	char why[INVISO_CNODE_WHY];
 *
 *	c = inviso_cnode_open("/var/log/c.log", &ec, NULL, why, sizeof(why));
 *	if (!c)
 *		fprintf(stderr, "not traced: %s\n", why);
 *	for (;;) {
 *		switch (inviso_cnode_receive_msg(c, fd, &msg, &x, 0)) {
 *		case ERL_MSG:
 *			... make an answer in y ...
 *			inviso_cnode_send(c, fd, &to, y.buff, y.index, 0);
 *
 * Compile with -pthread, and link with  -linviso_cnode -lei -lzstd -pthread.
 *
 * The handle. A handle is one process in the sense of seq_trace: it has one
 * token, one counter for serials, one pid, and one log. Only one thread at a
 * time may use a handle; different threads may use different handles. A program
 * can serve several requests at the same time in two ways. It can open one
 * handle, with its own pid and log, for each request. Or it can use one handle,
 * and exchange the handle's token with inviso_cnode_get_token and
 * inviso_cnode_set_token.
 *
 * No trace. With a NULL handle nothing is recorded, and a function that
 * replaces a function of ei does the same as that function.
 *
 * Errors. Functions that return int return -1 on failure. On failure, functions
 * that send or receive set erl_errno, as ei's functions do; the others set
 * errno. An error of the log never makes a send or receive fail: if the log
 * cannot be written, the event is counted as lost.
 *
 * What a killed program loses. By default, each event is in the file when the
 * function that recorded it returns. So the event survives the death of the
 * program, but not a power failure. With inviso_cnode_set_buffer, a killed
 * program loses the events that are still in memory.
 *
 * ei's own token. ei_receive and its relatives store the token of a received
 * message in one place for the whole program. ei_send, ei_reg_send and ei_rpc
 * send this token, in which the sender's pid is wrong. So send with the
 * functions below, which do not use ei's token.
 */
#include <ei.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct inviso_cnode;

/* A good size for the buffer `why' of inviso_cnode_open. */
#define INVISO_CNODE_WHY 512

/*
 * Creates the log `path', with mode 0600; the file must not exist. ec was
 * initialized with ei_connect_init or a variant, and gives the node's name.
 * self is the pid of the handle: the sender of the messages that the handle
 * sends. It must differ from the pids of other handles (ei_make_pid). If self
 * is NULL, the pid is ei_self(ec). The node's name and the pid are copied.
 *
 * Returns NULL on failure. In this case a message is in `why', which has space
 * for `size' bytes.
 */
struct inviso_cnode *inviso_cnode_open(const char *path, ei_cnode *ec,
				       const erlang_pid *self, char *why,
				       size_t size);

/*
 * Completes the log and frees the handle. Returns -1 if events were lost, or
 * the end of the log could not be written. NULL is allowed.
 */
int inviso_cnode_close(struct inviso_cnode *c);

/* --- receive -------------------------------------------------------------- */

/*
 * Receives as ei_xreceive_msg_tmo does, with its results: ERL_MSG, ERL_TICK or
 * ERL_ERROR. ms is a timeout in milliseconds; 0: no timeout. The message's
 * token becomes the handle's token; a message without a token clears the
 * handle's token.
 */
int inviso_cnode_receive_msg(struct inviso_cnode *c, int fd, erlang_msg *msg,
			     ei_x_buff *x, unsigned ms);

/*
 * For programs with their own receive loop: call this function after each
 * receive that returned ERL_MSG. x has the message, from index 0. If a received
 * message has no token, ei leaves the token in *msg as it was. So this function
 * removes the token from *msg, and *msg must be zero before the first receive:
 * erlang_msg msg = { 0 };
 */
void inviso_cnode_received(struct inviso_cnode *c, erlang_msg *msg,
			   const ei_x_buff *x);

/* --- send ----------------------------------------------------------------- */

/*
 * These functions send as ei_send_tmo and ei_reg_send_tmo do, but with the
 * handle's token. The message is the term of len bytes at buf, which begins
 * with a version byte (ei_x_new_with_version). They return 0, or -1. After a
 * timeout, a part of the message may have been sent. So close the connection.
 *
 * `name' is a registered name on the other node. `node' is the name of that
 * node; NULL: it is not known. The name of the node is only recorded.
 *
 * fd must be a TCP socket. If the program has given ei other functions for
 * connections (ei_connect_init_ussi), call inviso_cnode_set_write first.
 */
int inviso_cnode_send(struct inviso_cnode *c, int fd, const erlang_pid *to,
		      const char *buf, int len, unsigned ms);
int inviso_cnode_reg_send(struct inviso_cnode *c, ei_cnode *ec, int fd,
			  const char *name, const char *node, const char *buf,
			  int len, unsigned ms);

/*
 * Makes the handle send with `write', which writes all n bytes at p to the
 * connection fd within ms milliseconds (0: no limit) and returns 0, or an
 * errno. If `write' is NULL, the handle sends to fd as to a socket.
 */
void inviso_cnode_set_write(struct inviso_cnode *c,
			    int (*write)(void *arg, int fd, const void *p,
					 size_t n, unsigned ms),
			    void *arg);

/* --- the token ------------------------------------------------------------ */

enum inviso_cnode_flag {
	INVISO_CNODE_SEND = 1,
	INVISO_CNODE_RECEIVE = 2,
	INVISO_CNODE_PRINT = 4,
	INVISO_CNODE_TIMESTAMP = 8,
	INVISO_CNODE_STRICT = 16,
	INVISO_CNODE_MONOTONIC = 32,
};

/* The range of labels. The VM does not send labels outside this range to C
 * nodes. */
#define INVISO_CNODE_LABEL_MIN (-(1L << 27))
#define INVISO_CNODE_LABEL_MAX ((1L << 27) - 1)

/*
 * Begins a trace, as seq_trace:set_token/2 does: sets a token with this label
 * and these flags. Returns -1, and sets errno to EINVAL, if the label is out of
 * range, or if `flags' has bits that are not in enum inviso_cnode_flag.
 */
int inviso_cnode_start(struct inviso_cnode *c, long label, unsigned flags);

/*
 * Copies the token to *token and returns 1, or returns 0 if there is no token.
 */
int inviso_cnode_get_token(const struct inviso_cnode *c, erlang_trace *token);

/*
 * Sets a token that inviso_cnode_get_token has returned for this or another
 * handle. In the trace, the cause of the next messages that the handle sends is
 * then the message with which this token came. If `token' is NULL, removes the
 * handle's token, as seq_trace:set_token([]) does. The counter for serials
 * never decreases, so that no serial is used twice.
 *
 * Returns -1, and sets errno to EINVAL, if the label is out of range.
 */
int inviso_cnode_set_token(struct inviso_cnode *c, const erlang_trace *token);

/* --- print ---------------------------------------------------------------- */

/*
 * Records a term, as seq_trace:print/1 does; buf is as for inviso_cnode_send.
 * inviso_cnode_print_label is seq_trace:print/2: it records only if the token
 * has this label. Both functions return 1 if the term was recorded, and -1 on
 * failure. They return 0 if nothing is to be recorded: the handle is NULL or
 * has no token, or the token does not have the flag print or, for
 * inviso_cnode_print_label, has another label.
 */
int inviso_cnode_print(struct inviso_cnode *c, const char *buf, int len);
int inviso_cnode_print_label(struct inviso_cnode *c, long label,
			     const char *buf, int len);

/* --- the log -------------------------------------------------------------- */

/*
 * Makes the handle collect up to `bytes' of events in memory, at most
 * INVISO_CNODE_BUFFER_MAX, and write them together. This makes the log smaller
 * and the program faster. inviso_cnode_receive_msg writes the events before it
 * waits; inviso_cnode_flush and inviso_cnode_close write them, too. If the
 * program is killed, the events in memory are lost. Default 0: each event is
 * written at once.
 */
#define INVISO_CNODE_BUFFER_MAX 32768
void inviso_cnode_set_buffer(struct inviso_cnode *c, size_t bytes);

/*
 * Writes the events that are in memory. Returns 0, or -1 if this fails: then
 * the events are lost, and errno says why.
 */
int inviso_cnode_flush(struct inviso_cnode *c);

/*
 * When the log has this many bytes, further events are not written, but counted
 * as lost. 0 means no limit. The default is 1 GiB.
 */
void inviso_cnode_set_max_bytes(struct inviso_cnode *c, uint64_t bytes);

struct inviso_cnode_info {
	uint64_t recorded; /* events that are in the log, or in memory */
	uint64_t lost;	   /* events that were lost */
	uint64_t bytes;	   /* size of the log */
};
void inviso_cnode_info(const struct inviso_cnode *c,
		       struct inviso_cnode_info *info);

#ifdef __cplusplus
}
#endif

#endif
