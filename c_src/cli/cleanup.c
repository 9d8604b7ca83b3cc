/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cleanup.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "cli/cmd.h"

static _Atomic(const char *) file;

static void on_signal(int sig)
{
	static const char cut[] = "inviso: an input was cut while it was "
				  "read\n";
	const char *path = atomic_load(&file);
	ssize_t n;

	if (path)
		unlink(path);
	if (sig == SIGBUS) {
		n = write(STDERR_FILENO, cut, sizeof(cut) - 1);
		(void)n;
		_exit(INV_EXIT_FAILED);
	}
	/* SA_RESETHAND: this one ends us, as whoever waits expects. */
	raise(sig);
}

void inv_cleanup_init(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGBUS };
	struct sigaction sa = { .sa_handler = on_signal,
				.sa_flags = (int)SA_RESETHAND };
	struct sigaction old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		/* nohup: ignored it was, ignored it stays. */
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
