/* SPDX-License-Identifier: Apache-2.0 */
#include "cnode/message.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/clock.h"

/* The bytes before the control tuple: the length and the type of a message. */
#define FRAME 5

/* The control tuple has at most three names of nodes or processes, of at most
 * 1020 bytes each, and small terms. */
#define CONTROL_MAX (FRAME + 3 * MAXATOMLEN_UTF8 + 256)

/*
 * Encodes the control tuple after FRAME bytes:
 *	{SEND, '', To}, {SEND_TT, '', To, Token}
 *	{REG_SEND, From, '', Name}, {REG_SEND_TT, From, '', Name, Token}
 * Returns its end, or -1.
 */
static int encode(const struct inv_cnode_message *m, char *w)
{
	bool named = m->to == NULL;
	int kind = named ? (m->token ? ERL_REG_SEND_TT : ERL_REG_SEND) :
			   (m->token ? ERL_SEND_TT : ERL_SEND);
	int at = FRAME;

	if (ei_encode_version(w, &at) ||
	    ei_encode_tuple_header(w, &at, 3 + named + (m->token != NULL)) ||
	    ei_encode_long(w, &at, kind) ||
	    (named && ei_encode_pid(w, &at, m->from)) ||
	    ei_encode_atom_as(w, &at, "", ERLANG_UTF8, ERLANG_UTF8))
		return -1;
	if (named ? ei_encode_atom_as(w, &at, m->name, ERLANG_UTF8,
				      ERLANG_UTF8) :
		    ei_encode_pid(w, &at, m->to))
		return -1;
	if (m->token && ei_encode_trace(w, &at, m->token))
		return -1;
	return at;
}

static void put_frame(char *w, uint32_t len)
{
	w[0] = (char)(len >> 24);
	w[1] = (char)(len >> 16);
	w[2] = (char)(len >> 8);
	w[3] = (char)len;
	w[4] = ERL_PASS_THROUGH;
}

/* Waits until fd can be written. Returns 0 or an errno. */
static int wait_writable(int fd, bool timed, int64_t end_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int64_t left = timed ? end_ms - inv_mono_ms() : -1;
	int n;

	if (timed && left <= 0)
		return ETIMEDOUT;
	n = poll(&p, 1, left > INT_MAX ? INT_MAX : (int)left);
	return n < 0 && errno != EINTR ? errno : 0;
}

/* Writes to a socket, which can be blocking or not. */
static int write_socket(int fd, struct iovec *v, int n, unsigned ms)
{
	int64_t end = inv_mono_ms() + ms;
	int r;

	while (n > 0) {
		struct msghdr h = { .msg_iov = v, .msg_iovlen = (size_t)n };
		ssize_t done = sendmsg(fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (done < 0 && errno == EAGAIN) {
			r = wait_writable(fd, ms > 0, end);
			if (r)
				return r;
			continue;
		}
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno;
		for (; n > 0 && (size_t)done >= v->iov_len; v++, n--)
			done -= (ssize_t)v->iov_len;
		if (n > 0) {
			v->iov_base = (char *)v->iov_base + done;
			v->iov_len -= (size_t)done;
		}
	}
	return 0;
}

static int write_with(inv_cnode_write *write, void *arg, int fd,
		      const struct iovec *v, unsigned ms)
{
	int64_t end = inv_mono_ms() + ms;
	int64_t left;
	int r = write(arg, fd, v[0].iov_base, v[0].iov_len, ms);

	if (r)
		return r;
	left = end - inv_mono_ms();
	if (ms > 0 && left <= 0)
		return ETIMEDOUT;
	return write(arg, fd, v[1].iov_base, v[1].iov_len,
		     ms > 0 ? (unsigned)left : 0);
}

static bool is_valid(const struct inv_cnode_message *m)
{
	return m->term && m->len > 0 &&
	       (m->to || (m->name && strlen(m->name) < MAXATOMLEN_UTF8));
}

int inv_cnode_message_send(const struct inv_cnode_message *m, int fd,
			   unsigned ms, inv_cnode_write *write, void *arg)
{
	char control[CONTROL_MAX];
	struct iovec v[2];
	int n;

	if (!is_valid(m))
		return EINVAL;
	n = encode(m, control);
	if (n < 0 || m->len > INT_MAX - n)
		return EINVAL;
	put_frame(control, (uint32_t)(n - 4) + (uint32_t)m->len);
	v[0] = (struct iovec){ control, (size_t)n };
	v[1].iov_base = (void *)(uintptr_t)m->term;
	v[1].iov_len = (size_t)m->len;
	if (write)
		return write_with(write, arg, fd, v, ms);
	return write_socket(fd, v, 2, ms);
}
