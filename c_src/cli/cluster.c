/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cluster.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cmd.h"

#define LEAVE_MS 10000
#define SLOW_MS 2000

const char *inv_cluster_name(const struct inv_cluster *c, size_t i)
{
	return inv_conn_name(c->v[i].conn)->full;
}

int inv_cluster_ms(const struct inv_cluster *c)
{
	return (int)c->opts->timeout_ms;
}

int inv_exit_of(int code)
{
	switch (code) {
	case 0:
		return INV_EXIT_DONE;
	case INV_EUNREACHABLE:
	case INV_ENONODE:
	case INV_ELOST:
	case INV_ETIME:
		return INV_EXIT_UNREACHABLE;
	case INV_EREFUSED:
		return INV_EXIT_REFUSED;
	case INV_ENOTHING:
		return INV_EXIT_NOTHING;
	case INV_EINVAL:
		return INV_EXIT_USAGE;
	default:
		return INV_EXIT_FAILED;
	}
}

/* --- open ----------------------------------------------------------------- */

static void fill_owner(struct inv_cluster *c)
{
	const struct passwd *pw = getpwuid(geteuid());
	char host[128] = "";

	if (gethostname(host, sizeof(host) - 1))
		snprintf(host, sizeof(host), "localhost");
	if (pw)
		snprintf(c->owner, sizeof(c->owner), "%.64s@%s (os pid %ld)",
			 pw->pw_name, host, (long)getpid());
	else
		snprintf(c->owner, sizeof(c->owner), "%lu@%s (os pid %ld)",
			 (unsigned long)geteuid(), host, (long)getpid());
}

int inv_cluster_open(struct inv_cluster *c, const char *program,
		     const struct inv_node_opts *opts, bool status_line)
{
	memset(c, 0, sizeof(*c));
	c->opts = opts;
	c->stop.fd = -1;
	fill_owner(c);
	if (inv_stop_open(&c->stop)) {
		fprintf(stderr, "%s: signals: %s\n", program, strerror(errno));
		return INV_EXIT_FAILED;
	}
	if (inv_screen_open(&c->screen, program, status_line)) {
		fprintf(stderr, "%s: no memory or threads\n", program);
		inv_stop_close(&c->stop);
		return INV_EXIT_FAILED;
	}
	return INV_EXIT_DONE;
}

/* --- connect -------------------------------------------------------------- */

static int failed(struct inv_cluster *c, const struct inv_err *err)
{
	inv_screen_note(c->screen, "%s", err->text);
	return inv_exit_of(err->code) == INV_EXIT_USAGE ?
		       INV_EXIT_FAILED :
		       inv_exit_of(err->code);
}

/* Returns true if c->v already has this node. A node with the same name at
 * another port is another node; settle_names reports such nodes as an error. */
static bool known(const struct inv_cluster *c, const struct inv_node_name *name)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct inv_node_name *n = inv_conn_name(c->v[i].conn);

		if (!strcmp(n->full, name->full) &&
		    (!n->port || !name->port || n->port == name->port))
			return true;
	}
	return false;
}

/* Returns true if the user says that the node does not use TLS. */
static bool is_plain(struct inv_cluster *c, const struct inv_node_name *name)
{
	const struct inv_node_names *plain = &c->opts->tls.plain;

	for (size_t i = 0; i < plain->n; i++)
		if (!strcmp(plain->names[i].full, name->full)) {
			c->plain_used[i] = true;
			return true;
		}
	return false;
}

/* Starts to connect to a node. The array v has space for the node. If it is
 * already known that the node cannot be reached, `unreachable' is the reason;
 * otherwise NULL. */
static int begin(struct inv_cluster *c, const struct inv_node_name *name,
		 const struct inv_err *unreachable, struct inv_err *err)
{
	struct inv_conn_opts o = {
		.cookie = c->cookie.text,
		.at = c->opts->has_at ? &c->opts->at : NULL,
		.tls = is_plain(c, name) ? NULL : c->tls,
		.unreachable = unreachable,
		.connect_ms = inv_cluster_ms(c),
	};
	struct inv_conn *conn = inv_conn_open(name, &o, c->in, err);

	if (!conn)
		return err->code;
	memset(&c->v[c->n], 0, sizeof(c->v[c->n]));
	memset(&c->notified[c->n], 0, sizeof(c->notified[c->n]));
	c->v[c->n++].conn = conn;
	return 0;
}

static int grow(struct inv_cluster *c, size_t more, struct inv_err *err)
{
	size_t n = c->n + more + 1;
	struct inv_attach *v = realloc(c->v, n * sizeof(*v));
	struct inv_notified *notified =
		realloc(c->notified, n * sizeof(*notified));

	c->v = v ? v : c->v;
	c->notified = notified ? notified : c->notified;
	return v && notified ? 0 : inv_err_set(err, INV_ENOMEM, "no memory");
}

static int begin_all(struct inv_cluster *c, const struct inv_node_names *names,
		     struct inv_err *err)
{
	int rc = grow(c, names->n, err);

	for (size_t i = 0; !rc && i < names->n; i++)
		if (!known(c, &names->names[i]))
			rc = begin(c, &names->names[i], NULL, err);
	return rc;
}

/* Starts to connect to the nodes of --dns. */
static int begin_dns(struct inv_cluster *c, struct inv_err *err)
{
	struct inv_patience p = { inv_mono_ms() + inv_cluster_ms(c),
				  c->stop.fd };
	struct inv_dns_nodes found = { 0 };
	int rc = 0;

	for (size_t i = 0; !rc && i < c->opts->n_dns; i++)
		rc = inv_dns_find(&c->opts->dns[i], &p, &found, err);
	if (!rc)
		rc = grow(c, found.n, err);
	for (size_t i = 0; !rc && i < found.n; i++) {
		const struct inv_dns_node *n = &found.v[i];

		if (!known(c, &n->name))
			rc = begin(c, &n->name, n->err.code ? &n->err : NULL,
				   err);
	}
	inv_dns_nodes_release(&found);
	return rc;
}

/* Removes v[i], which is connected. */
static void drop(struct inv_cluster *c, size_t i)
{
	inv_conn_close(c->v[i].conn);
	inv_attach_release(&c->v[i], 1);
	c->n--;
	memmove(&c->v[i], &c->v[i + 1], (c->n - i) * sizeof(c->v[i]));
	memmove(&c->notified[i], &c->notified[i + 1],
		(c->n - i) * sizeof(c->notified[i]));
}

static void same_name(struct inv_attach *at, const char *name,
		      const char *address)
{
	at->code = inv_err_set(
		&at->err, INV_EINVAL,
		"nodes at %s and %s have this name; inviso tells nodes apart "
		"by their names, so trace them one at a time: -n %s --at "
		"ADDRESS:PORT",
		address, inv_conn_address(at->conn), name);
}

/* Returns true if a and b are connected and have the same name. */
static bool share_name(const struct inv_attach *a, const struct inv_attach *b)
{
	return !a->code && !b->code &&
	       !strcmp(inv_conn_name(a->conn)->full,
		       inv_conn_name(b->conn)->full);
}

/*
 * If two connections lead to the same node, closes one of them. This happens if
 * the user gives a node's name with -n and its address with --dns. But if two
 * nodes at different addresses have the same name, such as app@127.0.0.1 in
 * pods, sets an error for the second node.
 */
static void settle_names(struct inv_cluster *c)
{
	for (size_t i = 1; i < c->n;) {
		const char *first;
		size_t k = 0;

		while (k < i && !share_name(&c->v[k], &c->v[i]))
			k++;
		first = inv_conn_address(c->v[k].conn);
		if (k < i && !strcmp(first, inv_conn_address(c->v[i].conn))) {
			drop(c, i);
			continue;
		}
		if (k < i)
			same_name(&c->v[i], inv_cluster_name(c, i), first);
		i++;
	}
}

/* Handles a signal of the user that arrived while the command connected to
 * nodes, or waited for their answers. */
static int interrupted(struct inv_cluster *c)
{
	inv_screen_note(c->screen, "interrupted");
	inv_stop_take(&c->stop);
	c->stopped = true;
	return INV_EXIT_FAILED;
}

bool inv_cluster_does_without(const struct inv_cluster *c, size_t i)
{
	return c->dispensable && c->v[i].code == INV_ENONODE &&
	       c->dispensable(c->dispensable_arg, inv_conn_name(c->v[i].conn));
}

static bool reached_any(const struct inv_cluster *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (!c->v[i].code)
			return true;
	return false;
}

static void tell_skipped(struct inv_cluster *c, size_t i)
{
	if (!c->notified[i].failed)
		inv_screen_note(c->screen, "%s: skipped: %s",
				inv_cluster_name(c, i),
				inv_screen_without(c->v[i].err.text,
						   inv_cluster_name(c, i)));
	c->notified[i].failed = true;
}

/*
 * Reports each failure once. Returns the exit code of the first node that
 * failed. With --skip-unreachable, an unreachable node does not count as failed
 * if another node was reached.
 */
static int tell(struct inv_cluster *c, int cancelled)
{
	int status = INV_EXIT_DONE;
	bool skip = c->opts->skip && reached_any(c);

	if (cancelled == INV_ECANCELLED)
		return interrupted(c);
	for (size_t i = 0; i < c->n; i++) {
		const struct inv_attach *at = &c->v[i];
		int exit_status = inv_exit_of(at->code);

		if (!at->code || inv_cluster_does_without(c, i))
			continue;
		if (skip && exit_status == INV_EXIT_UNREACHABLE) {
			tell_skipped(c, i);
			continue;
		}
		/* For a node, INV_EXIT_USAGE means that this kind of node is
		 * not supported, which is no mistake in the user's options. */
		if (exit_status == INV_EXIT_USAGE)
			exit_status = INV_EXIT_FAILED;
		if (!c->notified[i].failed)
			inv_screen_note_node(c->screen, inv_cluster_name(c, i),
					     at->err.text);
		c->notified[i].failed = true;
		if (!status)
			status = exit_status;
	}
	if (status == INV_EXIT_REFUSED &&
	    c->cookie.source == INV_COOKIE_RELEASE && !c->notified_cookie) {
		inv_screen_note(c->screen, "the cookie of RELEASE_COOKIE was "
					   "used; INVISO_COOKIE and "
					   "--cookie-file take precedence");
		c->notified_cookie = true;
	}
	return status;
}

/* Adds the nodes to which the named nodes are connected. */
static int add_others(struct inv_cluster *c, struct inv_err *err)
{
	size_t n = c->n;
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		/* This is a copy, because begin_all adds nodes to c->v, and may
		 * move the array. */
		struct inv_node_names others = c->v[i].survey.others;

		if (c->v[i].state != INV_ATTACH_NONE && !c->v[i].code)
			rc = begin_all(c, &others, err);
	}
	return rc;
}

/* Reports a slow node long before --timeout has passed, so that the user knows
 * what the command waits for. */
static void tell_slow(void *arg, const struct inv_conn *conn)
{
	struct inv_cluster *c = arg;

	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].conn != conn || c->notified[i].slow)
			continue;
		c->notified[i].slow = true;
		inv_screen_note(c->screen, "%s: waiting for it ...",
				inv_cluster_name(c, i));
	}
}

/* Surveys the nodes that were not surveyed yet. */
static int survey(struct inv_cluster *c)
{
	struct inv_attach_opts o = {
		.ms = inv_cluster_ms(c),
		.survey_only = true,
	};

	return inv_attach_all(c->v, c->n, c->in, &o, c->stop.fd);
}

/* Checks that each --plain names a node. With -n all and --dns, the names of
 * the nodes are known only now. */
static int check_plain(struct inv_cluster *c)
{
	const struct inv_node_names *plain = &c->opts->tls.plain;

	for (size_t i = 0; i < plain->n; i++) {
		if (c->plain_used[i])
			continue;
		inv_screen_note(c->screen,
				"--plain %s: none of the nodes is called that",
				plain->names[i].full);
		return INV_EXIT_USAGE;
	}
	return INV_EXIT_DONE;
}

static int open_tls(struct inv_cluster *c, struct inv_err *err)
{
	const char *warning;

	c->plain_used = calloc(c->opts->tls.plain.n + 1, sizeof(bool));
	if (!c->plain_used)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	if (!inv_tls_args_given(&c->opts->tls))
		return 0;
	c->tls = inv_tls_args_open(&c->opts->tls, &warning, err);
	if (warning)
		inv_screen_note(c->screen, "%s", warning);
	return c->tls ? 0 : err->code;
}

int inv_cluster_connect(struct inv_cluster *c)
{
	struct inv_err err = { 0 };
	int rc;

	if (c->opts->from_release)
		inv_screen_note(c->screen,
				"no -n is given: using the node of "
				"RELEASE_NODE, %s",
				c->opts->names.names[0].full);
	rc = inv_cookie_find(&c->cookie, c->opts->cookie, c->opts->cookie_file,
			     &err);
	if (!rc && c->cookie.source == INV_COOKIE_OPTION)
		inv_screen_note(c->screen,
				"warning: others on this machine can see the "
				"cookie of -c; INVISO_COOKIE and --cookie-file "
				"keep it secret");
	if (!rc) {
		c->in = inv_inbox_new(&err);
		rc = c->in ? 0 : err.code;
	}
	if (!rc)
		rc = open_tls(c, &err);
	if (!rc)
		rc = begin_all(c, &c->opts->names, &err);
	if (rc)
		return failed(c, &err);
	if (isatty(STDERR_FILENO))
		inv_inbox_on_slow(c->in, SLOW_MS, tell_slow, c);
	inv_screen_status(c->screen, "connecting ...");
	rc = begin_dns(c, &err);
	if (rc)
		return rc == INV_ELOST ? interrupted(c) : failed(c, &err);
	rc = survey(c);
	if (rc != INV_ECANCELLED)
		settle_names(c);
	if (c->opts->all && rc != INV_ECANCELLED) {
		if (add_others(c, &err))
			return failed(c, &err);
		rc = survey(c);
	}
	rc = tell(c, rc);
	return rc ? rc : check_plain(c);
}

int inv_cluster_attach(struct inv_cluster *c, bool tracer, const char *dir)
{
	const char *dirs[] = { dir };
	struct inv_attach_opts o = {
		.owner = c->owner,
		.tracer = tracer,
		.dirs = dirs,
		.n_dirs = dir ? 1 : 0,
		.ms = inv_cluster_ms(c),
	};

	inv_screen_status(c->screen, "attaching ...");
	return tell(c, inv_attach_all(c->v, c->n, c->in, &o, c->stop.fd));
}

int inv_cluster_join(struct inv_cluster *c)
{
	int status = inv_cluster_connect(c);
	int rc;

	if (c->stopped || !c->n)
		return status ? status : INV_EXIT_FAILED;
	rc = inv_cluster_attach(c, false, NULL);
	return status ? status : rc;
}

/* --- requests ------------------------------------------------------------- */

int inv_cluster_ask(struct inv_cluster *c,
		    void (*ask)(void *arg, struct inv_ask *out,
				struct inv_conn *conn),
		    int (*got)(void *arg, size_t i, const struct inv_ask *ask),
		    void *arg)
{
	struct inv_ask *asks;
	int status = INV_EXIT_DONE;

	if (c->stopped || !c->n)
		return INV_EXIT_FAILED;
	asks = calloc(c->n, sizeof(*asks));
	if (!asks) {
		inv_screen_note(c->screen, "no memory");
		return INV_EXIT_FAILED;
	}
	for (size_t i = 0; i < c->n; i++)
		if (!c->v[i].code && c->v[i].conn)
			ask(arg, &asks[i], c->v[i].conn);
	if (inv_gather(c->in, asks, c->n, c->stop.fd))
		status = interrupted(c);
	for (size_t i = 0; i < c->n; i++) {
		int rc = asks[i].done ? got(arg, i, &asks[i]) : INV_EXIT_DONE;

		if (!status)
			status = rc;
	}
	inv_asks_release(asks, c->n);
	free(asks);
	return status;
}

/* --- leave and close ------------------------------------------------------ */

void inv_cluster_leave(struct inv_cluster *c)
{
	int ms = inv_cluster_ms(c) < LEAVE_MS ? inv_cluster_ms(c) : LEAVE_MS;
	size_t was = 0;
	int rc;

	if (!c->in)
		return;
	inv_screen_status(c->screen, "leaving ...");
	for (size_t i = 0; i < c->n; i++)
		was += c->v[i].code != 0;
	rc = inv_leave_all(c->v, c->n, c->in, ms, c->stop.fd);
	if (rc == INV_ECANCELLED)
		inv_cluster_abandon(c);
	inv_screen_status(c->screen, "");
	/* Nodes whose connection was lost have been reported already. */
	for (size_t i = 0; rc && !was && i < c->n; i++)
		if (c->v[i].code && c->v[i].code != INV_ELOST)
			inv_screen_note_node(c->screen, inv_cluster_name(c, i),
					     c->v[i].err.text);
}

int inv_cluster_close(struct inv_cluster *c, int status)
{
	for (size_t i = 0; i < c->n; i++)
		inv_conn_close(c->v[i].conn);
	inv_attach_release(c->v, c->n);
	free(c->v);
	free(c->notified);
	free(c->plain_used);
	inv_inbox_free(c->in);
	inv_tls_free(c->tls);
	/* Everything is cleaned up. From now on a signal may end the program,
	 * even while it waits for a stopped terminal. */
	inv_stop_close(&c->stop);
	if (!inv_screen_close(c->screen))
		status = INV_EXIT_FAILED;
	explicit_bzero(&c->cookie, sizeof(c->cookie));
	return status;
}

void inv_cluster_abandon(struct inv_cluster *c)
{
	static const char text[] =
		"\r\033[Kinterrupted again: the nodes clean up by themselves\n";
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	size_t from = isatty(STDERR_FILENO) ? 0 : 4;
	ssize_t n;

	(void)c;
	if (poll(&out, 1, 0) == 1 && out.revents & POLLOUT) {
		n = write(STDERR_FILENO, text + from, sizeof(text) - 1 - from);
		(void)n;
	}
	_exit(INV_EXIT_FAILED);
}
