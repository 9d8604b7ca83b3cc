/* SPDX-License-Identifier: Apache-2.0 */
#include "node/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int64_t inv_net_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

struct timespec inv_net_timespec(int64_t ms)
{
	struct timespec ts;

	ts.tv_sec = ms / 1000;
	ts.tv_nsec = ms % 1000 * 1000000;
	return ts;
}

int inv_net_wait(int fd, short events, const struct inv_patience *p)
{
	for (;;) {
		struct pollfd fds[2] = { { fd, events, 0 },
					 { p->cancel, POLLIN, 0 } };
		int64_t left = p->until - inv_net_now();
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

int inv_net_connect(const struct in_addr *to, uint16_t port,
		    const struct inv_patience *p, int *fd, int *sys)
{
	struct sockaddr_in sin = { 0 };
	int on = 1;
	int r = 0;
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*fd = -1;
	*sys = errno;
	if (s < 0)
		return INV_EIO;
	sin.sin_family = AF_INET;
	sin.sin_addr = *to;
	sin.sin_port = htons(port);
	(void)setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	*sys = 0;
	// NOLINTNEXTLINE(clang-diagnostic-cast-align)
	if (connect(s, (struct sockaddr *)&sin, sizeof(sin)) < 0) {
		*sys = errno;
		r = errno == EINPROGRESS ? wait_connected(s, p, sys) : INV_EIO;
	}
	if (r < 0) {
		close(s);
		return r;
	}
	*fd = s;
	return 0;
}

int inv_net_write(int fd, const void *bytes, size_t n,
		  const struct inv_patience *p, int *sys)
{
	const char *at = bytes;

	while (n > 0) {
		ssize_t w = send(fd, at, n, MSG_NOSIGNAL);

		if (w > 0) {
			at += w;
			n -= (size_t)w;
		} else if (w < 0 && errno == EAGAIN) {
			int r = inv_net_wait(fd, POLLOUT, p);

			if (r < 0)
				return r;
		} else if (w < 0 && errno != EINTR) {
			*sys = errno;
			return INV_EIO;
		}
	}
	return 0;
}

int inv_net_read_some(int fd, void *bytes, size_t n, size_t *got,
		      const struct inv_patience *p, int *sys)
{
	for (;;) {
		ssize_t r = recv(fd, bytes, n, 0);

		if (r >= 0) {
			*got = (size_t)r;
			return 0;
		}
		if (errno == EAGAIN) {
			int w = inv_net_wait(fd, POLLIN, p);

			if (w < 0)
				return w;
		} else if (errno != EINTR) {
			*sys = errno;
			return INV_EIO;
		}
	}
}

int inv_net_read(int fd, void *bytes, size_t n, const struct inv_patience *p,
		 int *sys)
{
	char *at = bytes;

	while (n > 0) {
		size_t got;
		int r = inv_net_read_some(fd, at, n, &got, p, sys);

		if (r < 0)
			return r;
		if (got == 0)
			return INV_ETRUNCATED;
		at += got;
		n -= got;
	}
	return 0;
}
