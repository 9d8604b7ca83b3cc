/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/fd_pass.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool inv_fd_pass_needed(void)
{
	return prctl(PR_GET_DUMPABLE) != 1;
}

/* Makes "@inviso-" and 32 random hexadecimal digits. */
static bool make_name(char name[INV_FD_PASS_NAME])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t random[16];
	char *p = name;
	unsigned i;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return false;
	memcpy(p, "@inviso-", 8);
	p += 8;
	for (i = 0; i < sizeof(random); i++) {
		*p++ = digits[random[i] >> 4];
		*p++ = digits[random[i] & 15];
	}
	*p = '\0';
	return true;
}

int inv_fd_pass_listen(char name[INV_FD_PASS_NAME])
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len;
	int error;
	int s;

	if (!make_name(name))
		return -1;
	/*
	 * The name is abstract: a NUL replaces its '@', and no NUL ends it; its
	 * end is given by the length.
	 */
	memcpy(at.sun_path + 1, name + 1, strlen(name) - 1);
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
			  strlen(name));
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0)
		return -1;
	if (bind(s, (struct sockaddr *)&at, len) == 0 && listen(s, 4) == 0)
		return s;
	error = errno;
	close(s);
	errno = error;
	return -1;
}

static bool is_ours(int s)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       peer.uid == geteuid();
}

static bool send_fd(int s, int fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = 0;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(s, &m, MSG_NOSIGNAL) == 1;
}

bool inv_fd_pass_give(int listener, int fd, int ms)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	bool sent;
	int s;

	if (poll(&p, 1, ms) != 1)
		return false;
	s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (s < 0)
		return false;
	sent = is_ours(s) && send_fd(s, fd);
	close(s);
	return sent;
}
