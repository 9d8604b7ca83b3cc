/* SPDX-License-Identifier: Apache-2.0 */
/* Runs `inviso trace' for the chosen row, in the foreground of the terminal. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/helper.h"
#include "cli/shell_word.h"
#include "top/run.h"
#include "top/terminal.h"

/* How long to wait for the end of a trace after it was asked to end. */
#define END_MS 5000
/* How long to wait until the terminal has accepted the title. */
#define TITLE_MS 500

/* Appends the arguments of a shell command that traces the row. */
static void put_command(const struct inv_top_run *r,
			const struct inv_top_row *row, struct inv_buf *b)
{
	inv_buf_puts(b, "trace");
	for (size_t i = 0; i < r->n; i++)
		if (row->node == i || row->node == INV_TOP_SEVERAL)
			inv_members_put_target(&r->timed, i, b);
	inv_node_opts_put_rest(&r->nodes, b);
	inv_buf_putc(b, ' ');
	if (row->function) {
		inv_shell_word_put(b, row->key);
	} else {
		inv_buf_puts(b, "--procs ");
		inv_shell_word_put(b, row->key);
		inv_buf_puts(b, " send receive");
	}
	inv_buf_putc(b, 0);
}

/* Gives the terminal's foreground to a process group. */
static void give_terminal(pid_t group)
{
	sigset_t out, before;

	/* tcsetpgrp() stops a caller in the background, unless the caller
	 * blocks SIGTTOU. */
	sigemptyset(&out);
	sigaddset(&out, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &out, &before);
	(void)tcsetpgrp(STDIN_FILENO, group);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Runs in the new process, and executes the trace. Passes the cookie in the
 * environment, where other users cannot see it. */
_Noreturn static void execute(const struct inv_top_run *r, const char *command,
			      const char *program, pid_t parent)
{
	char *line;

	setpgid(0, 0);
	give_terminal(getpid());
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	pthread_sigmask(SIG_SETMASK, &r->cluster.stop.before, NULL);
	if (getppid() == parent &&
	    !setenv("INVISO_COOKIE", r->cluster.cookie.text, 1) &&
	    asprintf(&line, "exec \"$0\" %s", command) >= 0)
		execl("/bin/sh", "sh", "-c", line, program, (char *)NULL);
	fprintf(stderr, "inviso top: %s: %s\n", program,
		strerror(errno)); /* NOLINT: one thread */
	_exit(127);
}

static void failed(struct inv_top_run *r, const char *what)
{
	snprintf(r->model.note, sizeof(r->model.note), "%s: %s", what,
		 strerror(errno)); /* NOLINT: only this thread */
	r->dirty = true;
}

static void start(struct inv_top_run *r, const char *command,
		  const char *program)
{
	struct inv_buf title = { 0 };
	pid_t parent = getpid();

	inv_terminal_close();
	inv_buf_printf(&title, "$ inviso %s\n", command);
	inv_screen_put(r->cluster.screen, &title);
	(void)inv_screen_drain(r->cluster.screen, TITLE_MS);
	r->child = fork();
	if (!r->child)
		execute(r, command, program, parent);
	r->showing = INV_TOP_SHOWS_TRACE;
	if (r->child < 0) {
		r->child = 0;
		failed(r, "fork");
		return;
	}
	setpgid(r->child, r->child);
	give_terminal(r->child);
	/* If the kernel gives no descriptor for the process, the end of the
	 * trace is noticed a bit later. */
	r->child_fd = (int)syscall(SYS_pidfd_open, r->child, 0);
}

void inv__top_trace(struct inv_top_run *r)
{
	const struct inv_top_row *row = inv_board_chosen(&r->model);
	struct inv_buf b = { 0 };
	char program[PATH_MAX];

	if (!row)
		return;
	if (row->function && row->function->others) {
		snprintf(r->model.note, sizeof(r->model.note),
			 "these are several functions: choose one");
		return;
	}
	if (inv_helper_path("inviso", program) || access(program, X_OK)) {
		failed(r, "inviso");
		return;
	}
	put_command(r, row, &b);
	if (b.error)
		inv__top_no_memory(r);
	else
		start(r, (const char *)b.data, program);
	inv_buf_release(&b);
}

bool inv__top_trace_ended(struct inv_top_run *r)
{
	if (r->child > 0 && waitpid(r->child, NULL, WNOHANG) != 0)
		r->child = 0;
	return !r->child;
}

void inv__top_trace_end(struct inv_top_run *r)
{
	int64_t until = inv_mono_ms() + END_MS;

	if (!inv__top_trace_ended(r))
		kill(-r->child, SIGTERM);
	while (!inv__top_trace_ended(r) && inv_mono_ms() < until)
		inv_sleep_ms(10);
	if (r->child > 0) {
		kill(-r->child, SIGKILL);
		waitpid(r->child, NULL, 0);
		r->child = 0;
	}
	if (r->child_fd >= 0)
		close(r->child_fd);
	r->child_fd = -1;
	if (r->showing == INV_TOP_SHOWS_TRACE)
		give_terminal(getpgrp());
}
