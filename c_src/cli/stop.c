/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread takes the signals, so that whoever waits, in whatever room, has a
 * descriptor to look at that tells wishes, not signals.
 */
#include "cli/stop.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

#define SAME_WISH_NS INT64_C(500000000)

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

/* A descriptor that counts down one with each that is read. */
static void *listen_to(void *arg)
{
	const struct inv_stop *s = arg;
	int64_t last = 0;
	int sig;

	for (;;) {
		int64_t now;

		if (sigwait(&s->set, &sig))
			continue;
		now = (int64_t)inv_mono_ns();
		if (last && now - last < SAME_WISH_NS)
			continue;
		last = now;
		(void)eventfd_write(s->fd, 1);
	}
	return NULL;
}

static void find_signals(sigset_t *set)
{
	struct sigaction old;

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		/* One that is ignored, but blocked, would come all the same. */
		if (!sigaction(signals[i], NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaddset(set, signals[i]);
	}
}

static int begin(struct inv_stop *s)
{
	sigset_t all, mine;
	int rc;

	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	if (s->fd < 0)
		return errno;
	/* The thread takes no signals of others. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mine);
	rc = pthread_create(&s->thread, NULL, listen_to, s);
	pthread_sigmask(SIG_SETMASK, &mine, NULL);
	if (rc) {
		close(s->fd);
		s->fd = -1;
	}
	return rc;
}

int inv_stop_open(struct inv_stop *s)
{
	find_signals(&s->set);
	pthread_sigmask(SIG_BLOCK, &s->set, &s->before);
	errno = begin(s);
	if (!errno)
		return 0;
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
	return INV_EIO;
}

void inv_stop_close(struct inv_stop *s)
{
	if (s->fd < 0)
		return;
	/* sigwait is where it can be cancelled. */
	pthread_cancel(s->thread);
	pthread_join(s->thread, NULL);
	close(s->fd);
	s->fd = -1;
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}

bool inv_stop_take(struct inv_stop *s)
{
	eventfd_t n;

	return !eventfd_read(s->fd, &n);
}
