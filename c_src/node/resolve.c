/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "node/net.h"

/*
 * getaddrinfo(3) can take very long and cannot be interrupted. So a separate
 * thread calls it, and the caller waits for this thread only until the
 * deadline. The thread that finishes last frees this struct.
 */
struct lookup {
	atomic_int users;
	int done;	   /* eventfd that becomes readable when the lookup
			      has ended */
	atomic_bool known; /* true: the next three fields are set */
	int result;
	int sys;
	struct addrinfo *found;
	char host[];
};

static void leave(struct lookup *l)
{
	if (atomic_fetch_sub(&l->users, 1) > 1)
		return;
	if (l->found)
		freeaddrinfo(l->found);
	close(l->done);
	free(l);
}

static void *look_up(void *arg)
{
	struct lookup *l = arg;
	struct addrinfo hints = { 0 };

	hints.ai_family = AF_UNSPEC;
	hints.ai_socktype = SOCK_STREAM;
	l->result = getaddrinfo(l->host, NULL, &hints, &l->found);
	l->sys = errno;
	atomic_store(&l->known, true);
	(void)eventfd_write(l->done, 1);
	leave(l);
	return NULL;
}

static struct lookup *begin(const char *host)
{
	size_t len = strlen(host) + 1;
	struct lookup *l = calloc(1, sizeof(*l) + len);
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (!l)
		return NULL;
	memcpy(l->host, host, len);
	l->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->done < 0) {
		free(l);
		return NULL;
	}
	atomic_init(&l->users, 2);
	atomic_init(&l->known, false);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, look_up, l);
	pthread_attr_destroy(&attr);
	if (r) {
		close(l->done);
		free(l);
		return NULL;
	}
	return l;
}

static int no_host(const struct lookup *l, struct inv_err *err)
{
	return inv_err_set(err, INV_EUNREACHABLE,
			   "there is no host '%s' (%s); is the name spelt "
			   "right, and known on this machine?",
			   l->host,
			   l->result == EAI_SYSTEM ? strerrordesc_np(l->sys) :
						     gai_strerror(l->result));
}

/* Appends the addresses of one family. */
static void add_family(const struct lookup *l, int family,
		       struct inv_addr *addrs, size_t max, size_t *n)
{
	const struct addrinfo *a;

	for (a = l->found; a && *n < max; a = a->ai_next) {
		if (a->ai_family != family ||
		    a->ai_addrlen > sizeof(addrs->sock))
			continue;
		memset(&addrs[*n], 0, sizeof(*addrs));
		addrs[*n].len = a->ai_addrlen;
		memcpy(&addrs[*n].sock, a->ai_addr, a->ai_addrlen);
		++*n;
	}
}

static int addresses(const struct lookup *l, struct inv_addr *addrs, size_t max,
		     size_t *n, struct inv_err *err)
{
	*n = 0;
	if (l->result)
		return no_host(l, err);
	add_family(l, AF_INET, addrs, max, n);
	add_family(l, AF_INET6, addrs, max, n);
	if (*n > 0)
		return 0;
	return inv_err_set(err, INV_EUNREACHABLE,
			   "host '%s' has no IPv4 or IPv6 address", l->host);
}

int inv_net_resolve(const char *host, struct inv_addr *addrs, size_t max,
		    size_t *n, const struct inv_patience *p,
		    struct inv_err *err)
{
	struct lookup *l = begin(host);
	int r;

	if (!l)
		return inv_err_set(err, INV_ENOMEM,
				   "no memory or thread to look up '%s'", host);
	r = inv_net_wait(l->done, POLLIN, p);
	if (r == 0 && atomic_load(&l->known))
		r = addresses(l, addrs, max, n, err);
	else if (r != INV_ELOST)
		r = inv_err_set(err, INV_EUNREACHABLE,
				"looking up host '%s': the name service does "
				"not answer in time",
				host);
	else
		inv_err_set(err, r, "cancelled");
	leave(l);
	return r;
}
