/* SPDX-License-Identifier: Apache-2.0 */
#include "spool/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define LOOK_NS 1000000000u

uint64_t inv_process_start(int32_t pid)
{
	char path[64], buf[1024], *p;
	ssize_t n;
	int fd, field;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	buf[n] = 0;
	/* The second field is the program's name in parentheses. The name can
	 * contain spaces and parentheses, so find the last closing
	 * parenthesis. */
	p = strrchr(buf, ')');
	if (!p || p[1] != ' ' || p[2] == 'Z' || p[2] == 'X')
		return 0;
	for (field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	return p ? strtoull(p, NULL, 10) : 0;
}

uint64_t inv_process_ns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

static void look(struct inv_vm_watch *w)
{
	uint64_t start = inv_process_start(w->pid);

	w->looked_ns = inv_mono_ns();
	if (start == 0) /* the process does not exist, is a zombie, or its /proc
			   entry is hidden */
		w->dead = kill(w->pid, 0) < 0 && errno == ESRCH;
	else
		w->dead = w->start != 0 && start != w->start;
}

void inv_vm_watch_open(struct inv_vm_watch *w, int32_t pid, uint64_t start)
{
	*w = (struct inv_vm_watch){ .pidfd = -1, .pid = pid, .start = start };
	if (pid <= 0) {
		w->dead = true;
		return;
	}
	/*
	 * Open the descriptor before comparing the start time: the descriptor
	 * always means the same process, even if the pid is reused later.
	 */
	w->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (w->pidfd < 0 && errno == ESRCH)
		w->dead = true;
	else
		look(w);
}

bool inv_vm_watch_is_dead(struct inv_vm_watch *w)
{
	struct pollfd p = { .fd = w->pidfd, .events = POLLIN };

	if (w->dead)
		return true;
	if (w->pidfd >= 0)
		w->dead = poll(&p, 1, 0) > 0 && p.revents != 0;
	else if (inv_mono_ns() - w->looked_ns >= LOOK_NS)
		look(w);
	return w->dead;
}

void inv_vm_watch_close(struct inv_vm_watch *w)
{
	if (w->pidfd >= 0)
		close(w->pidfd);
	w->pidfd = -1;
}
