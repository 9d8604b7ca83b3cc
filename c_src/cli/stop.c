/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread receives SIGINT, SIGTERM and SIGHUP, and then makes an eventfd
 * readable. The command polls the eventfd to know when to stop.
 */
#include "cli/stop.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

#define SAME_WISH_NS INT64_C(500000000)

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

static void *listen_to(void *arg)
{
	const struct inv_stop *s = arg;
	struct pollfd fds[] = { { .fd = s->signals, .events = POLLIN },
				{ .fd = s->quit, .events = POLLIN } };
	struct signalfd_siginfo info;
	int64_t last = 0;

	for (;;) {
		int64_t now;

		poll(fds, 2, -1);
		if (fds[1].revents)
			return NULL;
		if (read(s->signals, &info, sizeof(info)) != sizeof(info))
			continue;
		now = (int64_t)inv_mono_ns();
		if (last && now - last < SAME_WISH_NS)
			continue;
		last = now;
		(void)eventfd_write(s->fd, 1);
	}
}

static void find_signals(sigset_t *set)
{
	struct sigaction old;

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		/* Signals that are ignored are left out of the set, because
		 * signalfd would report them. */
		if (!sigaction(signals[i], NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaddset(set, signals[i]);
	}
}

/* Starts the thread, with all signals blocked. */
static int begin(struct inv_stop *s)
{
	sigset_t all, mine;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mine);
	rc = pthread_create(&s->thread, NULL, listen_to, s);
	pthread_sigmask(SIG_SETMASK, &mine, NULL);
	return rc;
}

/* Descriptors that were not opened are negative; closing them does nothing. */
static void close_all(struct inv_stop *s)
{
	close(s->fd);
	close(s->signals);
	close(s->quit);
	s->fd = -1;
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}

int inv_stop_open(struct inv_stop *s)
{
	sigset_t set;
	int rc;

	find_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, &s->before);
	/* A semaphore: each read takes one of the counted requests. */
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->quit = eventfd(0, EFD_CLOEXEC);
	rc = s->fd < 0 || s->signals < 0 || s->quit < 0 ? errno : begin(s);
	if (!rc)
		return 0;
	close_all(s);
	errno = rc;
	return INV_EIO;
}

void inv_stop_close(struct inv_stop *s)
{
	if (s->fd < 0)
		return;
	(void)eventfd_write(s->quit, 1);
	pthread_join(s->thread, NULL);
	close_all(s);
}

bool inv_stop_take(struct inv_stop *s)
{
	eventfd_t n;

	return !eventfd_read(s->fd, &n);
}
