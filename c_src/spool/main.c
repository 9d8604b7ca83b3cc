/* SPDX-License-Identifier: Apache-2.0 */

/*
 * inviso_spool: takes what a tracer records out of its rings and puts it into
 * its log.  A port program of the tracer's owner; outlives its VM for as long
 * as it takes to empty the rings.
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
#include "spool/brought.h"
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
	{ "pid", 'p', "PID", 0, "the VM; with --fd", 0 },
	{ "fd", 'f', "N", 0, "number of its descriptor of the rings", 0 },
	{ "ring", 'r', "FILE", 0, "the rings lie in FILE", 0 },
	{ "socket", 's', "PATH", 0,
	  "a unix socket from which their descriptor comes", 0 },
	{ "brought", 'b', "DIR", 0,
	  "remove what was brought to DIR when the VM has died", 0 },
	{ "brought-log", 'l', NULL, 0, "and the log", 0 },
	{ "sweep", 'w', "DIR", 0,
	  "only remove what dead nodes of this user left in DIR; may be given "
	  "several times",
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
	.doc = "Takes what a tracer of inviso records out of its rings and "
	       "puts it into its log. The tracer starts it by itself.",
};

static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/*
 * Nothing is ever written to what we inherited.  The port's pipe stays open
 * all the same, out of reach: the port would close with it.
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

/* Of the VM's descriptors, its terminal, its directory, its signals. */
static void leave_home(void)
{
	(void)syscall(SYS_close_range, 3u, ~0u, 0u);
	(void)setsid();
	umask(077);
	if (chdir("/") < 0)
		(void)errno; /* then we keep it busy, no more */
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
 * The node waits for the first word only, which tells that programs can be
 * executed here; then it has other things to do.
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

/* The exit status of one that a keeper started and that has no memory to put
 * its error into: this, and the step that failed.  inviso_keeper.erl has words
 * for each. */
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
	if (a.ring) { /* before the directory changes */
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
		inv_brought_remove(&mem, a.brought, a.brought_log);
	inv_detach(&mem);
	free(ring);
	return status;
}
