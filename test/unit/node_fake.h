/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_UNIT_NODE_FAKE_H
#define INV_UNIT_NODE_FAKE_H

/* Servers that do not behave like an Erlang node. */
#include <pthread.h>

#include "unit/node_peer.h"

/*
 * A server that sends `bytes' to each client and then accepts the next client.
 * Without bytes the server sends nothing and waits until the client
 * disconnects.
 */
struct fake {
	int listening;
	size_t len;
	uint8_t bytes[64];
	pthread_t thread;
};

static inline void *be_fake(void *arg)
{
	struct fake *f = arg;
	char asked[512];
	int fd;

	while ((fd = accept(f->listening, NULL, NULL)) >= 0) {
		if (f->len > 0 && recv(fd, asked, sizeof(asked), 0) > 0)
			(void)send(fd, f->bytes, f->len, MSG_NOSIGNAL);
		if (f->len > 0)
			shutdown(fd, SHUT_WR);
		while (recv(fd, asked, sizeof(asked), 0) > 0)
			;
		close(fd);
	}
	return NULL;
}

static inline void start_fake(struct fake *f, uint16_t *port, const void *bytes,
			      size_t len)
{
	f->listening = listen_any(port);
	f->len = len;
	memcpy(f->bytes, bytes, len);
	assert_int_equal(pthread_create(&f->thread, NULL, be_fake, f), 0);
}

/* A server that sends `bytes' to its first client. When the connection to this
 * client has ended, the server no longer listens. */
struct dying {
	int listening;
	size_t len;
	bool resets; /* close the connection before all bytes are read, which
			resets the connection */
	uint8_t bytes[64];
	pthread_t thread;
};

static inline void *be_dying(void *arg)
{
	struct dying *d = arg;
	struct pollfd in;
	char asked[512];
	int fd = accept(d->listening, NULL, NULL);

	in = (struct pollfd){ .fd = fd, .events = POLLIN };
	(void)poll(&in, 1, 30000);
	if (d->len > 0 && recv(fd, asked, sizeof(asked), 0) > 0)
		(void)send(fd, d->bytes, d->len, MSG_NOSIGNAL);
	if (d->resets)
		(void)poll(&in, 1, 30000);
	close(d->listening);
	close(fd);
	return NULL;
}

static inline void start_dying(struct dying *d, uint16_t *port,
			       const void *bytes, size_t len, bool resets)
{
	d->listening = listen_any(port);
	d->len = len;
	d->resets = resets;
	memcpy(d->bytes, bytes, len);
	assert_int_equal(pthread_create(&d->thread, NULL, be_dying, d), 0);
}

/* Starts a server that sends `bytes' to each client, and uses it as epmd. */
static inline void start_fake_epmd(struct fake *f, const void *bytes,
				   size_t len)
{
	uint16_t port;

	start_fake(f, &port, bytes, len);
	use_epmd(port);
}

static inline void stop_fake(struct fake *f)
{
	shutdown(f->listening, SHUT_RDWR);
	pthread_join(f->thread, NULL);
	close(f->listening);
	use_epmd(epmd_port);
}

/* Starts an epmd that has the same answer for every name: the node runs at
 * `port'. */
static inline void start_fake_at(struct fake *f, uint16_t port)
{
	uint8_t there[] = { 119, 0, 0, 0, 77, 0, 0, 6, 0, 5, 0, 1, 'a', 0, 0 };

	there[2] = (uint8_t)(port >> 8);
	there[3] = (uint8_t)port;
	start_fake_epmd(f, there, sizeof(there));
}

#endif
