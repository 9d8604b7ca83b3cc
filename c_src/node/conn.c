/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "node/conn_int.h"

#define CONNECT_MS 5000
#define WRITE_MS 15000
#define ANSWER_MAX ((size_t)16 << 20)
#define QUEUE_MAX ((size_t)64 << 20)
#define TICK_MS 60000 /* used until the node reports its net_ticktime */

void inv_conn_wake(struct inv_conn *c)
{
	(void)eventfd_write(c->wake, 1);
}

static void set_opts(struct inv_conn *c, const struct inv_conn_opts *opts)
{
	c->opts = *opts;
	c->opts.cookie = NULL;
	if (opts->at) {
		c->at = *opts->at;
		c->opts.at = &c->at;
	}
	if (opts->unreachable) {
		c->unreachable = *opts->unreachable;
		c->opts.unreachable = &c->unreachable;
	}
	if (c->opts.connect_ms <= 0)
		c->opts.connect_ms = CONNECT_MS;
	if (c->opts.write_ms <= 0)
		c->opts.write_ms = WRITE_MS;
	if (c->opts.answer_max == 0)
		c->opts.answer_max = ANSWER_MAX;
	if (c->opts.queue_max == 0)
		c->opts.queue_max = QUEUE_MAX;
	snprintf(c->cookie, sizeof(c->cookie), "%s", opts->cookie);
}

static void free_conn(struct inv_conn *c)
{
	if (c->wake >= 0)
		close(c->wake);
	explicit_bzero(c->cookie, sizeof(c->cookie));
	inv_buf_release(&c->queue);
	inv_buf_release(&c->sending);
	inv_buf_release(&c->body);
	pthread_mutex_destroy(&c->lock);
	free(c->last_words);
	free(c);
}

/* Starts the thread with all signals blocked, so that other threads handle
 * them. */
static int start(struct inv_conn *c)
{
	sigset_t all;
	sigset_t was;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	r = pthread_create(&c->thread, NULL, inv_conn_run, c);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return r;
}

struct inv_conn *inv_conn_open(const struct inv_node_name *to,
			       const struct inv_conn_opts *opts,
			       struct inv_inbox *in, struct inv_err *err)
{
	struct inv_conn *c;
	int r;

	if (!opts->cookie || !opts->cookie[0] ||
	    strlen(opts->cookie) >= sizeof(c->cookie)) {
		inv_err_set(err, INV_EINVAL, "no cookie, or too long a one");
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		inv_err_set(err, INV_ENOMEM, "no memory");
		return NULL;
	}
	c->asked = *to;
	c->in = in;
	c->wire.fd = -1;
	c->tick_ms = TICK_MS;
	set_opts(c, opts);
	pthread_mutex_init(&c->lock, NULL);
	c->last_words = calloc(1, sizeof(*c->last_words));
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = c->wake < 0 ? errno : !c->last_words ? ENOMEM : start(c);
	if (r) {
		inv_err_sys(err, r, "connect to %s", to->full);
		free_conn(c);
		return NULL;
	}
	return c;
}

void inv_conn_close(struct inv_conn *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	pthread_mutex_unlock(&c->lock);
	inv_conn_wake(c);
	pthread_join(c->thread, NULL);
	inv_inbox_drop(c->in, c);
	inv_request_drop_all(c);
	free_conn(c);
}

const struct inv_node_name *inv_conn_name(struct inv_conn *c)
{
	const struct inv_node_name *name;

	pthread_mutex_lock(&c->lock);
	name = c->named ? &c->peer : &c->asked;
	pthread_mutex_unlock(&c->lock);
	return name;
}

const char *inv_conn_address(const struct inv_conn *c)
{
	return c->address;
}

const erlang_pid *inv_conn_self(const struct inv_conn *c)
{
	return &c->self;
}

void inv_conn_set_user(struct inv_conn *c, void *user)
{
	pthread_mutex_lock(&c->lock);
	c->user = user;
	pthread_mutex_unlock(&c->lock);
}

void inv_conn_set_brought(struct inv_conn *c, bool brought)
{
	c->brought = brought;
}

bool inv_conn_brought(const struct inv_conn *c)
{
	return c->brought;
}

void *inv_conn_user(struct inv_conn *c)
{
	void *user;

	pthread_mutex_lock(&c->lock);
	user = c->user;
	pthread_mutex_unlock(&c->lock);
	return user;
}
