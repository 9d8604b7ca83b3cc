/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "node/inbox_int.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "node/net.h"

struct inv_inbox {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct inv_mail *first;
	struct inv_mail **last;
	int fd;
	/* Only the thread that takes items uses the following fields. */
	int slow_ms;
	inv_slow *tell_slow; /* called for a slow connection; may be NULL */
	void *slow_arg;
};

struct inv_inbox *inv_inbox_new(struct inv_err *err)
{
	struct inv_inbox *in = calloc(1, sizeof(*in));
	pthread_condattr_t attr;

	if (!in) {
		inv_err_set(err, INV_ENOMEM, "no memory");
		return NULL;
	}
	in->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (in->fd < 0) {
		inv_err_sys(err, errno, "eventfd");
		free(in);
		return NULL;
	}
	in->last = &in->first;
	pthread_mutex_init(&in->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&in->more, &attr);
	pthread_condattr_destroy(&attr);
	return in;
}

void inv_mail_release(struct inv_mail *it)
{
	free(it->mem);
	it->mem = NULL;
	it->term = NULL;
	it->len = 0;
}

void inv_inbox_free(struct inv_inbox *in)
{
	if (!in)
		return;
	while (in->first) {
		struct inv_mail *it = in->first;

		in->first = it->next;
		inv_mail_release(it);
		free(it);
	}
	close(in->fd);
	pthread_cond_destroy(&in->more);
	pthread_mutex_destroy(&in->lock);
	free(in);
}

void inv_inbox_on_slow(struct inv_inbox *in, int ms, inv_slow *tell, void *arg)
{
	in->slow_ms = ms;
	in->tell_slow = tell;
	in->slow_arg = arg;
}

struct inv_lag inv_lag(struct inv_inbox *in)
{
	return (struct inv_lag){
		.in = in,
		.until = in->tell_slow ? inv_mono_ms() + in->slow_ms : -1,
	};
}

int inv_lag_ms(const struct inv_lag *p)
{
	int64_t left;

	if (p->until < 0)
		return -1;
	left = p->until - inv_mono_ms();
	return left > 0 ? (int)left : 0;
}

bool inv_lag_ended(struct inv_lag *p)
{
	if (inv_lag_ms(p) != 0)
		return false;
	p->until = -1;
	return true;
}

void inv_lag_tell(const struct inv_lag *p, const struct inv_conn *conn)
{
	p->in->tell_slow(p->in->slow_arg, conn);
}

int inv_inbox_fd(const struct inv_inbox *in)
{
	return in->fd;
}

void inv_inbox_put(struct inv_inbox *in, struct inv_mail *it)
{
	it->next = NULL;
	pthread_mutex_lock(&in->lock);
	if (!in->first)
		(void)eventfd_write(in->fd, 1);
	*in->last = it;
	in->last = &it->next;
	pthread_cond_broadcast(&in->more);
	pthread_mutex_unlock(&in->lock);
}

/* Removes the item `*at' from the list.  The caller has the lock. */
static struct inv_mail *unlink_at(struct inv_inbox *in, struct inv_mail **at)
{
	struct inv_mail *it = *at;
	eventfd_t n;

	*at = it->next;
	if (in->last == &it->next)
		in->last = at;
	if (!in->first)
		(void)eventfd_read(in->fd, &n);
	return it;
}

/* Waits for another item.  Returns false if the time `until' has passed. */
static bool wait_more(struct inv_inbox *in, const struct timespec *until)
{
	return pthread_cond_timedwait(&in->more, &in->lock, until) != ETIMEDOUT;
}

static bool take_first(struct inv_inbox *in, struct inv_mail *out)
{
	struct inv_mail *it;

	if (!in->first)
		return false;
	it = unlink_at(in, &in->first);
	*out = *it;
	out->next = NULL;
	free(it);
	return true;
}

int inv_inbox_take(struct inv_inbox *in, int ms, struct inv_mail *out)
{
	struct timespec until = inv_timespec_ms(inv_mono_ms() + ms);
	bool found;
	bool more;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&in->lock);
	do {
		found = take_first(in, out);
		more = !found && ms > 0 && wait_more(in, &until);
	} while (more);
	if (!found) /* an item may have arrived when the time ended */
		found = take_first(in, out);
	pthread_mutex_unlock(&in->lock);
	return found ? 0 : INV_END;
}

void inv_inbox_drop(struct inv_inbox *in, const struct inv_conn *conn)
{
	struct inv_mail **at;

	pthread_mutex_lock(&in->lock);
	at = &in->first;
	while (*at) {
		struct inv_mail *it = *at;

		if (it->conn != conn) {
			at = &it->next;
			continue;
		}
		(void)unlink_at(in, at);
		inv_mail_release(it);
		free(it);
	}
	pthread_mutex_unlock(&in->lock);
}
