/* SPDX-License-Identifier: Apache-2.0 */

/*
 * inviso_spool, the spooler: writes the events in a tracer's rings to the
 * tracer's log. The tracer's keeper, a process in the VM, starts it as a port
 * program. If the VM dies, the spooler continues until the rings are empty.
 */

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spool/attach.h"
#include "spool/cleanup.h"
#include "spool/loop.h"
#include "spool/sweep.h"

#define PREDECESSOR_MS 10000
#define SWEEP_MAX 16

struct args {
	int pid;
	int fd;
	const char *ring;
	const char *socket;
	const char *brought;
	bool brought_log;
	const char *sweep[SWEEP_MAX];
	size_t n_sweep;
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "the pid of the VM; with --fd", 0 },
	{ "fd", 'f', "N", 0,
	  "use descriptor N of the VM as the rings; with "
	  "--pid",
	  0 },
	{ "ring", 'r', "FILE", 0, "use FILE as the rings", 0 },
	{ "socket", 's', "PATH", 0,
	  "receive the descriptor of the rings from this unix socket", 0 },
	{ "brought", 'b', "DIR", 0,
	  "remove library and spooler from DIR when the VM has died", 0 },
	{ "brought-log", 'l', NULL, 0, "also remove the log; with --brought",
	  0 },
	{ "sweep", 'w', "DIR", 0,
	  "only remove what dead nodes of this user left in DIR; can be "
	  "repeated",
	  0 },
	{ 0 }
};

static int number(const char *text, struct argp_state *state)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < 0 || n > INT32_MAX)
		argp_error(state, "%s: not a number", text);
	return (int)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'p':
		a->pid = number(arg, state);
		return 0;
	case 'f':
		a->fd = number(arg, state);
		return 0;
	case 'r':
		a->ring = arg;
		return 0;
	case 's':
		a->socket = arg;
		return 0;
	case 'b':
		a->brought = arg;
		return 0;
	case 'l':
		a->brought_log = true;
		return 0;
	case 'w':
		if (a->n_sweep == SWEEP_MAX)
			argp_error(state, "--sweep: at most %d", SWEEP_MAX);
		else
			a->sweep[a->n_sweep++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->n_sweep)
			return 0;
		if ((a->pid > 0 && a->fd >= 0) + !!a->ring + !!a->socket != 1)
			argp_error(state, "give --pid and --fd, or --ring, "
					  "or --socket");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Writes what a tracer of inviso records from its rings into its "
	       "log. The tracer starts this program by itself.",
};

static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/*
 * Redirects standard output and standard error to /dev/null, so that nothing is
 * written to files of the VM. If standard output is the port's pipe, keeps the
 * pipe open as another descriptor, because otherwise the port would close.
 */
static void leave_outputs(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (is_pipe(1))
		(void)fcntl(1, F_DUPFD_CLOEXEC, 3);
	if (null < 0)
		return;
	dup2(null, 1);
	dup2(null, 2);
	if (null > 2)
		close(null);
}

/* Detaches from what this program has inherited from the VM: its descriptors
 * from 3 on, its session (setsid), and its working directory. */
static void leave_home(void)
{
	(void)syscall(SYS_close_range, 3u, ~0u, 0u);
	(void)setsid();
	umask(077);
	if (chdir("/") < 0)
		(void)errno; /* this does no harm: the working directory stays
				the same */
}

static int only_sigterm(void)
{
	static const int ignored[] = { SIGPIPE, SIGHUP, SIGINT, SIGQUIT,
				       SIGXFSZ };
	sigset_t term;
	size_t i;

	for (i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_SETMASK, &term, NULL);
	return signalfd(-1, &term, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int attach(struct inv_attached *mem, const struct args *a,
		  struct inv_err *err)
{
	if (a->ring)
		return inv_attach_file(mem, a->ring, PREDECESSOR_MS, err);
	if (a->socket)
		return inv_attach_socket(mem, a->socket, PREDECESSOR_MS, err);
	return inv_attach_proc(mem, a->pid, a->fd, PREDECESSOR_MS, err);
}

/*
 * Removes the places of dead VMs (spool/sweep.h). The node starts this program
 * for a sweep when a client attaches to the node. The node waits only for the
 * word "ready", which shows that programs in this directory can be executed.
 */
static int sweep(const struct args *a)
{
	static const char word[] = "ready\n";
	ssize_t n = write(1, word, sizeof(word) - 1);

	(void)n;
	leave_home();
	leave_outputs();
	inv_sweep(a->sweep, a->n_sweep);
	return 0;
}

/*
 * If a spooler cannot attach, it has no shared memory in which it could report
 * the error to the keeper. So its exit status is this number plus the step that
 * failed. inviso_keeper.erl has a text for each step.
 */
#define NOT_ATTACHED 10

int main(int argc, char **argv)
{
	struct args a = { .fd = -1 };
	struct inv_serve how = { -1, -1 };
	struct inv_err err = { 0 };
	struct inv_attached mem;
	char *ring = NULL;
	bool port;
	int status;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (a.n_sweep)
		return sweep(&a);
	if (a.ring) { /* a path that is relative to the working directory,
			 which changes below */
		ring = realpath(a.ring, NULL);
		if (!ring) {
			perror(a.ring);
			return 1;
		}
		a.ring = ring;
	}
	port = is_pipe(0);
	leave_home();
	if (port) {
		leave_outputs();
		how.wake_fd = 0;
		(void)fcntl(0, F_SETFL, O_NONBLOCK);
	}
	how.term_fd = only_sigterm();
	if (attach(&mem, &a, &err) < 0) {
		if (!port)
			fprintf(stderr, "inviso_spool: %s\n", err.text);
		free(ring);
		return port ? NOT_ATTACHED + (int)mem.step : 1;
	}
	status = inv_spool_serve(&mem, &how);
	if (status == 0 && atomic_load(&mem.ctl->spool_state) == INV_SPOOL_DONE)
		inv_attach_remove(&mem);
	if (a.brought)
		inv_place_cleanup(&mem, a.brought, a.brought_log);
	inv_detach(&mem);
	free(ring);
	return status;
}
