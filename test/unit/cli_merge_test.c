/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of `inviso merge', on logs that the tests write. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/log_build.h"

#define MEMORY ((rlim_t)96 * 1024 * 1024)
#define LOG_SIZE ((uint64_t)320 * 1024 * 1024)
#define STREAMS 2u
#define EVENTS 64u /* in each packet */
#define TERM 4000u /* bytes in the argument of each call */

static char dir[] = "/tmp/inviso-merge-XXXXXX";
static char path[64];
static char output[64];

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/the.log", dir);
	snprintf(output, sizeof(output), "%s/output", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	unlink(output);
	return rmdir(dir);
}

/* Adds the call m:f(<<...>>). */
static void big_event(struct build *b, uint64_t ns)
{
	uint8_t terms[TERM + 16] = {
		INV_T_DICT_SMALL + 0, INV_T_TUPLE_SMALL + 3,
		INV_T_DICT_SMALL + 1, INV_T_DICT_SMALL + 2,
		INV_T_LIST,	      INV_T_BINARY
	};
	uint8_t *p = inv_varint_put(terms + 6, TERM);

	memset(p, 'x', TERM);
	p[TERM] = INV_T_END;
	build_record(b, ns, INV_TAG_CALL, INV_TS_TIMESTAMP << INV_EV_TS_SHIFT,
		     terms, (size_t)(p - terms) + TERM + 1);
}

static void put(int fd, const void *p, size_t n)
{
	assert_int_equal(write(fd, p, n), n);
}

/* In b->file a packet begins at `start'. Writes copies of it, until the log has
 * LOG_SIZE bytes. The copies belong to the streams in turn, and have their own
 * numbers and times. Returns the number of events in all copies. */
static uint64_t repeat_packet(struct build *b, size_t start, int fd)
{
	uint8_t *at = b->file.data + start;
	size_t size = b->file.len - start;
	struct inv_log_packet h;
	uint64_t i;

	memcpy(&h, at, sizeof(h));
	for (i = 0; i * size < LOG_SIZE; i++) {
		h.stream = (uint32_t)(i % STREAMS);
		h.seq = i / STREAMS + 1;
		h.first_event = i / STREAMS * EVENTS;
		h.begin_ns = 1000000 * i;
		h.end_ns = 1000000 * i + EVENTS;
		h.head_sum =
			XXH64(&h, offsetof(struct inv_log_packet, head_sum), 0);
		memcpy(at, &h, sizeof(h));
		put(fd, at, size);
	}
	return i * EVENTS;
}

static int open_log(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static uint64_t write_large_log(void)
{
	struct build b = { 0 };
	int fd = open_log();
	uint64_t n_events;
	size_t start;

	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	put(fd, b.file.data, b.file.len);
	start = b.file.len;
	build_begin(&b, 0, 0);
	for (unsigned i = 0; i < EVENTS; i++)
		big_event(&b, i);
	build_end(&b);
	n_events = repeat_packet(&b, start, fd);
	close(fd);
	build_release(&b);
	return n_events;
}

/* Runs `inviso merge' with the arguments and the log, and limits its memory.
 * Writes its output to the file `output', and returns its exit status. The
 * program is the one that was built without a sanitizer, because the shadow
 * memory of a sanitizer would exceed the limit. */
static int merge(const char *a, const char *b, rlim_t memory)
{
	const struct rlimit limit = { memory, memory };
	const char *root = getenv("INVISO_ROOT"); // NOLINT: one thread
	char program[4096];
	int status;
	pid_t pid;

	snprintf(program, sizeof(program), "%s/priv/inviso", root ? root : ".");
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 ||
		    setrlimit(RLIMIT_AS, &limit))
			_exit(100);
		execl(program, "inviso", "merge", "--quiet", "--utc", a, b,
		      path, (char *)NULL);
		_exit(101);
	}
	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void read_output(char *text, size_t size)
{
	FILE *f = fopen(output, "re");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, size - 1, f);
	text[n] = 0;
	fclose(f);
}

static void a_log_larger_than_the_memory_is_read(void **state)
{
	uint64_t n_events;
	char expected[128];
	char text[8192];

	(void)state;
	n_events = write_large_log();
	/* 100000063 ns is the time of the last event in a packet: the packet
	 * that begins at 100000000 ns. */
	assert_int_equal(merge("--from=0.100000063", "--to=0.100001", MEMORY),
			 0);
	read_output(text, sizeof(text));
	assert_non_null(strstr(text, " call m:f("));
	snprintf(expected, sizeof(expected),
		 "-- %" PRIu64 " events recorded, 0 lost; 1 shown", n_events);
	assert_non_null(strstr(text, expected));
	assert_int_equal(merge("--tag=send", "--summary=none", MEMORY), 5);
	read_output(text, sizeof(text));
	snprintf(expected, sizeof(expected),
		 "nothing matched: of %" PRIu64 " event(s)", n_events);
	assert_non_null(strstr(text, expected));
}

/* --- calls and the range of time -------------------------------------------- */

/* Adds the end of m:f/1. */
static void build_return(struct build *b, uint64_t ns)
{
	const uint8_t terms[] = { INV_T_DICT_SMALL + 0,
				  INV_T_TUPLE_SMALL + 3,
				  INV_T_DICT_SMALL + 1,
				  INV_T_DICT_SMALL + 2,
				  1,
				  7 };

	build_record(b, ns, INV_TAG_RETURN_FROM,
		     (INV_TS_TIMESTAMP << INV_EV_TS_SHIFT) | INV_EV_EXTRA,
		     terms, sizeof(terms));
}

/* A process moves between two threads, so its events are in two streams. It
 * calls m:f/1 at 6, 9 and 20 ns, and the calls return at 8, 13 and 25 ns. The
 * return at 8 ns and the call at 9 ns are in a packet that ends before 10 ns. */
static void write_calls(void)
{
	struct build b = { 0 };
	int fd = open_log();

	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	build_begin(&b, 0, 6);
	build_event(&b, 6, 1);
	build_return(&b, 13);
	build_event(&b, 20, 3);
	build_return(&b, 25);
	build_end(&b);
	build_begin(&b, 1, 8);
	build_return(&b, 8);
	build_event(&b, 9, 2);
	build_end(&b);
	build_totals(&b, INV_END_CLOSED);
	put(fd, b.file.data, b.file.len);
	close(fd);
	build_release(&b);
}

static unsigned count(const char *text, const char *part)
{
	unsigned n = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		n++;
	}
	return n;
}

static void a_call_before_the_range_has_no_known_start(void **state)
{
	char text[8192];

	(void)state;
	write_calls();
	assert_int_equal(merge("--json", "--from=0", RLIM_INFINITY), 0);
	read_output(text, sizeof(text));
	assert_int_equal(count(text, "\"call\""), 3);
	assert_int_equal(count(text, "\"return_from\""), 3);
	assert_non_null(strstr(text, "\"duration_ns\":2,"));
	assert_non_null(strstr(text, "\"duration_ns\":4,"));
	assert_non_null(strstr(text, "\"duration_ns\":5,"));
	/* The range begins at 10 ns. The return at 13 ns ends the call at 9 ns,
	 * which is in a packet that was not read. The call at 6 ns was read,
	 * but the return must not be paired with it. */
	assert_int_equal(merge("--json", "--from=0.000000010", RLIM_INFINITY),
			 0);
	read_output(text, sizeof(text));
	assert_int_equal(count(text, "\"call\""), 1);
	assert_int_equal(count(text, "\"return_from\""), 2);
	assert_int_equal(count(text, "duration_ns"), 1);
	assert_non_null(strstr(text, "\"duration_ns\":5,"));
}

/* A packet of notes is read even if it is before the range. So the process has
 * the name m. */
static void a_name_that_was_noted_before_the_range_is_known(void **state)
{
	const uint8_t note[] = {
		6, /* bytes after this one */
		INV_HEAD_NOTE,
		0, /* ns after the start of the packet */
		INV_NOTE_NAME,
		INV_T_DICT_SMALL + 0,
		INV_NAME_REGISTERED,
		INV_T_DICT_SMALL + 1,
	};
	struct build b = { 0 };
	int fd = open_log();
	char text[8192];

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	build_begin(&b, 0, 1);
	inv_buf_put(&b.body, note, sizeof(note));
	build_end(&b);
	build_begin(&b, 0, 10);
	build_event(&b, 10, 1);
	build_end(&b);
	build_totals(&b, INV_END_CLOSED);
	put(fd, b.file.data, b.file.len);
	close(fd);
	build_release(&b);
	assert_int_equal(merge("--json", "--from=0.000000010", RLIM_INFINITY),
			 0);
	read_output(text, sizeof(text));
	assert_non_null(strstr(text, "\"name\":\"m\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_larger_than_the_memory_is_read),
		cmocka_unit_test(a_call_before_the_range_has_no_known_start),
		cmocka_unit_test(
			a_name_that_was_noted_before_the_range_is_known),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
