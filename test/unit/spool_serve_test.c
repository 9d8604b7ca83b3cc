/* SPDX-License-Identifier: Apache-2.0 */

/* The spooler runs as a separate process, and this test acts as its VM. */

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "spool/recover.h"
#include "spool/watch.h"
#include "unit/spool_process.h"

static void after_a_close_all_events_are_in_the_log(void **state)
{
	struct ring_build b;
	struct log_check *c;
	unsigned i;
	pid_t pid;

	(void)state;
	build_open(&b, -1, 2, 8, 4096, INV_KEEP_OLDEST, path);
	pid = start(&b, getpid(), -1);
	await_state(&b, INV_SPOOL_RUNNING);
	for (i = 0; i < 1000; i++) {
		build_event(&b.p[0], i % 50);
		if (i % 3 == 0)
			build_event(&b.p[1], 100);
		if (i % 50 == 0)
			inv_sleep_ms(1);
	}
	atomic_store(&b.ctl->no_ring, 5);
	say_closed(&b);
	assert_int_equal(status_of(pid), 0);
	assert_int_equal(atomic_load(&b.ctl->spool_state), INV_SPOOL_DONE);
	c = check_one();
	log_check_counts(c, 0);
	log_check_counts(c, 1);
	assert_string_equal(c->node, "test@localhost");
	assert_int_equal(c->end, INV_END_CLOSED);
	assert_int_equal(c->ends, 1);
	assert_int_equal(c->s[0].totals.produced, 1000);
	assert_int_equal(c->s[1].totals.produced, 334);
	assert_int_equal(c->no_ring.produced, 5);
	assert_int_equal(c->s[0].missing, 0);
	assert_int_equal(
		c->s[0].recorded + c->s[0].totals.dropped[INV_LOSS_FULL], 1000);
	assert_true(c->anchors >= 1);
	assert_int_equal(c->bytes, atomic_load(&b.ctl->log_bytes));
	build_close(&b);
}

/* The spooler writes committed events of an open packet to the log after at
 * most flush_ms. */
static void open_packets_are_flushed_in_time(void **state)
{
	struct ring_build b;
	unsigned i;
	pid_t pid;

	(void)state;
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	pid = start(&b, getpid(), -1);
	build_event(&b.p[0], 10);
	for (i = 0; i < PATIENCE_MS; i++) {
		if (atomic_load(&inv_layout_ring(b.ctl, 0)->recorded) > 0)
			break;
		inv_sleep_ms(1);
	}
	assert_int_equal(atomic_load(&inv_layout_ring(b.ctl, 0)->recorded), 1);
	build_event(&b.p[0], 10);
	flush(&b);
	assert_int_equal(atomic_load(&inv_layout_ring(b.ctl, 0)->recorded), 2);
	assert_int_equal(check_one()->s[0].recorded, 2);
	say_closed(&b);
	assert_int_equal(status_of(pid), 0);
	assert_int_equal(check_one()->s[0].packets, 2);
	build_close(&b);
}

static void a_flight_recorder_writes_when_asked(void **state)
{
	struct ring_build b;
	struct log_check *c;
	unsigned i;
	pid_t pid;

	(void)state;
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_NEWEST, path);
	pid = start(&b, getpid(), -1);
	await_state(&b, INV_SPOOL_RUNNING);
	for (i = 0; i < 5000; i++)
		build_event(&b.p[0], 40);
	inv_sleep_ms(200);
	assert_int_equal(check_one()->s[0].recorded, 0);
	flush(&b);
	c = check_one();
	assert_int_equal(c->end, INV_END_FLUSHED);
	assert_int_equal(c->s[0].totals.produced, 5000);
	assert_true(c->s[0].recorded > 100);
	assert_int_equal(c->s[0].totals.dropped[INV_LOSS_OVERWRITTEN],
			 5000 - c->s[0].recorded);
	build_event(&b.p[0], 40);
	say_closed(&b);
	assert_int_equal(status_of(pid), 0);
	c = check_one();
	log_check_counts(c, 0);
	assert_int_equal(c->s[0].totals.produced, 5001);
	assert_int_equal(c->s[0].next_event, 5001);
	build_close(&b);
}

/* Starts a process as the VM. The process writes n events into b. After SIGUSR1
 * it writes `more' events (with 0 it does not wait) and begins another event. Then
 * it waits until it is killed; it has stopped itself if it has written `more'
 * events. */
static pid_t start_vm(struct ring_build *b, unsigned n, unsigned more)
{
	pid_t pid = fork();
	sigset_t set;
	unsigned i;
	int sig;

	CHECK(pid >= 0);
	if (pid)
		return pid;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	b->ctl->vm_pid = getpid();
	b->ctl->vm_start = inv_process_start(getpid());
	for (i = 0; i < n; i++)
		build_event(&b->p[0], 30);
	if (!more)
		build_reserve(&b->p[0], 30);
	atomic_store(&b->ctl->no_ring, 1); /* tells the parent to continue */
	if (more) {
		sigwait(&set, &sig);
		for (i = 0; i < more; i++)
			build_event(&b->p[0], 30);
		build_reserve(&b->p[0], 30);
		raise(SIGSTOP);
	}
	for (;;)
		pause();
}

static void await_vm(struct ring_build *b)
{
	while (atomic_load(&b->ctl->no_ring) == 0)
		inv_sleep_ms(1);
}

static void the_death_of_the_vm_leaves_a_whole_log(void **state)
{
	struct ring_build b;
	struct log_check *c;
	pid_t vm, pid;

	(void)state;
	build_open(&b, -1, 1, 64, 4096, INV_KEEP_OLDEST, path);
	b.ctl->flush_ms = 0;
	vm = start_vm(&b, 777, 0);
	await_vm(&b);
	pid = start(&b, vm, -1);
	await_state(&b, INV_SPOOL_RUNNING);
	kill(vm, SIGKILL);
	/* The parent does not wait for the dead VM. So the VM stays a
	 * zombie. */
	assert_int_equal(status_of(pid), 0);
	c = check_one();
	log_check_counts(c, 0);
	assert_int_equal(c->end, INV_END_VM);
	assert_int_equal(c->s[0].recorded, 777);
	assert_int_equal(c->s[0].totals.produced, 778);
	assert_int_equal(c->s[0].totals.dropped[INV_LOSS_UNFINISHED], 1);
	status_of(vm);
	build_close(&b);
}

/* A file size limit simulates a full disk without special rights. */
static void limit_files(pid_t pid, rlim_t size)
{
	struct rlimit r;

	CHECK(prlimit(pid, RLIMIT_FSIZE, NULL, &r) == 0);
	r.rlim_cur = size;
	CHECK(prlimit(pid, RLIMIT_FSIZE, &r, NULL) == 0);
}

static void flood(struct ring_build *b, unsigned n)
{
	for (; n > 0; n--) {
		build_event(&b->p[0], 60);
		if (n % 16 == 0)
			inv_sleep_ms(1);
	}
}

static void a_disk_that_was_full_loses_only_counted_events(void **state)
{
	struct ring_build b;
	struct log_check *c;
	pid_t pid;

	(void)state;
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	pid = start(&b, getpid(), -1);
	await_state(&b, INV_SPOOL_RUNNING);
	limit_files(pid, 20000);
	flood(&b, 1000);
	await_state(&b, INV_SPOOL_STALLED);
	assert_int_equal(atomic_load(&b.ctl->error), EFBIG);
	assert_true(strlen(b.ctl->error_text) > 0);
	check_one(); /* the log has no incomplete packet */
	limit_files(pid, RLIM_INFINITY);
	await_state(&b, INV_SPOOL_RUNNING);
	assert_int_equal(atomic_load(&b.ctl->error), 0);
	build_event(&b.p[0], 60);
	say_closed(&b);
	assert_int_equal(status_of(pid), 0);
	c = check_one();
	log_check_counts(c, 0);
	assert_int_equal(c->s[0].missing, 0);
	assert_int_equal(c->s[0].totals.produced, 1001);
	assert_true(c->s[0].totals.dropped[INV_LOSS_FULL] > 0);
	build_close(&b);
}

static void a_disk_that_stays_full_is_given_up_and_counted(void **state)
{
	struct ring_build b;
	struct inv_ring_head *ring;
	struct log_check *c;
	uint64_t since;
	pid_t pid;

	(void)state;
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	CHECK(setenv("INVISO_TEST_DEADLINES", "only in tests: 1/10", 1) == 0);
	pid = start(&b, getpid(), -1);
	CHECK(unsetenv("INVISO_TEST_DEADLINES") == 0);
	await_state(&b, INV_SPOOL_RUNNING);
	limit_files(pid, 20000);
	flood(&b, 1000);
	say_closed(&b);
	since = inv_mono_ns();
	assert_int_equal(status_of(pid), 1);
	assert_true(inv_mono_ns() - since < 60000000000u);
	assert_int_equal(atomic_load(&b.ctl->spool_state), INV_SPOOL_DONE);
	assert_int_equal(atomic_load(&b.ctl->error), EFBIG);
	ring = inv_layout_ring(b.ctl, 0);
	assert_true(ring->unwritten > 0);
	assert_int_equal(ring->recorded + ring->unwritten +
				 ring->dropped[INV_LOSS_FULL],
			 1000);
	c = check_one();
	assert_int_equal(c->s[0].recorded, ring->recorded);
	build_close(&b);
}

/* The log is on a file system that becomes really full. The spooler has
 * reserved space for the totals there. */
static void the_totals_fit_on_a_full_disk(void **state)
{
	struct ring_build b;
	struct log_check *c;
	char command[128];
	pid_t pid;

	(void)state;
	if (unshare(CLONE_NEWNS) < 0 &&
	    unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		skip();
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	if (mount("tmpfs", dir, "tmpfs", 0, "size=64k") < 0)
		skip();
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	pid = start(&b, getpid(), -1);
	await_state(&b, INV_SPOOL_RUNNING);
	flood(&b, 2000);
	await_state(&b, INV_SPOOL_STALLED);
	assert_int_equal(atomic_load(&b.ctl->error), ENOSPC);
	say_closed(&b);
	assert_int_equal(status_of(pid), 1);
	c = check_one();
	log_check_counts(c, 0);
	assert_int_equal(c->end, INV_END_CLOSED);
	assert_int_equal(c->s[0].totals.produced, 2000);
	assert_true(c->s[0].totals.dropped[INV_LOSS_UNWRITTEN] > 0);
	build_close(&b);
	snprintf(command, sizeof(command), "umount '%s'", dir);
	CHECK(system(command) == 0); // NOLINT(cert-env33-c)
}

static void a_log_that_cannot_be_created_is_reported(void **state)
{
	char missing[160];
	struct ring_build b;

	(void)state;
	snprintf(missing, sizeof(missing), "%s/none/log", dir);
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, missing);
	assert_int_equal(status_of_failed(&b), ENOENT);
	build_close(&b);
	CHECK(symlink("/etc/motd", path) == 0);
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	b.ctl->replace = 1;
	assert_int_not_equal(status_of_failed(&b), 0);
	build_close(&b);
	unlink(path);
	CHECK(close(open(path, O_CREAT | O_RDWR, 0600)) == 0);
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	assert_int_equal(status_of_failed(&b), EEXIST);
	build_close(&b);
}

static void rotated_files_are_each_readable_alone(void **state)
{
	static struct log_check c;
	struct ring_build b;
	char name[160];
	uint32_t i;
	pid_t pid;

	(void)state;
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	b.ctl->rotate_bytes = 10000;
	b.ctl->rotate_count = 3;
	pid = start(&b, getpid(), -1);
	flood(&b, 2000);
	say_closed(&b);
	assert_int_equal(status_of(pid), 0);
	assert_int_equal(b.ctl->log_file - b.ctl->log_first, 2);
	assert_true(b.ctl->log_first > 0);
	for (i = 0; i <= b.ctl->log_file; i++) {
		snprintf(name, sizeof(name), "%s.%u", path, i);
		assert_int_equal(access(name, F_OK),
				 i < b.ctl->log_first ? -1 : 0);
		if (i < b.ctl->log_first)
			continue;
		memset(&c, 0, sizeof(c));
		log_check_file(&c, name);
		assert_int_equal(c.head.file_no, i);
		assert_true(c.anchors > 0);
		assert_int_equal(c.ends, 1);
		assert_int_equal(c.end, i < b.ctl->log_file ? INV_END_ROTATED :
							      INV_END_CLOSED);
	}
	build_close(&b);
}

static void the_end_of_input_is_only_a_hint(void **state)
{
	struct ring_build b;
	bool gone = false;
	unsigned i;
	int p[2];
	pid_t pid;

	(void)state;
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	/* The keeper is the process that starts the spooler. The pipe from the
	 * keeper is closed, and the spooler continues without it. */
	CHECK(pipe2(p, O_CLOEXEC) == 0);
	close(p[1]);
	pid = start(&b, getpid(), p[0]);
	inv_sleep_ms(2700);
	build_event(&b.p[0], 1);
	flush(&b);
	kill(pid, SIGKILL);
	status_of(pid);
	/* The pipe is closed, but the test still adds anchors, as a living
	 * keeper would. If the pipe is closed, a living keeper starts another
	 * spooler. So this spooler exits, and the next spooler writes the end
	 * of the log. */
	pid = start(&b, getpid(), p[0]);
	for (i = 0; i < 600 && !gone; i++) {
		build_anchor(&b, 0);
		inv_sleep_ms(100);
		gone = waitpid(pid, NULL, WNOHANG) == pid;
	}
	assert_true(gone);
	assert_int_equal(check_one()->ends, 0);
	pid = start(&b, getpid(), -1);
	say_closed(&b);
	assert_int_equal(status_of(pid), 0);
	assert_int_equal(check_one()->s[0].recorded, 1);
	close(p[0]);
	build_close(&b);
}

static void a_byte_of_input_wakes_the_spooler_up(void **state)
{
	struct ring_build b;
	uint64_t since;
	int p[2];
	pid_t pid;

	(void)state;
	CHECK(pipe2(p, O_CLOEXEC) == 0);
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	b.ctl->drain_ms = 120000;
	pid = start(&b, getpid(), p[0]);
	await_state(&b, INV_SPOOL_RUNNING);
	inv_sleep_ms(50);
	say_closed(&b);
	since = inv_mono_ns();
	CHECK(write(p[1], "x", 1) == 1);
	assert_int_equal(status_of(pid), 0);
	assert_true(inv_mono_ns() - since < 100000000000u);
	close(p[0]);
	close(p[1]);
	build_close(&b);
}

static void there_is_one_spooler_at_a_time(void **state)
{
	struct inv_attached mem;
	struct ring_build b;
	struct inv_err err;
	pid_t pid;

	(void)state;
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	pid = start(&b, getpid(), -1);
	await_state(&b, INV_SPOOL_RUNNING);
	assert_int_equal(inv_attach_proc(&mem, getpid(), b.fd, 30, &err),
			 INV_EBUSY);
	kill(pid, SIGKILL);
	assert_int_equal(inv_attach_proc(&mem, getpid(), b.fd, 60000, &err), 0);
	inv_detach(&mem);
	status_of(pid);
	build_close(&b);
}

static void events_in_a_ring_file_are_recovered(void **state)
{
	char ring[160], other[160];
	struct inv_recovered done;
	struct log_check *c;
	struct ring_build b;
	struct inv_err err;
	pid_t vm, pid;
	int status;

	(void)state;
	snprintf(ring, sizeof(ring), "%s/ring", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	build_open(&b, open(ring, O_CREAT | O_RDWR | O_CLOEXEC, 0600), 1, 64,
		   4096, INV_KEEP_OLDEST, path);
	b.ctl->flush_ms = 0;
	vm = start_vm(&b, 300, 200);
	await_vm(&b);
	pid = start(&b, vm, -1);
	await_state(&b, INV_SPOOL_RUNNING);
	assert_int_equal(inv_recover(ring, NULL, false, &done, &err),
			 INV_EBUSY);
	while (inv_layout_ring(b.ctl, 0)->recorded == 0)
		inv_sleep_ms(1);
	kill(pid, SIGKILL);
	status_of(pid);
	kill(vm, SIGUSR1); /* writes events for which no spooler waits */
	assert_int_equal(waitpid(vm, &status, WUNTRACED), vm);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(inv_recover(ring, NULL, false, &done, &err),
			 INV_EBUSY);
	kill(vm, SIGKILL);
	status_of(vm);
	assert_int_equal(inv_recover(ring, NULL, false, &done, &err), 0);
	assert_true(done.n_events >= 200 && done.n_events < 500);
	assert_int_equal(done.recorded, 500);
	assert_int_equal(done.produced, 502); /* one event was lost because its
					       * thread had no ring */
	assert_int_equal(done.dropped[INV_LOSS_UNFINISHED], 1);
	c = check_one();
	log_check_counts(c, 0);
	assert_int_equal(c->s[0].recorded, 500);
	assert_int_equal(c->end, INV_END_RECOVERED);
	assert_int_equal(inv_recover(ring, NULL, false, &done, &err), 0);
	assert_int_equal(done.n_events, 0);
	assert_int_equal(check_one()->s[0].recorded, 500);
	assert_int_equal(inv_recover(ring, other, false, &done, &err), 0);
	assert_int_equal(inv_recover(other, NULL, false, &done, &err),
			 INV_EFORMAT);
	build_close(&b);
}

static void a_node_in_another_pid_namespace_may_be_alive(void **state)
{
	struct inv_recovered done;
	struct ring_build b;
	struct inv_err err;
	char ring[160];
	pid_t vm, pid;

	(void)state;
	snprintf(ring, sizeof(ring), "%s/ring", dir);
	build_open(&b, open(ring, O_CREAT | O_RDWR | O_CLOEXEC, 0600), 1, 64,
		   4096, INV_KEEP_OLDEST, path);
	vm = start_vm(&b, 500, 0);
	await_vm(&b);
	pid = start(&b, vm, -1);
	await_state(&b, INV_SPOOL_RUNNING);
	b.ctl->vm_pid_ns = inv_process_ns() + 1;
	assert_int_equal(inv_recover(ring, NULL, true, &done, &err), INV_EBUSY);
	kill(pid, SIGKILL);
	status_of(pid);
	b.ctl->vm_pid_ns = inv_process_ns();
	assert_int_not_equal(b.ctl->vm_pid_ns, 0);
	assert_int_equal(inv_recover(ring, NULL, true, &done, &err), INV_EBUSY);
	kill(vm, SIGKILL);
	status_of(vm);
	b.ctl->vm_pid_ns++;
	assert_int_equal(inv_recover(ring, NULL, false, &done, &err),
			 INV_EBUSY);
	assert_non_null(strstr(err.text, "namespace"));
	assert_int_equal(inv_recover(ring, NULL, true, &done, &err), 0);
	assert_int_equal(done.recorded, 500);
	build_close(&b);
}

/* Accepts a connection on s, and sends the descriptor fd over it. */
static void send_fd(int s, int fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte = 'x';
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int to = accept(s, NULL, NULL);

	CHECK(to >= 0);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK(sendmsg(to, &m, 0) == 1);
	close(to);
}

static void the_descriptor_can_arrive_over_a_socket(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct inv_attached mem;
	struct ring_build b;
	struct inv_err err;
	pid_t pid;
	int s;

	(void)state;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", dir);
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(s, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(listen(s, 1) == 0);
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	pid = fork();
	if (pid == 0) {
		struct inv_serve how = { -1, -1 };

		if (inv_attach_socket(&mem, at.sun_path, 100, &err) < 0)
			_exit(3);
		_exit(inv_spool_serve(&mem, &how));
	}
	send_fd(s, b.fd);
	await_state(&b, INV_SPOOL_RUNNING);
	build_event(&b.p[0], 1);
	/* The spooler has received the descriptor, and holds the lock. Another
	 * process has the same descriptor, but cannot take the lock. */
	assert_int_equal(inv_attach_proc(&mem, getpid(), b.fd, 0, &err),
			 INV_EBUSY);
	kill(pid, SIGKILL);
	status_of(pid);
	pid = start(&b, getpid(), -1);
	say_closed(&b);
	assert_int_equal(status_of(pid), 0);
	assert_int_equal(check_one()->s[0].recorded, 1);
	close(s);
	build_close(&b);
}

/* Runs the program inviso_spool itself. Its standard input and output are
 * pipes, as if an Erlang port had started it. */
static void the_program_drains_ends_and_continues(void **state)
{
	const char *priv = getenv("INVISO_PRIV"); // NOLINT
	char program[512], pid_text[16], fd_text[16], buf[8];
	struct ring_build b;
	struct log_check *c;
	int in[2], out[2], i;
	pid_t pid;

	(void)state;
	snprintf(program, sizeof(program), "%s/inviso_spool",
		 priv ? priv : "priv");
	if (access(program, X_OK) < 0)
		skip();
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	snprintf(pid_text, sizeof(pid_text), "%d", getpid());
	snprintf(fd_text, sizeof(fd_text), "%d", b.fd);
	for (i = 0; i < 2; i++) {
		CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
		pid = fork();
		if (pid == 0) {
			dup2(in[0], 0);
			dup2(out[1], 1);
			dup2(out[1], 2);
			execl(program, "inviso_spool", "--pid", pid_text,
			      "--fd", fd_text, NULL);
			_exit(9);
		}
		close(out[1]);
		await_state(&b, INV_SPOOL_RUNNING);
		build_event(&b.p[0], 9);
		if (i == 0)
			kill(pid, SIGTERM);
		else
			say_closed(&b);
		assert_int_equal(read(out[0], buf, sizeof(buf)), 0);
		assert_int_equal(status_of(pid), 0);
		c = check_one();
		assert_int_equal(c->end,
				 i == 0 ? INV_END_TERMINATED : INV_END_CLOSED);
		assert_int_equal(c->s[0].recorded, i + 1);
		assert_int_equal(c->s[0].totals.produced, i + 1);
		close(in[0]);
		close(in[1]);
		close(out[0]);
	}
	build_close(&b);
}

/* Starts a spooler like start(), but as a user without privileges, because root
 * can open every file. */
static pid_t start_unprivileged(const struct ring_build *b)
{
	pid_t vm = getpid(), pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		struct inv_serve how = { -1, -1 };
		struct inv_attached mem;

		if (inv_attach_proc(&mem, vm, b->fd, 5000, NULL) < 0)
			_exit(3);
		if (geteuid() == 0 && seteuid(65534) < 0)
			_exit(4);
		_exit(inv_spool_serve(&mem, &how));
	}
	return pid;
}

static void a_log_that_cannot_be_opened_is_kept(void **state)
{
	struct ring_build b;
	struct log_check *c;
	pid_t pid;

	(void)state;
	if (geteuid() == 0)
		CHECK(chown(dir, 65534, 65534) == 0);
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	pid = start_unprivileged(&b);
	await_state(&b, INV_SPOOL_RUNNING);
	build_event(&b.p[0], 10);
	flush(&b);
	end_by_kill(pid);
	CHECK(chmod(path, 0400) == 0);
	pid = start_unprivileged(&b);
	await_state(&b, INV_SPOOL_STALLED);
	assert_int_equal(atomic_load(&b.ctl->error), EACCES);
	build_event(&b.p[0], 10);
	CHECK(chmod(path, 0600) == 0);
	await_state(&b, INV_SPOOL_RUNNING);
	say_closed(&b);
	assert_int_equal(status_of(pid), 0);
	c = check_one();
	log_check_counts(c, 0);
	assert_int_equal(c->s[0].recorded, 2);
	build_close(&b);
}

static void a_log_continues_when_its_directory_is_back(void **state)
{
	char place[80], away[80], log[160], name[170];
	struct ring_build b;
	unsigned rotates;
	pid_t pid;

	(void)state;
	snprintf(place, sizeof(place), "%s/place", dir);
	snprintf(away, sizeof(away), "%s/away", dir);
	snprintf(log, sizeof(log), "%s/log", place);
	for (rotates = 0; rotates < 2; rotates++) {
		static struct log_check c;

		snprintf(name, sizeof(name), "%s%s", log, rotates ? ".0" : "");
		CHECK(mkdir(place, 0700) == 0);
		build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, log);
		b.ctl->rotate_bytes = rotates ? 1000000 : 0;
		pid = start(&b, getpid(), -1);
		await_state(&b, INV_SPOOL_RUNNING);
		build_event(&b.p[0], 10);
		flush(&b);
		end_by_kill(pid);
		CHECK(rename(place, away) == 0);
		pid = start(&b, getpid(), -1);
		await_state(&b, INV_SPOOL_STALLED);
		assert_int_equal(atomic_load(&b.ctl->error), ENOENT);
		build_event(&b.p[0], 10);
		CHECK(rename(away, place) == 0);
		await_state(&b, INV_SPOOL_RUNNING);
		assert_int_equal(atomic_load(&b.ctl->error), 0);
		say_closed(&b);
		assert_int_equal(status_of(pid), 0);
		memset(&c, 0, sizeof(c));
		log_check_file(&c, name);
		log_check_counts(&c, 0);
		assert_int_equal(c.s[0].recorded, 2);
		build_close(&b);
		CHECK(unlink(name) == 0 && rmdir(place) == 0);
	}
}

/* The file of the log is removed, and the log is not rotated. Later events go
 * into a new file with the same name. */
static void a_removed_log_begins_again(void **state)
{
	struct ring_build b;
	pid_t pid;

	(void)state;
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	pid = start(&b, getpid(), -1);
	await_state(&b, INV_SPOOL_RUNNING);
	build_event(&b.p[0], 10);
	flush(&b);
	end_by_kill(pid);
	CHECK(unlink(path) == 0);
	build_event(&b.p[0], 10);
	/* An empty file exists, as if the previous spooler had died after
	 * creating it. */
	CHECK(close(open(path, O_CREAT | O_RDWR, 0600)) == 0);
	pid = start(&b, getpid(), -1);
	say_closed(&b);
	assert_int_equal(status_of(pid), 0);
	assert_int_equal(check_one()->s[0].recorded, 1);
	assert_int_equal(check_one()->s[0].totals.produced, 2);
	build_close(&b);
}

static void a_ring_file_keeps_events_while_the_disk_is_full(void **state)
{
	struct inv_recovered done;
	struct inv_ring_head *head;
	struct ring_build b;
	struct log_check *c;
	struct inv_err err;
	char ring[160];
	uint64_t recorded;
	pid_t vm, pid;

	(void)state;
	snprintf(ring, sizeof(ring), "%s/ring", dir);
	build_open(&b, open(ring, O_CREAT | O_RDWR | O_CLOEXEC, 0600), 1, 64,
		   4096, INV_KEEP_OLDEST, path);
	pid = start(&b, getpid(), -1);
	await_state(&b, INV_SPOOL_RUNNING);
	end_by_kill(pid);
	vm = start_vm(&b, 700, 0);
	await_vm(&b);
	pid = fork();
	if (pid == 0) {
		struct inv_serve how = { -1, -1 };
		struct inv_attached mem;

		limit_files(getpid(), 20000);
		CHECK(inv_attach_file(&mem, ring, 1000, NULL) == 0);
		_exit(inv_spool_serve(&mem, &how));
	}
	await_state(&b, INV_SPOOL_STALLED);
	end_by_kill(vm);
	assert_int_equal(status_of(pid), 1);
	assert_int_equal(atomic_load(&b.ctl->spool_state), INV_SPOOL_FAILED);
	assert_int_equal(atomic_load(&b.ctl->error), EFBIG);
	head = inv_layout_ring(b.ctl, 0);
	recorded = head->recorded;
	assert_int_equal(head->unwritten, 0);
	assert_true(recorded < 700);
	c = check_one();
	assert_int_equal(c->ends, 0);
	assert_int_equal(c->s[0].recorded, recorded);
	assert_int_equal(inv_recover(ring, NULL, false, &done, &err), 0);
	assert_int_equal(done.n_events, 700 - recorded);
	assert_int_equal(done.recorded, 700);
	c = check_one();
	log_check_counts(c, 0);
	assert_int_equal(c->s[0].missing, 0);
	assert_int_equal(c->s[0].recorded, 700);
	assert_int_equal(c->s[0].totals.dropped[INV_LOSS_UNWRITTEN], 0);
	assert_int_equal(c->end, INV_END_RECOVERED);
	build_close(&b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(after_a_close_all_events_are_in_the_log),
		TEST(open_packets_are_flushed_in_time),
		TEST(a_flight_recorder_writes_when_asked),
		TEST(the_death_of_the_vm_leaves_a_whole_log),
		TEST(a_disk_that_was_full_loses_only_counted_events),
		TEST(a_disk_that_stays_full_is_given_up_and_counted),
		TEST(a_log_that_cannot_be_created_is_reported),
		TEST(rotated_files_are_each_readable_alone),
		TEST(the_end_of_input_is_only_a_hint),
		TEST(a_byte_of_input_wakes_the_spooler_up),
		TEST(there_is_one_spooler_at_a_time),
		TEST(events_in_a_ring_file_are_recovered),
		TEST(a_node_in_another_pid_namespace_may_be_alive),
		TEST(the_descriptor_can_arrive_over_a_socket),
		TEST(the_program_drains_ends_and_continues),
		TEST(a_log_that_cannot_be_opened_is_kept),
		TEST(a_log_continues_when_its_directory_is_back),
		TEST(a_removed_log_begins_again),
		TEST(a_ring_file_keeps_events_while_the_disk_is_full),
		/* This test must be the last one, because it changes the mount
		 * namespace of the process. */
		TEST(the_totals_fit_on_a_full_disk),
	};

	/* A write beyond the limit of the file size is an error here, as in
	 * the program. */
	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
