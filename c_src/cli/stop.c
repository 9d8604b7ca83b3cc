/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stop.h"

#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

int inv_stop_open(struct inv_stop *s)
{
	struct sigaction old;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		/* One that is ignored, but blocked, would come all the same. */
		if (!sigaction(signals[i], NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaddset(&set, signals[i]);
	}
	pthread_sigmask(SIG_BLOCK, &set, &s->before);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd >= 0)
		return 0;
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
	return INV_EIO;
}

void inv_stop_close(struct inv_stop *s)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}

bool inv_stop_take(struct inv_stop *s)
{
	struct signalfd_siginfo info;

	return read(s->fd, &info, sizeof(info)) == (ssize_t)sizeof(info);
}
