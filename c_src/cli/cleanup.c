/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cleanup.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/remove.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
static _Atomic(const char *) file;
static sigset_t before; /* signal mask before inv_cleanup_hold */

static void remove_file(void)
{
	const char *path = atomic_load(&file);

	if (path)
		inv_remove(path);
}

static void on_signal(int sig)
{
	remove_file();
	/* SA_RESETHAND has restored the default action, so this signal ends the
	 * process. The parent process sees that a signal was the reason. */
	raise(sig);
}

void inv_cleanup_init(void)
{
	struct sigaction sa = { .sa_handler = on_signal,
				.sa_flags = (int)SA_RESETHAND };
	struct sigaction old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		/* Keep ignoring a signal that was ignored at the start
		 * (nohup). */
		if (!sigaction(signals[i], NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i], &sa, NULL);
	}
}

void inv_cleanup_file(const char *path)
{
	atomic_store(&file, path);
}

void inv_cleanup_hold(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
}

void inv_cleanup_let(void)
{
	sigprocmask(SIG_SETMASK, &before, NULL);
}
