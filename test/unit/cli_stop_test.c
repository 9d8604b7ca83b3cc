/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stop.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static bool comes(const struct inv_stop *s, int ms)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };

	return poll(&fd, 1, ms) == 1;
}

/* timeout(1) sends a signal to the command, and then the same signal to the
 * command's process group. So the command gets the signal twice. */
static void two_signals_at_once_are_one_request(void **state)
{
	struct inv_stop s;
	sigset_t both, before;

	(void)state;
	sigemptyset(&both);
	sigaddset(&both, SIGINT);
	sigaddset(&both, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &both, &before);
	kill(getpid(), SIGINT);
	kill(getpid(), SIGTERM);
	assert_int_equal(inv_stop_open(&s), 0);
	assert_true(comes(&s, 60000));
	assert_true(inv_stop_take(&s));
	assert_false(comes(&s, 100));
	assert_false(inv_stop_take(&s));
	inv_stop_close(&s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void a_later_signal_is_another_request(void **state)
{
	const struct timespec later = { .tv_nsec = 700000000 };
	struct inv_stop s;

	(void)state;
	assert_int_equal(inv_stop_open(&s), 0);
	assert_false(inv_stop_take(&s));
	kill(getpid(), SIGHUP);
	assert_true(comes(&s, 60000));
	nanosleep(&later, NULL);
	kill(getpid(), SIGINT);
	nanosleep(&later, NULL);
	assert_true(comes(&s, 60000));
	assert_true(inv_stop_take(&s));
	assert_true(comes(&s, 60000));
	assert_true(inv_stop_take(&s));
	assert_false(inv_stop_take(&s));
	inv_stop_close(&s);
}

static void ignored_signals_stay_ignored(void **state)
{
	struct inv_stop s;

	(void)state;
	signal(SIGHUP, SIG_IGN);
	assert_int_equal(inv_stop_open(&s), 0);
	kill(getpid(), SIGHUP);
	assert_false(comes(&s, 100));
	inv_stop_close(&s);
	signal(SIGHUP, SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_signals_at_once_are_one_request),
		cmocka_unit_test(a_later_signal_is_another_request),
		cmocka_unit_test(ignored_signals_stay_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
