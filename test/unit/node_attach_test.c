/* SPDX-License-Identifier: Apache-2.0 */
#include "node/attach.h"

#include <dirent.h>
#include <sys/stat.h>

#include "unit/node_fixture.h"

static struct cluster k, k2;

static const struct inv_attach_opts opts = { .owner = "the test",
					     .tracer = true,
					     .ms = 20000 };

static size_t files_in(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	if (!d)
		return 0;
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* Waits until the node has n processes. A process unregisters its name before
 * it ends, so it may still exist when its name is gone. */
static void await_processes(struct inv_conn *c, int n)
{
	unsigned tries = 1200;

	while (list_len(c, "erlang", "processes", "[]") != n && --tries)
		usleep(100000);
	assert_int_not_equal(tries, 0);
}

static void nodes_are_attached_and_left_as_they_were(void **state)
{
	struct stat st;
	int processes[3];
	char dir[3][1024];

	(void)state;
	cluster_start(&k, "attach", 3);
	assert_int_equal(inv_attach_all(k.v, 3, k.in, NULL, -1), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(k.v[i].state, INV_ATTACH_UP);
		assert_true(k.v[i].survey.otp >= 25);
		processes[i] =
			list_len(k.v[i].conn, "erlang", "processes", "[]");
		assert_false(is_loaded(k.v[i].conn, "inviso_tracer"));
	}
	cluster_attach(&k, NULL);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(k.v[i].state, INV_ATTACH_READY);
		assert_true(is_loaded(k.v[i].conn, "inviso_tracer"));
		assert_int_equal(stat(k.v[i].dir, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0700);
		/* The directory has the record of the VM, the library and the
		 * spooler. */
		assert_int_equal(files_in(k.v[i].dir), 3);
		strcpy(dir[i], k.v[i].dir);
	}
	cluster_leave(&k);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(k.v[i].state, INV_ATTACH_NONE);
		assert_false(is_loaded(k.v[i].conn, "inviso_tracer"));
		assert_false(is_loaded(k.v[i].conn, "inviso_tracer"));
		await_processes(k.v[i].conn, processes[i]);
		assert_int_equal(stat(dir[i], &st), -1);
	}
	cluster_stop(&k);
}

static void attaching_can_be_repeated(void **state)
{
	(void)state;
	cluster_start(&k, "again", 1);
	for (unsigned i = 0; i < 5; i++) {
		if (i) /* the connection stays open between leaving and the next
			  attach */
			k.v[0].state = INV_ATTACH_UP;
		cluster_attach(&k, NULL);
		cluster_leave(&k);
	}
	cluster_stop(&k);
}

static void without_the_tracer_there_are_no_files(void **state)
{
	struct inv_attach_opts code = opts;

	(void)state;
	code.tracer = false;
	cluster_start(&k, "code", 1);
	cluster_attach(&k, &code);
	assert_int_equal(k.v[0].state, INV_ATTACH_READY);
	assert_int_equal(files_in(k.v[0].dir), 0);
	cluster_leave(&k);
	cluster_stop(&k);
}

static void two_clients_share_the_code(void **state)
{
	struct inv_attach_opts other = opts;

	(void)state;
	other.owner = "somebody else";
	cluster_start(&k, "shared", 1);
	cluster_attach(&k, NULL);
	k2 = k;
	k2.in = new_inbox();
	memset(k2.v, 0, sizeof(k2.v));
	k2.v[0].conn = open_conn(k2.in, k.p[0].name, NULL);
	cluster_attach(&k2, &other);
	assert_string_equal(k2.v[0].dir, k.v[0].dir);

	cluster_leave(&k);
	assert_int_equal(k.v[0].others.n, 1);
	assert_string_equal(k.v[0].others.v[0], "somebody else");
	assert_true(is_loaded(k.v[0].conn, "inviso_tracer"));
	cluster_leave(&k2);
	assert_int_equal(k2.v[0].others.n, 0);
	assert_false(is_loaded(k.v[0].conn, "inviso_tracer"));

	inv_conn_close(k2.v[0].conn);
	inv_attach_release(k2.v, 1);
	inv_inbox_free(k2.in);
	cluster_stop(&k);
}

/* Checks that attaching with these directories fails, that the error contains
 * `words', and that nothing is left on the node. */
static void no_place(const char *const *dirs, const char *words)
{
	struct inv_attach_opts there = opts;

	there.dirs = dirs;
	there.n_dirs = 1;
	k.v[0].state = INV_ATTACH_UP;
	k.v[0].code = 0;
	assert_true(inv_attach_all(k.v, 1, k.in, &there, -1) < 0);
	if (!strstr(k.v[0].err.text, words) ||
	    !strstr(k.v[0].err.text, k.p[0].name))
		fail_msg("'%s' does not have %s", k.v[0].err.text, words);
	inv_leave_all(k.v, 1, k.in, 20000, -1);
	await_gone(k.v[0].conn);
}

static void a_directory_of_the_user_is_taken_or_refused_in_words(void **state)
{
	static const char *const bad[] = { "/proc/self" };
	static const char *const none[] = { "/no/such/directory" };
	static char tmp[] = "/tmp/inviso-attach-XXXXXX";
	const char *const good[] = { tmp };
	struct inv_attach_opts there = opts;

	(void)state;
	assert_non_null(mkdtemp(tmp));
	cluster_start(&k, "where", 1);
	assert_int_equal(inv_attach_all(k.v, 1, k.in, NULL, -1), 0);
	no_place(bad, "/proc/self");
	no_place(none, "/no/such/directory");
	there.dirs = good;
	there.n_dirs = 1;
	k.v[0].state = INV_ATTACH_UP;
	k.v[0].code = 0;
	cluster_attach(&k, &there);
	assert_memory_equal(k.v[0].dir, tmp, strlen(tmp));
	cluster_leave(&k);
	assert_int_equal(files_in(tmp), 0);
	assert_int_equal(rmdir(tmp), 0);
	cluster_stop(&k);
}

static void an_unreachable_node_does_not_stop_the_others(void **state)
{
	(void)state;
	cluster_start(&k, "some", 2);
	k.v[2].conn = open_conn(k.in, "nobody@localhost", NULL);
	assert_int_equal(inv_attach_all(k.v, 3, k.in, &opts, -1), INV_ENONODE);
	assert_int_equal(k.v[0].state, INV_ATTACH_READY);
	assert_int_equal(k.v[1].state, INV_ATTACH_READY);
	assert_int_equal(k.v[2].state, INV_ATTACH_NONE);
	assert_non_null(strstr(k.v[2].err.text, "nobody@localhost"));
	assert_int_equal(inv_leave_all(k.v, 3, k.in, 20000, -1), 0);
	inv_conn_close(k.v[2].conn);
	k.v[2].conn = NULL;
	cluster_stop(&k);
}

static void a_node_that_dies_meanwhile_is_lost(void **state)
{
	(void)state;
	cluster_start(&k, "dies", 2);
	assert_int_equal(inv_attach_all(k.v, 2, k.in, NULL, -1), 0);
	kill(k.p[1].pid, SIGKILL);
	inv_attach_all(k.v, 2, k.in, &opts, -1);
	assert_int_equal(k.v[0].state, INV_ATTACH_READY);
	assert_int_equal(k.v[1].code, INV_ELOST);
	assert_non_null(strstr(k.v[1].err.text, k.p[1].name));
	inv_leave_all(k.v, 2, k.in, 20000, -1);
	assert_int_equal(k.v[0].code, 0);
	assert_false(is_loaded(k.v[0].conn, "inviso_tracer"));
	cluster_stop(&k);
}

/*
 * When the command is cancelled, it waits up to two seconds for the pid of the
 * guard (the process that removes inviso's code) from the node. If the pid
 * arrives, the command leaves the node as usual. Otherwise the node removes the
 * code by itself after the connection has ended.
 */
static void a_cancelled_attach_leaves_nothing(void **state)
{
	struct inv_conn *other;
	int stop[2];

	(void)state;
	assert_int_equal(pipe(stop), 0);
	cluster_start(&k, "stop", 1);
	assert_int_equal(inv_attach_all(k.v, 1, k.in, NULL, -1), 0);
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(inv_attach_all(k.v, 1, k.in, &opts, stop[0]),
			 INV_ECANCELLED);
	inv_leave_all(k.v, 1, k.in, 20000, -1);
	if (k.v[0].code < 0) {
		assert_int_equal(k.v[0].code, INV_ECANCELLED);
		inv_conn_close(k.v[0].conn);
		other = connect_to(k.in, k.p[0].name, NULL);
		await_gone(other);
		k.v[0].conn = other;
	}
	assert_false(is_loaded(k.v[0].conn, "inviso_tracer"));
	cluster_stop(&k);
	close(stop[0]);
	close(stop[1]);
}

/* The node takes long to load the code. Even then, the user can stop the
 * command at once. */
static void a_cancelled_attach_does_not_wait_for_a_frozen_node(void **state)
{
	struct inv_attach_opts patient = opts;
	struct inv_conn *other;
	int64_t began = inv_mono_ms();
	int stop[2];

	(void)state;
	patient.ms = 300000;
	assert_int_equal(pipe(stop), 0);
	cluster_start(&k, "tired", 1);
	assert_int_equal(inv_attach_all(k.v, 1, k.in, NULL, -1), 0);
	freeze_peer(&k.p[0]);
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(inv_attach_all(k.v, 1, k.in, &patient, stop[0]),
			 INV_ECANCELLED);
	assert_true(inv_mono_ms() - began < 200000);
	inv_leave_all(k.v, 1, k.in, 1000, -1);
	inv_conn_close(k.v[0].conn);
	kill(k.p[0].pid, SIGCONT);
	/* When the node continues to run, it loads the code that was sent to
	 * it, and removes the code again. */
	other = connect_to(k.in, k.p[0].name, NULL);
	await_gone(other);
	k.v[0].conn = other;
	cluster_stop(&k);
	close(stop[0]);
	close(stop[1]);
}

static void count_slow(void *arg, const struct inv_conn *conn)
{
	*(unsigned *)arg += conn == k.v[0].conn ? 1 : 100;
}

/* The node is suspended, so it does not answer. A node whose unloading process
 * checks very many processes looks the same. */
static void a_node_that_takes_long_to_leave_is_reported(void **state)
{
	unsigned slow = 0;

	(void)state;
	cluster_start(&k, "slow", 1);
	cluster_attach(&k, NULL);
	inv_inbox_on_slow(k.in, 10, count_slow, &slow);
	freeze_peer(&k.p[0]);
	assert_int_equal(inv_leave_all(k.v, 1, k.in, 300, -1), INV_ETIME);
	assert_int_equal(slow, 1);
	assert_non_null(
		strstr(k.v[0].err.text, "is still unloading inviso's code"));
	kill(k.p[0].pid, SIGCONT);
	await_gone(k.v[0].conn);
	cluster_stop(&k);
}

static void a_client_that_vanishes_leaves_nothing(void **state)
{
	struct inv_conn *other;

	(void)state;
	cluster_start(&k, "vanish", 1);
	cluster_attach(&k, NULL);
	other = connect_to(k.in, k.p[0].name, NULL);
	inv_conn_close(k.v[0].conn);
	await_gone(other);
	assert_int_equal(files_in(k.v[0].dir), 0);
	k.v[0].conn = other;
	cluster_stop(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_attached_and_left_as_they_were),
		cmocka_unit_test(attaching_can_be_repeated),
		cmocka_unit_test(without_the_tracer_there_are_no_files),
		cmocka_unit_test(two_clients_share_the_code),
		cmocka_unit_test(
			a_directory_of_the_user_is_taken_or_refused_in_words),
		cmocka_unit_test(an_unreachable_node_does_not_stop_the_others),
		cmocka_unit_test(a_node_that_dies_meanwhile_is_lost),
		cmocka_unit_test(a_cancelled_attach_leaves_nothing),
		cmocka_unit_test(
			a_cancelled_attach_does_not_wait_for_a_frozen_node),
		cmocka_unit_test(a_node_that_takes_long_to_leave_is_reported),
		cmocka_unit_test(a_client_that_vanishes_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, fixture_start, stop_epmd);
}
