/* SPDX-License-Identifier: Apache-2.0 */
#include "node/handshake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "node/handshake_says.h"

/*
 * The handshake itself is libei's.  It is given sockets of ours, so that it is
 * as patient as we are, can be cancelled, and so that we see what the node
 * answered: libei says only that it did not work.
 */
struct talk {
	const struct inv_patience *p;
	struct inv_handshake_says says;
	int fd;
	bool keep;    /* the socket, when libei closes it */
	bool greeted; /* the first message is sent */
	bool silent;  /* the node closed without a word, and is there */
};

static int talk_socket(void **ctx, void *setup)
{
	*ctx = setup;
	return 0;
}

static int talk_close(void *ctx)
{
	struct talk *t = ctx;

	if (t->fd >= 0 && !t->keep)
		close(t->fd);
	t->fd = -1;
	return 0;
}

static int errno_of(int r, int sys)
{
	switch (r) {
	case INV_ETIME:
		return ETIMEDOUT;
	case INV_ELOST:
		return ECANCELED;
	default:
		return sys ? sys : EIO;
	}
}

static int talk_connect(void *ctx, void *addr, int len, unsigned ms)
{
	struct talk *t = ctx;
	struct sockaddr_in sin;
	int sys = 0;
	int r;

	(void)ms;
	if (len < (int)sizeof(sin))
		return EINVAL;
	memcpy(&sin, addr, sizeof(sin));
	r = inv_net_connect(&sin.sin_addr, ntohs(sin.sin_port), t->p, &t->fd,
			    &sys);
	t->says.connected = r == 0;
	if (r < 0)
		t->says.sys = errno_of(r, sys);
	return r < 0 ? t->says.sys : 0;
}

/*
 * libei says of itself that it takes monitors of pids, not of names, and a node
 * then tells it of neither.  We take both (frame.h): a bit more in the flags of
 * the message that has our name, length (2), 'N', flags (8), ...
 */
#define HELLO_FLAGS_END 11
#define FLAG_DIST_MONITOR_NAME 0x20

static size_t send_hello(struct talk *t, const char *bytes, size_t n, int *r,
			 int *sys)
{
	uint8_t hello[HELLO_FLAGS_END];

	if (t->greeted || n < sizeof(hello) || bytes[2] != 'N')
		return 0;
	memcpy(hello, bytes, sizeof(hello));
	hello[HELLO_FLAGS_END - 1] |= FLAG_DIST_MONITOR_NAME;
	*r = inv_net_write(t->fd, hello, sizeof(hello), t->p, sys);
	return sizeof(hello);
}

static int talk_write(void *ctx, const char *bytes, ssize_t *len, unsigned ms)
{
	struct talk *t = ctx;
	int sys = 0;
	int r = 0;
	size_t n = send_hello(t, bytes, (size_t)*len, &r, &sys);

	(void)ms;
	t->greeted = true;
	if (r == 0)
		r = inv_net_write(t->fd, bytes + n, (size_t)*len - n, t->p,
				  &sys);
	if (r < 0)
		t->says.sys = errno_of(r, sys);
	return r < 0 ? t->says.sys : 0;
}

static int talk_read(void *ctx, char *bytes, ssize_t *len, unsigned ms)
{
	struct talk *t = ctx;
	size_t got = 0;
	int sys = 0;
	int r = inv_net_read_some(t->fd, bytes, (size_t)*len, &got, t->p, &sys);

	(void)ms;
	if (r < 0) {
		t->says.sys = errno_of(r, sys);
		return t->says.sys;
	}
	inv_handshake_heard(&t->says, bytes, got);
	*len = (ssize_t)got;
	return 0;
}

static int talk_head(void *ctx, int *size)
{
	(void)ctx;
	*size = 2;
	return 0;
}

static int talk_done(void *ctx)
{
	(void)ctx;
	return 0;
}

static int talk_fd(void *ctx, int *fd)
{
	*fd = ((struct talk *)ctx)->fd;
	return 0;
}

static ei_socket_callbacks talk_ops = {
	.flags = EI_SCLBK_FLG_FULL_IMPL,
	.socket = talk_socket,
	.close = talk_close,
	.connect = talk_connect,
	.write = talk_write,
	.read = talk_read,
	.handshake_packet_header_size = talk_head,
	.connect_handshake_complete = talk_done,
	.accept_handshake_complete = talk_done,
	.get_fd = talk_fd,
};

static void init_ei(void)
{
	ei_init();
}

/*
 * Our host in the form of the node's.  A machine that does not know its own
 * domain has its address, as that host sees it.
 */
static int own_host(char *host, size_t size, const struct inv_node_name *node,
		    const struct inv_epmd_place *at, struct inv_err *err)
{
	int r = inv_node_own_host(host, size, node->is_long, err);

	if (r == 0 && node->is_long && !strchr(host, '.') &&
	    !inet_ntop(AF_INET, &at->ours, host, (socklen_t)size))
		r = inv_err_sys(err, errno, "own address");
	return r;
}

/*
 * The node keeps an atom of each name for good, so names are used again: a
 * number below NAMES, or below more of them the more are taken.  It goes by the
 * clock, so that some seconds pass before a name is used again: by then the
 * node knows that the command of before is gone.
 */
#define NAMES 64
#define NAMES_MAX 65536
#define NAMES_GROW 4 /* names that are taken, for twice as many to draw from */
#define NAME_MS 100  /* for one name */
#define NAME_STEP 17 /* to another, when one is taken */
#define TRIES_MAX 60
#define SILENT_MAX 3 /* tries: so a node closes, too, while it refuses a name */

static unsigned draw(uint16_t random, unsigned taken)
{
	unsigned n = NAMES;

	if (taken < NAMES_GROW)
		return ((unsigned)(inv_net_now() / NAME_MS) +
			taken * NAME_STEP) %
		       NAMES;
	for (; taken >= NAMES_GROW && n < NAMES_MAX; taken -= NAMES_GROW)
		n *= 2;
	return random % n;
}

/* taken: how many names have been found to be in use. */
static int init_cnode(ei_cnode *ec, const struct inv_node_name *node,
		      const struct inv_epmd_place *at, const char *cookie,
		      unsigned taken, struct talk *t, struct inv_err *err)
{
	char host[128];
	char alive[32];
	char full[200];
	struct in_addr ours = at->ours;
	struct {
		uint16_t name;
		uint32_t creation;
	} id;
	int r = own_host(host, sizeof(host), node, at, err);

	if (r < 0)
		return r;
	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return inv_err_sys(err, errno, "random numbers");
	snprintf(alive, sizeof(alive), "inviso-%02x", draw(id.name, taken));
	snprintf(full, sizeof(full), "%s@%s", alive, host);
	/* 0 to 3 are of nodes that keep to the oldest protocol */
	if (ei_connect_xinit_ussi(ec, host, alive, full, &ours, cookie,
				  id.creation | 4, &talk_ops, sizeof(talk_ops),
				  t) < 0)
		return inv_err_set(err, INV_EIO, "libei does not start");
	return 0;
}

/*
 * A node that is killed closes its connections as one does that refuses a
 * cookie, and all that it has open not quite at once.
 */
#define CLOSING_MS 50

/*
 * Whether the node is gone: INV_ENONODE or INV_EUNREACHABLE; INV_ELOST
 * (cancelled).  0: it is there, or that cannot be told.
 */
static int look_again(const struct inv_node_name *node,
		      const struct inv_epmd_place *at,
		      const struct inv_patience *p)
{
	struct pollfd cancel = { .fd = p->cancel, .events = POLLIN };
	struct inv_epmd_place now = { 0 };
	int fd = -1;
	int sys = 0;
	int r;

	poll(&cancel, 1, CLOSING_MS);
	r = inv_epmd_find(node, &now, p, NULL);
	if (r < 0)
		return r == INV_ENONODE || r == INV_ELOST ? r : 0;
	if (now.port != at->port)
		return INV_EUNREACHABLE;
	r = inv_net_connect(&now.addr, now.port, p, &fd, &sys);
	if (fd >= 0)
		close(fd);
	if (r == INV_EIO && sys == ECONNREFUSED)
		return INV_EUNREACHABLE;
	return r == INV_ELOST ? r : 0;
}

static int why(const struct inv_node_name *node,
	       const struct inv_epmd_place *at, struct talk *t,
	       struct inv_err *err)
{
	bool closed = inv_handshake_closed(&t->says);
	int r = closed ? look_again(node, at, t->p) : 0;

	if (r == INV_ELOST)
		return inv_err_set(err, r, "cancelled");
	if (r < 0)
		return inv_err_set(err, r,
				   "the node went away while connecting");
	t->silent = closed && t->says.n == 0;
	return inv_handshake_why(&t->says, node, at->port, err);
}

static int attempt(const struct inv_node_name *node,
		   const struct inv_epmd_place *at, const char *cookie,
		   unsigned taken, struct talk *t, struct inv_handshake *out,
		   struct inv_err *err)
{
	struct in_addr addr = at->addr;
	int64_t left = t->p->until - inv_net_now();
	ei_cnode ec;
	int fd;
	int r = init_cnode(&ec, node, at, cookie, taken, t, err);

	if (r < 0)
		return r;
	fd = ei_xconnect_host_port_tmo(&ec, &addr, at->port,
				       left > 1 ? (unsigned)left : 1);
	if (fd < 0)
		return why(node, at, t, err);
	t->keep = true;
	(void)ei_close_connection(fd); /* forgets it: from here it is ours */
	out->fd = fd;
	out->self = *ei_self(&ec);
	r = inv_handshake_name(&t->says, node, &out->peer, err);
	if (r < 0)
		close(fd);
	return r;
}

int inv_handshake(const struct inv_node_name *node,
		  const struct inv_epmd_place *at, const char *cookie,
		  const struct inv_patience *p, struct inv_handshake *out,
		  struct inv_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	unsigned taken = 0;
	unsigned silent = 0;
	bool again;
	int r;

	pthread_once(&once, init_ei);
	do {
		struct talk t = { .p = p, .fd = -1 };

		r = attempt(node, at, cookie, taken, &t, out, err);
		again = r == INV_EBUSY || (t.silent && ++silent < SILENT_MAX);
	} while (again && ++taken < TRIES_MAX);
	if (r != INV_EBUSY)
		return r;
	if (err)
		err->code = INV_EREFUSED;
	return INV_EREFUSED;
}
