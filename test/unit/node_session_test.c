/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions on a real node, from the start to fetching their logs. */
#include "node/session.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "node/fetch.h"
#include "unit/node_fixture.h"

static struct cluster k;
static struct inv_err err;
static char tmp[] = "/tmp/inviso-session-XXXXXX";

static int set_up(void **state)
{
	int r = fixture_start(state);

	cluster_start(&k, "session", 2);
	cluster_attach(&k, NULL);
	return mkdtemp(tmp) ? r : -1;
}

static int tear_down(void **state)
{
	cluster_leave(&k);
	cluster_stop(&k);
	assert_int_equal(rmdir(tmp), 0);
	return stop_epmd(state);
}

static int64_t dead_man_ms = 60000;

static struct inv_session_opts opts_of(const char *name,
				       const char *const *spec, size_t at)
{
	static const char *const all[] = { "all" };
	struct inv_session_opts o;

	inv_session_opts_init(&o);
	o.name = name;
	o.owner = "the test";
	o.guard = &k.v[at].guard;
	o.specs = (struct inv_strings){ spec, 1 };
	o.procs = (struct inv_strings){ all, 1 };
	o.number[INV_OPT_LIMIT_MS] = 60000;
	o.number[INV_OPT_LIMIT_EVENTS] = 1000000;
	o.number[INV_OPT_DEAD_MAN_MS] = dead_man_ms;
	return o;
}

static int try_start(const struct inv_session_opts *o, size_t at,
		     struct inv_session *s)
{
	struct inv_status status;
	struct inv_ask ask;
	int r;

	inv_session_start_ask(&ask, k.v[at].conn, o, 0);
	assert_int_equal(inv_gather(k.in, &ask, 1, -1), 0);
	r = inv_session_start_got(&ask, s, &status, &err);
	if (r == 0) {
		assert_string_equal(status.name, o->name);
		inv_status_release(&status);
	}
	inv_asks_release(&ask, 1);
	return r;
}

static struct inv_status ask_status(const struct inv_session *s,
				    enum inv_session_verb verb)
{
	struct inv_status status;
	struct inv_ask ask;

	inv_session_ask(&ask, s, verb, 20000);
	assert_int_equal(inv_gather(k.in, &ask, 1, -1), 0);
	if (inv_session_status_got(&ask, &status, &err) < 0)
		fail_msg("%s", err.text);
	inv_asks_release(&ask, 1);
	return status;
}

static void ask_ok(const struct inv_session *s, enum inv_session_verb verb)
{
	struct inv_ask ask;

	inv_session_ask(&ask, s, verb, 20000);
	assert_int_equal(inv_gather(k.in, &ask, 1, -1), 0);
	if (inv_session_ok_got(&ask, &err) < 0)
		fail_msg("%s", err.text);
	inv_asks_release(&ask, 1);
}

static void await_tracing(const struct inv_session *s)
{
	struct inv_status status;
	unsigned tries = 3000;

	for (;;) {
		status = ask_status(s, INV_VERB_STATUS);
		if (!inv_status_is(&status, "arming") || !--tries)
			break;
		inv_status_release(&status);
		usleep(10000);
	}
	assert_string_equal(status.state, "tracing");
	inv_status_release(&status);
}

static struct inv_session start(const struct inv_session_opts *o, size_t at)
{
	struct inv_session s;

	if (try_start(o, at, &s) < 0)
		fail_msg("%s", err.text);
	await_tracing(&s);
	return s;
}

/* Makes n calls on node `at'. */
static void work(size_t at, unsigned n)
{
	struct inv_mail mail;

	while (n-- > 0) {
		assert_int_equal(call(k.v[at].conn, "lists", "seq", "[1,3]",
				      20000, &mail, &err),
				 0);
		inv_mail_release(&mail);
	}
}

static const char *const seq[] = { "lists:seq/2" };

/* --- sessions ------------------------------------------------------------- */

static void a_live_session_is_followed_to_its_end(void **state)
{
	struct inv_session_opts o = opts_of("live", seq, 0);
	struct inv_session s = start(&o, 0);
	struct inv_followed got;
	struct inv_status status;
	struct inv_ask ask;
	uint64_t offset = 0;
	bool stopped = false;

	(void)state;
	work(0, 20);
	do {
		inv_session_follow_ask(&ask, &s, offset, 1000, 20000);
		assert_int_equal(inv_gather(k.in, &ask, 1, -1), 0);
		if (inv_session_follow_got(&ask, &got, &status, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(got.len <= 1000);
		offset += got.len;
		inv_status_release(&status);
		inv_asks_release(&ask, 1);
		if (!stopped && got.watermark != INV_WATERMARK_NONE) {
			status = ask_status(&s, INV_VERB_STOP);
			assert_string_equal(status.why, "asked");
			assert_int_equal(status.produced,
					 status.recorded + status.dropped);
			inv_status_release(&status);
			stopped = true;
		}
	} while (got.watermark != INV_WATERMARK_EOF);
	status = ask_status(&s, INV_VERB_STATUS);
	assert_string_equal(status.state, "stopped");
	assert_int_equal(status.recorded, 2 * 20); /* calls and returns */
	assert_int_equal(status.log_bytes, offset);
	inv_status_release(&status);
	ask_ok(&s, INV_VERB_REMOVE);
}

static void a_session_is_found_by_its_name(void **state)
{
	struct inv_session_opts o = opts_of("found", seq, 0);
	struct inv_session s = start(&o, 0);
	struct inv_session found;
	struct inv_ask asks[2];

	(void)state;
	ask_ok(&s, INV_VERB_ALIVE);
	inv_session_find_ask(&asks[0], k.v[0].conn, "found", 0);
	inv_session_find_ask(&asks[1], k.v[0].conn, "not found", 0);
	assert_int_equal(inv_gather(k.in, asks, 2, -1), 0);
	assert_int_equal(inv_session_find_got(&asks[0], &found, &err), 0);
	assert_int_equal(found.pid.num, s.pid.num);
	assert_int_equal(inv_session_find_got(&asks[1], &found, &err),
			 INV_ENOTHING);
	assert_non_null(strstr(err.text, "not found"));
	inv_asks_release(asks, 2);
	ask_ok(&found, INV_VERB_REMOVE);
}

static void sessions_that_cannot_start_are_refused(void **state)
{
	static const char *const bad[] = { "lists:seq(" };
	static const char *const none[] = { "lists:no_such_function/7" };
	struct inv_session_opts o = opts_of("bad", bad, 0);
	struct inv_session s;

	(void)state;
	assert_int_equal(try_start(&o, 0, &s), INV_EINVAL);
	assert_int_not_equal(strlen(err.text), 0);
	o.specs.v = none;
	assert_int_equal(try_start(&o, 0, &s), INV_ENOTHING);
	assert_non_null(strstr(err.text, "no_such_function"));
	o.specs.v = seq;
	o.name = "No Name";
	assert_int_equal(try_start(&o, 0, &s), INV_EINVAL);
}

static void a_session_that_is_gone_is_an_error(void **state)
{
	struct inv_session_opts o = opts_of("gone", seq, 0);
	struct inv_session s = start(&o, 0);
	struct inv_ask ask;

	(void)state;
	ask_ok(&s, INV_VERB_REMOVE);
	inv_session_ask(&ask, &s, INV_VERB_STATUS, 20000);
	assert_int_equal(inv_gather(k.in, &ask, 1, -1), 0);
	assert_int_equal(inv_session_ok_got(&ask, &err), INV_EREMOTE);
	inv_asks_release(&ask, 1);
}

static void options_arrive(void **state)
{
	struct inv_session_opts o = opts_of("options", seq, 0);
	struct inv_session s;
	struct inv_status status;

	(void)state;
	o.mode = INV_MODE_RECORD;
	o.keep = INV_KEEP_NEWEST;
	o.spawned = true;
	o.number[INV_OPT_LIMIT_BYTES] = 1 << 20;
	o.number[INV_OPT_LIMIT_RATE] = 5000;
	o.number[INV_OPT_MAX_TERM_BYTES] = 1000;
	o.compress = "none";
	o.number[INV_OPT_RUN_QUEUE] = 0;
	o.number[INV_OPT_HOLD_MS] = 1000;
	s = start(&o, 0);
	status = ask_status(&s, INV_VERB_STATUS);
	assert_string_equal(status.owner, "the test");
	assert_string_equal(status.mode, "record");
	assert_string_equal(status.keep, "newest");
	assert_int_equal(status.limit_events, 1000000);
	assert_int_equal(status.limit_bytes, 1 << 20);
	assert_int_equal(status.limit_rate, 5000);
	assert_int_equal(status.limit_ms, 60000);
	assert_int_equal(status.specs.n, 1);
	assert_string_equal(status.specs.v[0], "lists:seq/2");
	assert_int_equal(status.functions, 1);
	assert_true(status.ms_left > 0);
	inv_status_release(&status);
	ask_ok(&s, INV_VERB_REMOVE);
}

/* --- fetching ------------------------------------------------------------- */

static struct inv_session recorded(const char *name, size_t at, unsigned n)
{
	struct inv_session_opts o = opts_of(name, seq, at);
	struct inv_session s;
	struct inv_status status;

	o.mode = INV_MODE_RECORD;
	o.compress = "none";
	s = start(&o, at);
	work(at, n);
	status = ask_status(&s, INV_VERB_STOP);
	assert_int_equal(status.recorded, n);
	inv_status_release(&status);
	return s;
}

struct seen {
	unsigned calls;
	uint64_t done;
};

static void progress(void *arg, const struct inv_fetch *f, size_t n)
{
	struct seen *seen = arg;
	uint64_t done = 0;

	seen->calls++;
	for (size_t i = 0; i < n; i++) {
		assert_true(f[i].done <= f[i].total);
		done += f[i].done;
	}
	assert_true(done >= seen->done);
	seen->done = done;
}

static int fetch(const struct inv_session *s, struct inv_fetch *f)
{
	int r;

	memset(f, 0, sizeof(*f));
	f->session = s;
	f->dir = tmp;
	f->prefix = "";
	r = inv_fetch_all(f, 1, k.in, NULL, NULL, -1);
	assert_int_equal(r, f->code);
	return r;
}

static void path_of(char *path, size_t size, const char *name, const char *end)
{
	snprintf(path, size, "%s/%s%s", tmp, name, end);
}

static struct inv_buf content(const char *name)
{
	struct inv_buf b = { 0 };
	char path[600];
	FILE *f;
	int c;

	path_of(path, sizeof(path), name, "");
	f = fopen(path, "r");
	if (!f)
		fail_msg("no %s", path);
	while ((c = getc(f)) != EOF)
		inv_buf_putc(&b, (char)c);
	fclose(f);
	return b;
}

static void write_part(const char *name, const void *p, size_t n)
{
	char path[600];
	int fd;

	path_of(path, sizeof(path), name, ".part");
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), n);
	close(fd);
}

static void remove_file(const char *name, const char *end)
{
	char path[600];

	path_of(path, sizeof(path), name, end);
	assert_int_equal(unlink(path), 0);
}

static void two_nodes_are_fetched_at_once(void **state)
{
	struct inv_session s[2] = { recorded("both", 0, 300),
				    recorded("both", 1, 200) };
	struct inv_fetch f[2] = {
		{ .session = &s[0], .dir = tmp, .prefix = "one-" },
		{ .session = &s[1], .dir = tmp, .prefix = "two-" },
	};
	struct seen seen = { 0 };
	struct stat st;
	char name[300];
	char path[600];

	(void)state;
	if (inv_fetch_all(f, 2, k.in, progress, &seen, -1) < 0)
		fail_msg("%s%s", f[0].err.text, f[1].err.text);
	assert_true(seen.calls > 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(f[i].files.n, 1);
		assert_int_equal(f[i].done, f[i].total);
		snprintf(name, sizeof(name), "%s%s", f[i].prefix,
			 f[i].files.v[0].name);
		path_of(path, sizeof(path), name, "");
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, f[i].files.v[0].size);
		assert_int_equal(st.st_mode & 07777, 0600);
		remove_file(name, "");
		ask_ok(&s[i], INV_VERB_REMOVE);
	}
	inv_fetch_release(f, 2);
}

/* The fetch of two logs calls this function again and again. At first node 1 is
 * suspended (SIGSTOP). At the time `until', this function lets node 1 continue.
 * Until then, the fetch waits for node 1. The wait is longer than dead_man_ms
 * of the session on node 0, the time after which a session without requests
 * ends. But the session on node 0 must not end. */
static void wait_then_thaw(void *arg, const struct inv_fetch *f, size_t n)
{
	int64_t *until = arg;

	(void)f;
	assert_int_equal(n, 2);
	if (*until && inv_mono_ms() >= *until) {
		kill(k.p[1].pid, SIGCONT);
		*until = 0;
	}
}

static void a_slow_fetch_does_not_end_the_other_session(void **state)
{
	int64_t until = inv_mono_ms() + 9000;
	struct inv_session s[2];
	struct inv_fetch f[2] = {
		{ .session = &s[0], .dir = tmp, .prefix = "fast-" },
		{ .session = &s[1], .dir = tmp, .prefix = "slow-" },
	};
	char name[300];

	(void)state;
	dead_man_ms = 6000;
	s[0] = recorded("fast", 0, 10);
	dead_man_ms = 60000;
	s[1] = recorded("slow", 1, 10);
	freeze_peer(&k.p[1]);
	if (inv_fetch_all(f, 2, k.in, wait_then_thaw, &until, -1) < 0)
		fail_msg("%s%s", f[0].err.text, f[1].err.text);
	for (size_t i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s%s", f[i].prefix,
			 f[i].files.v[0].name);
		remove_file(name, "");
		ask_ok(&s[i], INV_VERB_REMOVE);
	}
	inv_fetch_release(f, 2);
}

/* Fetches a log. Then writes the first `keep' bytes of the log, with a wrong
 * byte at `spoil', into the file of an unfinished fetch, and fetches the log
 * again. The result must be the same. */
static void with_part(const char *session, size_t keep, size_t spoil,
		      const char *what)
{
	struct inv_session s = recorded(session, 0, 200);
	struct inv_buf first;
	struct inv_buf then;
	struct inv_fetch f;
	const char *name;

	assert_int_equal(fetch(&s, &f), 0);
	name = f.files.v[0].name;
	first = content(name);
	remove_file(name, "");
	assert_true(first.len > keep);
	first.data[spoil] ^= 0x55;
	write_part(name, first.data, keep);
	first.data[spoil] ^= 0x55;
	inv_fetch_release(&f, 1);

	assert_int_equal(fetch(&s, &f), 0);
	name = f.files.v[0].name;
	assert_int_equal(f.done, f.total);
	then = content(name);
	if (then.len != first.len ||
	    memcmp(then.data, first.data, first.len) != 0)
		fail_msg("%s", what);
	remove_file(name, "");
	inv_fetch_release(&f, 1);
	inv_buf_release(&first);
	inv_buf_release(&then);
	ask_ok(&s, INV_VERB_REMOVE);
}

static void a_part_is_continued(void **state)
{
	(void)state;
	with_part("part", 1000, 5000, "not continued as it was");
}

static void a_part_of_something_else_is_begun_anew(void **state)
{
	(void)state;
	/* A session that was removed may still use its name for a moment, so
	 * this test does not use the name of the test before. */
	with_part("odd_part", 1000, 500,
		  "continued with what does not belong there");
}

static void the_fetched_part_is_not_read_again(void **state)
{
	static uint8_t part[70000];
	struct inv_session s = recorded("skipped", 0, 6000);
	struct inv_buf first;
	struct inv_buf then;
	struct inv_fetch f;
	const char *name;

	(void)state;
	assert_int_equal(fetch(&s, &f), 0);
	name = f.files.v[0].name;
	first = content(name);
	assert_true(first.len > sizeof(part));
	remove_file(name, "");
	/* Only the last 64 KiB of the unfinished file are compared with the
	 * log. So the wrong byte at the start of the file stays. */
	memcpy(part, first.data, sizeof(part));
	part[0] ^= 0xff;
	write_part(name, part, sizeof(part));
	inv_fetch_release(&f, 1);
	assert_int_equal(fetch(&s, &f), 0);
	name = f.files.v[0].name;
	then = content(name);
	assert_int_equal(then.len, first.len);
	assert_int_equal(then.data[0], part[0]);
	assert_memory_equal(then.data + 1, first.data + 1, first.len - 1);
	remove_file(name, "");
	inv_fetch_release(&f, 1);
	inv_buf_release(&first);
	inv_buf_release(&then);
	ask_ok(&s, INV_VERB_REMOVE);
}

static void nothing_is_written_over(void **state)
{
	struct inv_session s = recorded("over", 0, 20);
	char target[600];
	char path[600];
	struct inv_fetch f;
	struct stat st;
	char name[300];
	int fd;

	(void)state;
	assert_int_equal(fetch(&s, &f), 0);
	strcpy(name, f.files.v[0].name);
	inv_fetch_release(&f, 1);

	/* The whole log has been fetched already, so no bytes are fetched
	 * again. */
	assert_int_equal(fetch(&s, &f), 0);
	assert_int_equal(f.done, f.total);
	inv_fetch_release(&f, 1);

	/* A file with this name and other contents exists, and is not
	 * overwritten. */
	path_of(path, sizeof(path), name, "");
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(fetch(&s, &f), INV_EBUSY);
	assert_non_null(strstr(f.err.text, name));
	inv_fetch_release(&f, 1);
	remove_file(name, "");

	/* The unfinished file is a symbolic link, which is not followed. */
	path_of(target, sizeof(target), "target", "");
	path_of(path, sizeof(path), name, ".part");
	fd = open(target, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, "mine", 4), 4);
	close(fd);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(fetch(&s, &f), INV_EIO);
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(unlink(target), 0);
	inv_fetch_release(&f, 1);
	assert_int_equal(unlink(path), 0);

	/* The unfinished file is locked, which means that another process is
	 * fetching the log. */
	write_part(name, "", 0);
	fd = open(path, O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(fetch(&s, &f), INV_EBUSY);
	close(fd);
	inv_fetch_release(&f, 1);
	assert_int_equal(fetch(&s, &f), 0);
	inv_fetch_release(&f, 1);
	remove_file(name, "");
	ask_ok(&s, INV_VERB_REMOVE);
}

static void a_fetch_that_is_cancelled_leaves_its_part(void **state)
{
	struct inv_session s = recorded("cancel", 0, 20);
	struct inv_fetch f = { .session = &s, .dir = tmp, .prefix = "" };
	int stop[2];

	(void)state;
	assert_int_equal(pipe(stop), 0);
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(inv_fetch_all(&f, 1, k.in, NULL, NULL, stop[0]),
			 INV_ECANCELLED);
	assert_int_equal(f.code, INV_ECANCELLED);
	inv_fetch_release(&f, 1);
	/* In this directory no file can be created. */
	f.dir = "/proc/self";
	assert_int_equal(inv_fetch_all(&f, 1, k.in, NULL, NULL, -1), INV_EIO);
	inv_fetch_release(&f, 1);
	f.dir = "/no/such/directory";
	assert_int_equal(inv_fetch_all(&f, 1, k.in, NULL, NULL, -1), INV_EIO);
	assert_non_null(strstr(f.err.text, "/no/such/directory"));
	inv_fetch_release(&f, 1);
	ask_ok(&s, INV_VERB_REMOVE);
	close(stop[0]);
	close(stop[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_live_session_is_followed_to_its_end),
		cmocka_unit_test(a_session_is_found_by_its_name),
		cmocka_unit_test(sessions_that_cannot_start_are_refused),
		cmocka_unit_test(a_session_that_is_gone_is_an_error),
		cmocka_unit_test(options_arrive),
		cmocka_unit_test(two_nodes_are_fetched_at_once),
		cmocka_unit_test(a_slow_fetch_does_not_end_the_other_session),
		cmocka_unit_test(a_part_is_continued),
		cmocka_unit_test(a_part_of_something_else_is_begun_anew),
		cmocka_unit_test(the_fetched_part_is_not_read_again),
		cmocka_unit_test(nothing_is_written_over),
		cmocka_unit_test(a_fetch_that_is_cancelled_leaves_its_part),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
