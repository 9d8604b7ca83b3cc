/* SPDX-License-Identifier: Apache-2.0 */
#include "node/net.h"

#include "base/clock.h"
#include "node/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int inv_net_wait(int fd, short events, const struct inv_patience *p)
{
	for (;;) {
		struct pollfd fds[2] = { { fd, events, 0 },
					 { p->cancel, POLLIN, 0 } };
		int64_t left = p->until - inv_mono_ms();
		int n = poll(fds, 2, left < 0 ? 0 : (int)left);

		if (n < 0 && errno != EINTR)
			return INV_ETIME;
		if (n > 0 && fds[1].revents)
			return INV_ELOST;
		if (n > 0 && fds[0].revents)
			return 0;
		if (left <= 0)
			return INV_ETIME;
	}
}

static int wait_connected(int fd, const struct inv_patience *p, int *sys)
{
	socklen_t len = sizeof(*sys);
	int r = inv_net_wait(fd, POLLOUT, p);

	if (r < 0)
		return r;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, sys, &len) < 0)
		*sys = errno;
	return *sys ? INV_EIO : 0;
}

struct inv_addr inv_addr_loopback(int family)
{
	struct inv_addr a = { 0 };

	a.sock.any.sa_family = (sa_family_t)family;
	if (family == AF_INET6) {
		a.len = sizeof(a.sock.v6);
		a.sock.v6.sin6_addr = in6addr_loopback;
	} else {
		a.len = sizeof(a.sock.v4);
		a.sock.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
	return a;
}

static void set_port(struct inv_addr *a, uint16_t port)
{
	if (a->sock.any.sa_family == AF_INET6)
		a->sock.v6.sin6_port = htons(port);
	else
		a->sock.v4.sin_port = htons(port);
}

void inv_addr_text(const struct inv_addr *a, char *text, size_t size)
{
	int family = a->sock.any.sa_family;
	const void *bytes = family == AF_INET6 ?
				    (const void *)&a->sock.v6.sin6_addr :
				    (const void *)&a->sock.v4.sin_addr;

	if (!inet_ntop(family, bytes, text, (socklen_t)size))
		snprintf(text, size, "?");
}

/* Connects a datagram socket, which sends nothing: the kernel only looks up the
 * route. */
int inv_addr_ours(const struct inv_addr *to, char *text, size_t size)
{
	struct inv_addr a = *to;
	int s = socket(a.sock.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r = 0;

	if (s < 0)
		return INV_EIO;
	set_port(&a, 1);
	if (connect(s, &a.sock.any, a.len) < 0 ||
	    getsockname(s, &a.sock.any, &a.len) < 0)
		r = INV_EIO;
	else
		inv_addr_text(&a, text, size);
	close(s);
	return r;
}

int inv_wire_open(struct inv_wire *w, const struct inv_addr *to, uint16_t port,
		  const struct inv_patience *p, int *sys)
{
	struct inv_addr a = *to;
	int on = 1;
	int r = 0;
	int s = socket(a.sock.any.sa_family,
		       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*w = (struct inv_wire){ .fd = -1 };
	*sys = errno;
	if (s < 0)
		return INV_EIO;
	set_port(&a, port);
	(void)setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	*sys = 0;
	if (connect(s, &a.sock.any, a.len) < 0) {
		*sys = errno;
		r = errno == EINPROGRESS ? wait_connected(s, p, sys) : INV_EIO;
	}
	if (r < 0) {
		close(s);
		return r;
	}
	w->fd = s;
	return 0;
}

int inv_wire_open_any(struct inv_wire *w, const struct inv_addr *to, size_t n,
		      size_t *at, uint16_t port, const struct inv_patience *p,
		      int *sys)
{
	int r = INV_EIO;

	*w = (struct inv_wire){ .fd = -1 };
	*sys = EHOSTUNREACH;
	for (*at = 0; *at < n; ++*at) {
		struct inv_patience share = *p;
		int64_t now = inv_mono_ms();

		share.until = now + (p->until - now) / (int64_t)(n - *at);
		r = inv_wire_open(w, &to[*at], port, &share, sys);
		if (r != INV_EIO && r != INV_ETIME)
			break;
	}
	return r;
}

/*
 * Like inv_net_wait, but with TLS returns INV_ETIME if the deadline has passed,
 * even if the socket is ready: a node could send TLS messages without data
 * forever.
 */
static int wait_again(const struct inv_wire *w, short events,
		      const struct inv_patience *p)
{
	int r = inv_net_wait(w->fd, events, p);

	return r == 0 && w->tls && inv_mono_ms() > p->until ? INV_ETIME : r;
}

int inv_wire_secure(struct inv_wire *w, struct inv_tls *tls, const char *host,
		    const struct inv_patience *p, struct inv_err *err)
{
	short events = 0;
	int r;

	w->tls = inv_tls_link_new(tls, w->fd, host, err);
	if (!w->tls)
		return err ? err->code : INV_ENOMEM;
	while ((r = inv_tls_shake(w->tls, &events, err)) == INV_END) {
		r = wait_again(w, events, p);
		if (r < 0)
			return inv_err_set(
				err, r,
				r == INV_ELOST ?
					"cancelled" :
					"the node does not answer in TLS in "
					"time: if its distribution does not "
					"use TLS, leave out the options "
					"--tls-..., or name it with --plain");
	}
	return r;
}

void inv_wire_peer(const struct inv_wire *w, char *text, size_t size)
{
	struct inv_addr a = { .len = sizeof(a.sock) };

	snprintf(text, size, "?");
	if (getpeername(w->fd, &a.sock.any, &a.len) == 0)
		inv_addr_text(&a, text, size);
}

bool inv_wire_why(const struct inv_wire *w, struct inv_err *err)
{
	return w->tls && inv_tls_why(w->tls, err);
}

bool inv_wire_has_bytes(const struct inv_wire *w)
{
	return w->tls && inv_tls_has_bytes(w->tls);
}

static int done(ssize_t r, size_t *n, int *sys)
{
	if (r < 0) {
		*sys = errno;
		return errno == EAGAIN ? INV_END : INV_EIO;
	}
	*n = (size_t)r;
	return 0;
}

int inv_wire_send(struct inv_wire *w, const void *bytes, size_t *n, int *sys)
{
	ssize_t r;

	if (w->tls)
		return inv_tls_send(w->tls, bytes, n, sys);
	do
		r = send(w->fd, bytes, *n, MSG_NOSIGNAL);
	while (r < 0 && errno == EINTR);
	return done(r, n, sys);
}

int inv_wire_recv(struct inv_wire *w, void *bytes, size_t *n, int *sys)
{
	ssize_t r;

	if (w->tls)
		return inv_tls_recv(w->tls, bytes, n, sys);
	do
		r = recv(w->fd, bytes, *n, 0);
	while (r < 0 && errno == EINTR);
	return done(r, n, sys);
}

int inv_wire_write(struct inv_wire *w, const void *bytes, size_t n,
		   const struct inv_patience *p, int *sys)
{
	const char *at = bytes;
	int r = 0;

	while (n > 0 && r == 0) {
		size_t sent = n;

		r = inv_wire_send(w, at, &sent, sys);
		if (r == 0) {
			at += sent;
			n -= sent;
		} else if (r == INV_END) {
			r = inv_net_wait(w->fd, POLLOUT, p);
		}
	}
	return r;
}

int inv_wire_read_some(struct inv_wire *w, void *bytes, size_t n, size_t *got,
		       const struct inv_patience *p, int *sys)
{
	int r;

	do {
		*got = n;
		r = inv_wire_recv(w, bytes, got, sys);
		if (r != INV_END)
			return r;
		r = wait_again(w, POLLIN, p);
	} while (r == 0);
	return r;
}

int inv_wire_read(struct inv_wire *w, void *bytes, size_t n,
		  const struct inv_patience *p, int *sys)
{
	char *at = bytes;

	while (n > 0) {
		size_t got;
		int r = inv_wire_read_some(w, at, n, &got, p, sys);

		if (r < 0)
			return r;
		if (got == 0)
			return INV_ETRUNCATED;
		at += got;
		n -= got;
	}
	return 0;
}

void inv_wire_finish(struct inv_wire *w)
{
	if (w->tls)
		inv_tls_finish(w->tls);
	(void)shutdown(w->fd, SHUT_WR);
}

void inv_wire_close(struct inv_wire *w)
{
	inv_tls_link_free(w->tls);
	w->tls = NULL;
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}
