/* SPDX-License-Identifier: Apache-2.0 */
#include "spool/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "ring/layout.h"

static int lock(int fd, int wait_ms, struct inv_err *err)
{
	uint64_t end = inv_mono_ns() + (uint64_t)wait_ms * 1000000;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return inv_err_sys(err, errno, "flock");
		if (inv_mono_ns() >= end)
			return inv_err_set(err, INV_EBUSY,
					   "another spooler has the ring");
		inv_sleep_ms(5);
	}
	return 0;
}

/* Sets err to a message about the result r of inv_layout_check. */
static void refuse(int r, const struct inv_ring_ctl *ctl, struct inv_err *err)
{
	if (r == INV_EVERSION)
		inv_err_set(err, r,
			    "a ring of version %u, and this program reads only "
			    "version %u: use the release of inviso that "
			    "recorded it",
			    ctl->version, INV_RING_VERSION);
	else
		inv_err_set(err, r,
			    r == INV_EFORMAT ? "not a ring" :
					       "the ring's layout is damaged");
}

/* Locks and maps the memory. No other process may share the open file
 * description of fd, because the lock belongs to that description. */
static int map_ring(struct inv_attached *a, int fd, struct inv_err *err)
{
	struct stat st;
	void *map;
	int r;

	if (fstat(fd, &st) < 0)
		return inv_err_sys(err, errno, "fstat");
	if (st.st_size < (off_t)sizeof(struct inv_ring_ctl))
		return inv_err_set(err, INV_EFORMAT, "not a ring: too short");
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   fd, 0);
	if (map == MAP_FAILED)
		return inv_err_sys(err, errno, "mmap");
	r = inv_layout_check(map, (uint64_t)st.st_size);
	if (r < 0) {
		refuse(r, map, err);
		munmap(map, (size_t)st.st_size);
		return r;
	}
	a->fd = fd;
	a->len = (uint64_t)st.st_size;
	a->ctl = map;
	a->n_rings = a->ctl->n_rings;
	a->packet_bytes = a->ctl->packet_bytes;
	return 0;
}

static int attach(struct inv_attached *a, const char *path, int flags,
		  int wait_ms, struct inv_err *err)
{
	int fd, r;

	*a = (struct inv_attached){ .fd = -1 };
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | flags);
	if (fd < 0)
		return inv_err_sys(err, errno, "open %s", path);
	r = lock(fd, wait_ms, err);
	a->step = r == INV_EBUSY ? INV_ATTACH_TURN :
		  r < 0		 ? INV_ATTACH_LOCK :
				   INV_ATTACH_MAP;
	if (r == 0)
		r = map_ring(a, fd, err);
	if (r < 0) {
		close(fd);
		a->fd = -1;
		inv_err_ctx(err, "%s", path);
	}
	return r;
}

int inv_attach_proc(struct inv_attached *a, int pid, int n, int wait_ms,
		    struct inv_err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, n);
	return attach(a, path, 0, wait_ms, err);
}

int inv_attach_file(struct inv_attached *a, const char *path, int wait_ms,
		    struct inv_err *err)
{
	return attach(a, path, O_NOFOLLOW, wait_ms, err);
}

static int dial(const char *path, struct inv_err *err)
{
	struct timeval limit = { .tv_sec = 5 };
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(to);
	int s;

	if (strlen(path) >= sizeof(to.sun_path))
		return inv_err_set(err, INV_ETOOBIG, "%s: too long", path);
	memcpy(to.sun_path, path, strlen(path) + 1);
	if (path[0] == '@') { /* the name of an abstract socket, not a path */
		to.sun_path[0] = '\0';
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				  strlen(path));
	}
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return inv_err_sys(err, errno, "socket");
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(s, (struct sockaddr *)&to, len) < 0) {
		int sys = errno;

		close(s);
		return inv_err_sys(err, sys, "connect %s", path);
	}
	return s;
}

static int receive_fd(int s, struct inv_err *err)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	int fd;

	if (recvmsg(s, &m, MSG_CMSG_CLOEXEC) < 0)
		return inv_err_sys(err, errno, "recvmsg");
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(int)))
		return inv_err_set(err, INV_EFORMAT, "no descriptor came");
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

int inv_attach_socket(struct inv_attached *a, const char *path, int wait_ms,
		      struct inv_err *err)
{
	char own[64];
	int s, fd, r;

	*a = (struct inv_attached){ .fd = -1 };
	s = dial(path, err);
	if (s < 0)
		return s;
	fd = receive_fd(s, err);
	close(s);
	if (fd < 0)
		return inv_err_ctx(err, "%s", path);
	/*
	 * The received descriptor and the VM's descriptor share one open file
	 * description, so a lock on it would not end with this program. Open
	 * the memory again to get a separate open file description.
	 */
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	r = attach(a, own, 0, wait_ms, err);
	close(fd);
	return r;
}

bool inv_attach_is_file(const struct inv_attached *a)
{
	struct stat st;

	/* A memfd has no name. */
	return fstat(a->fd, &st) == 0 && st.st_nlink > 0;
}

void inv_attach_remove(const struct inv_attached *a)
{
	char own[64];
	char path[INV_PATH_LEN];
	struct stat mine, there;
	ssize_t n;

	if (!inv_attach_is_file(a) || fstat(a->fd, &mine) < 0)
		return;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", a->fd);
	n = readlink(own, path, sizeof(path) - 1);
	if (n <= 0)
		return;
	path[n] = '\0';
	if (lstat(path, &there) == 0 && there.st_dev == mine.st_dev &&
	    there.st_ino == mine.st_ino)
		unlink(path);
}

void inv_detach(struct inv_attached *a)
{
	if (a->fd < 0)
		return;
	munmap(a->ctl, a->len);
	close(a->fd);
	a->ctl = NULL;
	a->fd = -1;
}
