/* SPDX-License-Identifier: Apache-2.0 */

/* Sweeping removes the places (private directories) of dead VMs, and keeps all
 * others. */

#include "spool/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "spool/sweep.h"
#include "spool/watch.h"

#define NAME "inviso-0123456789abcdef0123456789abcdef"
#define OTHER "inviso-0123456789abcdef0123456789abcdee"
#define BOOT "00000000-0000-0000-0000-000000000000"

static char top[64];

static const char *at(const char *name)
{
	static char path[4][256];
	static unsigned i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", top, name);
	return path[i];
}

static void file(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(at(name), &st) == 0;
}

static int make(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/inv_place_test.XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int take_away(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static const char *boot_here(void)
{
	static char boot[64];
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%63s", boot), 1);
	fclose(f);
	return boot;
}

/* Returns the pid of a process that has ended. */
static pid_t dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void record_at(time_t time, pid_t pid, uint64_t start, const char *boot,
		      uint64_t pid_ns, const char *more)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "inviso-place 1\nnode shop@vm\npid %d\nstart %llu\nboot %s\n"
		 "pidns %llu\ntime %lld\n%s",
		 pid, (unsigned long long)start, boot,
		 (unsigned long long)pid_ns, (long long)time, more);
	file(NAME "/node", text);
}

static void record(pid_t pid, uint64_t start, const char *boot, uint64_t pid_ns,
		   const char *more)
{
	record_at(1763822121, pid, start, boot, pid_ns, more);
}

/* Makes a place of a dead VM, with every kind of file. */
static void dead_place(void)
{
	assert_int_equal(mkdir(at(NAME), 0700), 0);
	record(dead_pid(), 1, boot_here(), inv_process_ns(), "");
	file(NAME "/inviso_tracer.so", "x");
	file(NAME "/inviso_spool", "x");
	file(NAME "/inviso_engine.so", "x");
	assert_int_equal(mkdir(at(NAME "/live-2"), 0700), 0);
	file(NAME "/live-2/t.log", "x");
}

static void sweep(void)
{
	const char *parents[] = { "/nonexistent", top, top };

	inv_sweep(parents, 3);
}

static bool has_binaries(void)
{
	bool spool = is_there(NAME "/inviso_spool");

	assert_int_equal(is_there(NAME "/inviso_tracer.so"), spool);
	assert_int_equal(is_there(NAME "/inviso_engine.so"), spool);
	assert_int_equal(is_there(NAME "/live-2/t.log"), spool);
	return spool;
}

static void files_of_a_dead_vm_are_removed(void **state)
{
	(void)state;
	dead_place();
	assert_int_equal(mkdir(at(NAME "/room-1"), 0700), 0);
	sweep();
	assert_false(is_there(NAME));
}

static void a_recording_is_kept_with_the_record(void **state)
{
	(void)state;
	dead_place();
	assert_int_equal(mkdir(at(NAME "/room-1"), 0700), 0);
	file(NAME "/room-1/box.log", "x");
	sweep();
	assert_false(has_binaries());
	assert_true(is_there(NAME "/room-1/box.log"));
	assert_true(is_there(NAME "/node"));
	sweep();
	assert_true(is_there(NAME "/room-1/box.log"));
}

static void a_living_vm_keeps_its_place(void **state)
{
	(void)state;
	dead_place();
	record(getpid(), inv_process_start(getpid()), boot_here(),
	       inv_process_ns(), "");
	sweep();
	assert_true(has_binaries());
	/* The start time of the VM is not known. */
	record(getpid(), 0, boot_here(), inv_process_ns(), "");
	sweep();
	assert_true(has_binaries());
}

static void a_reused_pid_is_another_process(void **state)
{
	(void)state;
	dead_place();
	record(getpid(), inv_process_start(getpid()) + 1, boot_here(),
	       inv_process_ns(), "");
	sweep();
	assert_false(is_there(NAME));
}

static void a_zombie_is_dead(void **state)
{
	pid_t pid = fork();
	siginfo_t info;

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	dead_place();
	record(pid, 1, boot_here(), inv_process_ns(), "");
	sweep();
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(is_there(NAME));
}

/* The place belongs to a VM in another container. Ids of its OS processes mean
 * nothing here, so only the lock shows whether the VM runs. */
static void in_another_container_the_lock_decides(void **state)
{
	int fd;

	(void)state;
	dead_place();
	record(dead_pid(), 1, boot_here(), inv_process_ns() + 1, "");
	sweep();
	assert_true(has_binaries());
	record(dead_pid(), 1, boot_here(), inv_process_ns() + 1, "locked\n");
	fd = open(at(NAME "/node"), O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	sweep();
	assert_true(has_binaries());
	close(fd);
	sweep();
	assert_false(is_there(NAME));
}

static void the_lock_keeps_a_place_whatever_the_record_says(void **state)
{
	int fd;

	(void)state;
	dead_place();
	fd = open(at(NAME "/node"), O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	sweep();
	assert_true(has_binaries());
	close(fd);
}

static bool is_dead(bool local)
{
	int parent = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct inv_place p;
	bool dead;

	assert_true(inv_place_open(&p, parent, NAME));
	assert_true(p.local);
	p.local = local;
	dead = inv_place_is_dead(&p);
	inv_place_close(&p);
	close(parent);
	return dead;
}

/* The record in a place (its file `node') names another boot. If the place is
 * on a network file system, its VM may run on another machine. If it is on a
 * disk of this machine, it is from an earlier boot, so its VM is dead. */
static void another_boot_is_of_this_machine_on_its_own_disk(void **state)
{
	(void)state;
	dead_place();
	record(getpid(), 1, BOOT, inv_process_ns(), "");
	assert_false(is_dead(false));
	assert_true(is_dead(true));
	record(getpid(), 1, BOOT, inv_process_ns(), "locked\n");
	assert_false(is_dead(false));
	assert_true(is_dead(true));
	/* If the boot id is not known, nothing can be compared. */
	record(dead_pid(), 1, "", inv_process_ns(), "");
	assert_false(is_dead(true));
}

/* The record in a place is young and names another boot. The place may belong
 * to a VM in a container: a container can have another boot id, and a VM locks
 * the record only after it has written it. */
static void a_young_place_of_another_boot_may_belong_to_a_container(
	void **state)
{
	const time_t now = time(NULL);

	(void)state;
	dead_place();
	record_at(now - 60, getpid(), 1, BOOT, inv_process_ns(), "");
	assert_false(is_dead(true));
	record_at(now + 60, getpid(), 1, BOOT, inv_process_ns(), "");
	assert_false(is_dead(true));
	record_at(now - 7200, getpid(), 1, BOOT, inv_process_ns(), "");
	assert_true(is_dead(true));
	/* The VM had locked the record. Now the record is not locked, so the VM
	 * is dead. */
	record_at(now - 60, getpid(), 1, BOOT, inv_process_ns(), "locked\n");
	assert_true(is_dead(true));
}

static void where_no_lock_can_be_taken_another_boot_proves_nothing(void **state)
{
	(void)state;
	dead_place();
	record(getpid(), 1, BOOT, inv_process_ns(), "nolock\n");
	assert_false(is_dead(true));
	/* Only the last line of the record counts. */
	record(getpid(), 1, BOOT, inv_process_ns(), "locked\nnolock\n");
	assert_false(is_dead(true));
	record(getpid(), 1, BOOT, inv_process_ns(), "nolock\nlocked\n");
	assert_true(is_dead(true));
	/* The pid decides, because kernel and pid namespace are those of
	 * this process. */
	record(dead_pid(), 1, boot_here(), inv_process_ns(), "nolock\n");
	assert_true(is_dead(true));
}

static void a_place_without_a_valid_record_is_kept(void **state)
{
	(void)state;
	dead_place();
	assert_int_equal(unlink(at(NAME "/node")), 0);
	sweep();
	assert_true(has_binaries());
	/* The record has an unknown version. */
	file(NAME "/node", "inviso-place 2\npid 1\ntime 1763822121\n");
	sweep();
	assert_true(has_binaries());
	/* The record is incomplete. */
	file(NAME "/node", "inviso-place 1\npid 1\ntime 176");
	sweep();
	assert_true(has_binaries());
}

static void old(const char *name)
{
	struct timespec t[2] = { { .tv_sec = 1763822121 },
				 { .tv_sec = 1763822121 } };

	assert_int_equal(utimensat(AT_FDCWD, at(name), t, 0), 0);
}

static void an_old_unfinished_place_is_removed(void **state)
{
	(void)state;
	assert_int_equal(mkdir(at(NAME), 0700), 0);
	assert_int_equal(mkdir(at(OTHER), 0700), 0);
	file(OTHER "/node", "");
	sweep();
	assert_true(is_there(NAME));
	assert_true(is_there(OTHER));
	old(NAME);
	old(OTHER);
	sweep();
	assert_false(is_there(NAME));
	assert_false(is_there(OTHER));
}

/* The record is incomplete because the disk was full or the machine lost power.
 * If the record is old, the place is removed. */
static void an_old_incomplete_record_is_removed(void **state)
{
	static const char *const begun[] = {
		"inviso-pl",
		"inviso-place 1\n",
		"inviso-place 1\nnode shop@vm\npid 47",
		"inviso-place 1\nnode shop@vm\npid 4711\ntime 17",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(begun) / sizeof(*begun); i++) {
		assert_int_equal(mkdir(at(NAME), 0700), 0);
		file(NAME "/node", begun[i]);
		sweep();
		assert_true(is_there(NAME));
		old(NAME);
		sweep();
		assert_false(is_there(NAME));
	}
	/* A record of an unknown version may be complete although it looks
	 * incomplete. */
	assert_int_equal(mkdir(at(NAME), 0700), 0);
	file(NAME "/node", "inviso-place 2\npid 1\n");
	old(NAME);
	sweep();
	assert_true(is_there(NAME));
	/* A place with a recording is kept. */
	file(NAME "/node", "inviso-place 1\npid 1\n");
	assert_int_equal(mkdir(at(NAME "/room-1"), 0700), 0);
	old(NAME);
	sweep();
	assert_true(is_there(NAME "/room-1"));
}

static void other_files_are_kept(void **state)
{
	(void)state;
	dead_place();
	file(NAME "/notes", "x");
	file("important", "x");
	assert_int_equal(symlink(top, at(NAME "/live-3")), 0);
	sweep();
	assert_false(is_there(NAME "/inviso_spool"));
	assert_true(is_there(NAME "/notes"));
	assert_true(is_there(NAME "/node"));
	assert_true(is_there("important"));
}

/* A directory is never removed if it has other permissions or another name, or
 * if it is a symbolic link. */
static void only_private_directories_are_swept(void **state)
{
	(void)state;
	dead_place();
	assert_int_equal(chmod(at(NAME), 0770), 0);
	sweep();
	assert_true(has_binaries());
	assert_int_equal(chmod(at(NAME), 0700), 0);
	assert_int_equal(rename(at(NAME), at("mine")), 0);
	sweep();
	assert_true(is_there("mine/inviso_spool"));
	assert_int_equal(symlink("mine", at(NAME)), 0);
	sweep();
	assert_true(has_binaries());
}

static void a_record_that_is_a_link_is_not_followed(void **state)
{
	(void)state;
	dead_place();
	assert_int_equal(rename(at(NAME "/node"), at("record")), 0);
	assert_int_equal(symlink("../record", at(NAME "/node")), 0);
	sweep();
	assert_true(has_binaries());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, take_away)
	const struct CMUnitTest tests[] = {
		TEST(files_of_a_dead_vm_are_removed),
		TEST(a_recording_is_kept_with_the_record),
		TEST(a_living_vm_keeps_its_place),
		TEST(a_reused_pid_is_another_process),
		TEST(a_zombie_is_dead),
		TEST(in_another_container_the_lock_decides),
		TEST(the_lock_keeps_a_place_whatever_the_record_says),
		TEST(another_boot_is_of_this_machine_on_its_own_disk),
		TEST(a_young_place_of_another_boot_may_belong_to_a_container),
		TEST(where_no_lock_can_be_taken_another_boot_proves_nothing),
		TEST(a_place_without_a_valid_record_is_kept),
		TEST(an_old_unfinished_place_is_removed),
		TEST(an_old_incomplete_record_is_removed),
		TEST(other_files_are_kept),
		TEST(only_private_directories_are_swept),
		TEST(a_record_that_is_a_link_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
