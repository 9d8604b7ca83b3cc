/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A number of bytes: more than fit into the pipe and the screen's buffer. */
#define PLENTY 10000000

/* A pipe, which is standard output and standard error of the process that run()
 * starts. */
static int ends[2];

/*
 * Runs `play' in a separate process whose standard output and error are a pipe.
 * The function `play' may read this pipe from ends[0]. Returns the exit status.
 */
static int run(int (*play)(struct inv_screen *s), bool status_line)
{
	struct inv_screen *s;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		signal(SIGPIPE, SIG_IGN);
		alarm(60);
		if (pipe(ends) || dup2(ends[1], STDOUT_FILENO) < 0 ||
		    dup2(ends[1], STDERR_FILENO) < 0 ||
		    inv_screen_open(&s, "me", status_line))
			_exit(99);
		_exit(play(s));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

/* Returns true if the next output is `text'. */
static bool comes(const char *text)
{
	for (; *text; text++) {
		char c;

		if (read(ends[0], &c, 1) != 1 || c != *text)
			return false;
	}
	return true;
}

/* Returns true if the pipe has no more output. The screen must be closed. */
static bool nothing_comes(void)
{
	struct pollfd p = { .fd = ends[0], .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static int play_in_order(struct inv_screen *s)
{
	char line[32];

	for (int i = 0; i < 100; i++) {
		snprintf(line, sizeof(line), "%d\n", i);
		inv_screen_out(s, line, strlen(line));
		if (i % 10 == 0)
			inv_screen_note(s, "note %d", i);
	}
	inv_screen_close(s);
	for (int i = 0; i < 100; i++) {
		snprintf(line, sizeof(line), "%d\n", i);
		if (!comes(line))
			return 1;
		snprintf(line, sizeof(line), "me: note %d\n", i);
		if (i % 10 == 0 && !comes(line))
			return 2;
	}
	return nothing_comes() ? 0 : 3;
}

static void output_and_notes_come_in_their_order(void **state)
{
	(void)state;
	assert_int_equal(run(play_in_order, false), 0);
}

static int play_status(struct inv_screen *s)
{
	inv_screen_status(s, "12 events");
	if (!comes("\r12 events\033[K"))
		return 1;
	inv_screen_out(s, "line\n", 5);
	if (!comes("\r\033[Kline\n\r12 events\033[K"))
		return 2;
	inv_screen_close(s);
	return comes("\r\033[K") && nothing_comes() ? 0 : 3;
}

static void the_status_line_makes_room_for_output_and_comes_back(void **state)
{
	(void)state;
	assert_int_equal(run(play_status, true), 0);
}

static int play_no_status(struct inv_screen *s)
{
	inv_screen_status(s, "12 events");
	inv_screen_out(s, "line\n", 5);
	inv_screen_close(s);
	return comes("line\n") && nothing_comes() ? 0 : 1;
}

static void without_a_status_line_there_is_none(void **state)
{
	(void)state;
	assert_int_equal(run(play_no_status, false), 0);
}

/* Writes only as many bytes as inv_screen_room permits, so that writing never
 * blocks. */
static int play_held(struct inv_screen *s)
{
	static char bytes[4096];
	size_t given = 0;

	memset(bytes, 'x', sizeof(bytes));
	while (inv_screen_room(s) >= sizeof(bytes)) {
		inv_screen_out(s, bytes, sizeof(bytes));
		given += sizeof(bytes);
		if (given > PLENTY)
			return 1;
	}
	inv_screen_note(s, "is taken all the same");
	return 0;
}

static void a_slow_reader_does_not_block_the_caller(void **state)
{
	(void)state;
	assert_int_equal(run(play_held, false), 0);
}

/* No process reads the pipe, so the thread blocks in write(). */
static int play_limited(struct inv_screen *s)
{
	static char bytes[1000000];

	if (!inv_screen_drain(s, 0))
		return 1;
	inv_screen_limit(s, 100);
	inv_screen_out(s, bytes, sizeof(bytes));
	inv_screen_note(s, "is dropped");
	if (inv_screen_drain(s, 50))
		return 2;
	return inv_screen_close(s) ? 0 : 3;
}

static void a_limited_screen_closes_although_its_output_blocks(void **state)
{
	(void)state;
	assert_int_equal(run(play_limited, false), 0);
}

static int play_broken(struct inv_screen *s)
{
	int sys = 0;

	close(ends[0]);
	for (int i = 0; i < 500 && !inv_screen_broken(s, &sys); i++) {
		inv_screen_out(s, "line\n", 5);
		inv_screen_wait(s, -1);
	}
	inv_screen_out(s, "nobody reads\n", 13);
	return inv_screen_close(s) && sys == EPIPE ? 0 : 1;
}

static void a_closed_output_is_noticed(void **state)
{
	(void)state;
	assert_int_equal(run(play_broken, false), 0);
}

static void text_is_cut_at_a_character(void **state)
{
	(void)state;
	assert_int_equal(inv_screen_fit("abcdef", 6, 3), 3);
	assert_int_equal(inv_screen_fit("abc", 3, 80), 3);
	assert_int_equal(inv_screen_fit("\303\251t\303\251s", 6, 3), 5);
	assert_int_equal(inv_screen_fit("\303\251", 2, 0), 0);
}

static int play_full(struct inv_screen *s)
{
	int full = open("/dev/full", O_WRONLY);

	if (full < 0 || dup2(full, STDOUT_FILENO) < 0)
		return 1;
	inv_screen_out(s, "line\n", 5);
	if (inv_screen_close(s))
		return 2;
	return comes("me: standard output: No space left on device\n") ? 0 : 3;
}

static void an_output_error_is_reported(void **state)
{
	(void)state;
	assert_int_equal(run(play_full, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_and_notes_come_in_their_order),
		cmocka_unit_test(
			the_status_line_makes_room_for_output_and_comes_back),
		cmocka_unit_test(without_a_status_line_there_is_none),
		cmocka_unit_test(a_slow_reader_does_not_block_the_caller),
		cmocka_unit_test(
			a_limited_screen_closes_although_its_output_blocks),
		cmocka_unit_test(a_closed_output_is_noticed),
		cmocka_unit_test(an_output_error_is_reported),
		cmocka_unit_test(text_is_cut_at_a_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
