/* SPDX-License-Identifier: Apache-2.0 */
#include "node/handshake.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/epmd.h"
#include "node/handshake_says.h"
#include "node/tls.h"

/*
 * libei performs the handshake, and calls the socket functions of this file.
 * They obey the deadline, and can be cancelled. They also record the node's
 * messages: libei reports only that a handshake failed, not why.
 */
struct talk {
	const struct inv_endpoint *to;
	const struct inv_patience *p;
	struct inv_tls *tls; /* NULL: the connection has no TLS */
	unsigned conn;	     /* how many connections the command has begun
				before this one */
	struct inv_err tls_err;
	struct inv_handshake_says says;
	struct inv_wire wire;
	bool keep;    /* keep the socket open when libei closes it */
	bool greeted; /* the command's first message was sent */
	/* The node runs, but has closed the connection without a message. */
	bool silent;
};

static int talk_socket(void **ctx, void *setup)
{
	*ctx = setup;
	return 0;
}

static int talk_close(void *ctx)
{
	struct talk *t = ctx;

	if (!t->keep)
		inv_wire_close(&t->wire);
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

/* Connects to the addresses in t->to. The address from libei is not used,
 * because libei knows only IPv4. */
static int talk_connect(void *ctx, void *addr, int len, unsigned ms)
{
	struct talk *t = ctx;
	size_t i;
	int sys = 0;
	int r;

	(void)addr;
	(void)len;
	(void)ms;
	r = inv_wire_open_any(&t->wire, t->to->addrs, t->to->n_addrs, &i,
			      t->to->port, t->p, &sys);
	t->says.connected = r == 0;
	if (r < 0)
		t->says.sys = errno_of(r, sys);
	else if (t->tls && inv_wire_secure(&t->wire, t->tls, t->to->tls_host,
					   t->p, &t->tls_err) < 0)
		t->says.sys = EPROTO;
	return t->says.sys;
}

/*
 * libei announces that it supports monitors of pids, but not of names. A node
 * would then send no monitors at all. So send_hello also sets the flag for
 * names in the first message, which is: length (2 bytes), 'N', flags (8 bytes),
 * ... The command handles both kinds of monitors (frame.h).
 */
#define HELLO_FLAGS_END 9 /* how many bytes 'N' and the flags have */
#define FLAG_DIST_MONITOR_NAME 0x20

static size_t send_hello(struct talk *t, const char *bytes, size_t n, int *r,
			 int *sys)
{
	uint8_t hello[4 + HELLO_FLAGS_END];
	size_t len = t->says.head + HELLO_FLAGS_END;

	if (t->greeted || n < len || bytes[t->says.head] != 'N')
		return 0;
	memcpy(hello, bytes, len);
	hello[len - 1] |= FLAG_DIST_MONITOR_NAME;
	*r = inv_wire_write(&t->wire, hello, len, t->p, sys);
	return len;
}

/*
 * Reads why the node ended TLS. If a node refuses a certificate in TLS 1.3, it
 * sends an alert after the handshake and closes the connection. So the command
 * can fail to send before it has read the alert.
 */
static void read_alert(struct talk *t)
{
	char bytes[64];
	size_t n = sizeof(bytes);
	int sys;

	if (!t->wire.tls)
		return;
	(void)inv_wire_recv(&t->wire, bytes, &n, &sys);
	(void)inv_wire_why(&t->wire, &t->tls_err);
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
		r = inv_wire_write(&t->wire, bytes + n, (size_t)*len - n, t->p,
				   &sys);
	if (r < 0) {
		t->says.sys = errno_of(r, sys);
		read_alert(t);
	}
	return r < 0 ? t->says.sys : 0;
}

/*
 * The most bytes of a message that are read. libei asks for as many bytes as
 * the node has announced. With TLS this number can be up to 2^31-1; if the node
 * has announced more, the number is negative.
 */
#define MESSAGE_MAX 65535

static int talk_read(void *ctx, char *bytes, ssize_t *len, unsigned ms)
{
	struct talk *t = ctx;
	size_t got = 0;
	int sys = EMSGSIZE;
	int r = INV_EIO;

	(void)ms;
	if (*len >= 0 && *len <= MESSAGE_MAX)
		r = inv_wire_read_some(&t->wire, bytes, (size_t)*len, &got,
				       t->p, &sys);
	if (r < 0) {
		t->says.sys = errno_of(r, sys);
		(void)inv_wire_why(&t->wire, &t->tls_err);
		return t->says.sys;
	}
	inv_handshake_heard(&t->says, bytes, got);
	*len = (ssize_t)got;
	return 0;
}

static int talk_head(void *ctx, int *size)
{
	*size = (int)((struct talk *)ctx)->says.head;
	return 0;
}

static int talk_done(void *ctx)
{
	(void)ctx;
	return 0;
}

static int talk_fd(void *ctx, int *fd)
{
	*fd = ((struct talk *)ctx)->wire.fd;
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
 * Replaces libc's function. libei calls it in each handshake, to make its
 * challenge harder to guess. Libc's function looks up this machine's name,
 * which can take many seconds; but a node waits only 7 seconds for the
 * handshake.
 */
long gethostid(void)
{
	long id = 0;

	(void)getrandom(&id, sizeof(id), GRND_NONBLOCK);
	return id;
}

/*
 * Sets `host' to this machine's host name: the long name if the node's host
 * name is long, otherwise the short name. If the long name is needed but not
 * known, sets `host' to the address from which this machine reaches the node.
 */
static int own_host(char *host, size_t size, const struct inv_node_name *node,
		    const struct inv_endpoint *at, struct inv_err *err)
{
	int r = inv_node_own_host(host, size, node->is_long, err);

	if (r < 0 || !node->is_long || strchr(host, '.'))
		return r;
	for (size_t i = 0; i < at->n_addrs; i++)
		if (inv_addr_ours(&at->addrs[i], host, size) == 0)
			return 0;
	/* There is no route to the node. The command's connect will report
	 * that. */
	snprintf(host, size, "127.0.0.1");
	return 0;
}

/*
 * A node never frees the atom of a name, so commands reuse names. A name has a
 * number below NAMES. The number depends on
 *
 *   - the clock: the same name comes again only after some seconds, when the
 *     node has noticed that the earlier command has disconnected;
 *   - the pid of the command, so that commands that begin at the same time
 *     normally have different names. If two commands have the same name, the
 *     node closes one of their connections in its handshake;
 *   - the number of the connection in this command, because several addresses
 *     can lead to the same node.
 *
 * If many names are in use, the number is random, below a larger limit.
 */
#define NAMES 64
#define NAMES_MAX 65536
#define NAMES_GROW 4 /* the limit doubles for every 4 names that are in use */
#define NAME_MS 100  /* the number increases by 1 every 100 ms */
#define NAME_STEP 17 /* added to the number if a name is in use */
#define CONN_STEP 29 /* added for each earlier connection of this command */
#define PID_STEP 11  /* multiplied by the command's pid, and added */
#define TRIES_MAX 60
/*
 * If the node closes the connection before it has sent its challenge, the
 * command's name may be in use, so the command tries another name. It tries at
 * most this many names, because the node may refuse all names of commands.
 */
#define SILENT_MAX 3

static unsigned draw(uint16_t random, unsigned conn, unsigned taken)
{
	unsigned n = NAMES;

	if (taken < NAMES_GROW)
		return ((unsigned)(inv_mono_ms() / NAME_MS) +
			(unsigned)getpid() * PID_STEP + conn * CONN_STEP +
			taken * NAME_STEP) %
		       NAMES;
	for (; taken >= NAMES_GROW && n < NAMES_MAX; taken -= NAMES_GROW)
		n *= 2;
	return random % n;
}

/*
 * Initializes libei's node. `taken' is how many names were tried before and are
 * in use. t->conn is the number of the connection in this command.
 */
static int init_cnode(ei_cnode *ec, const struct inv_node_name *node,
		      const struct inv_endpoint *at, const char *cookie,
		      unsigned taken, struct talk *t, struct inv_err *err)
{
	char host[128];
	char alive[32];
	char full[200];
	struct in_addr none = { 0 };
	struct {
		uint16_t name;
		uint32_t creation;
	} id;
	int r = own_host(host, sizeof(host), node, at, err);

	if (r < 0)
		return r;
	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return inv_err_sys(err, errno, "random numbers");
	snprintf(alive, sizeof(alive), "inviso-%02x",
		 draw(id.name, t->conn, taken));
	snprintf(full, sizeof(full), "%s@%s", alive, host);
	/* Creations 0 to 3 are those of nodes with the oldest protocol, so use
	 * a larger one. */
	if (ei_connect_xinit_ussi(ec, host, alive, full, &none, cookie,
				  id.creation | 4, &talk_ops, sizeof(talk_ops),
				  t) < 0)
		return inv_err_set(err, INV_EIO, "libei does not start");
	return 0;
}

/*
 * When a node is killed, the kernel may close the connection before the node's
 * listening socket. To the command, that looks as if the node had refused the
 * cookie. So after this time the command checks whether the node still runs.
 */
#define CLOSING_MS 50

/*
 * Returns INV_ENONODE or INV_EUNREACHABLE if the node has ended, INV_ELOST if
 * cancelled, and 0 if the node runs or its state is unknown.
 */
static int look_again(const struct inv_node_name *node,
		      const struct inv_endpoint *at,
		      const struct inv_patience *p)
{
	struct pollfd cancel = { .fd = p->cancel, .events = POLLIN };
	struct inv_endpoint now = *at;
	struct inv_wire wire = { .fd = -1 };
	size_t i;
	int sys = 0;
	int r = 0;

	poll(&cancel, 1, CLOSING_MS);
	if (!at->direct)
		r = inv_epmd_ask(node, &now, p, NULL);
	if (r < 0)
		return r == INV_ENONODE || r == INV_ELOST ? r : 0;
	if (now.port != at->port)
		return INV_EUNREACHABLE;
	r = inv_wire_open_any(&wire, now.addrs, now.n_addrs, &i, now.port, p,
			      &sys);
	inv_wire_close(&wire);
	if (r == INV_EIO && sys == ECONNREFUSED)
		return INV_EUNREACHABLE;
	return r == INV_ELOST ? r : 0;
}

static int why(const struct inv_node_name *node, const struct inv_endpoint *at,
	       struct talk *t, struct inv_err *err)
{
	bool closed = inv_handshake_closed(&t->says);
	int r;

	if (t->tls_err.code) {
		if (err)
			*err = t->tls_err;
		return t->tls_err.code;
	}
	r = closed ? look_again(node, at, t->p) : 0;
	if (r == INV_ELOST)
		return inv_err_set(err, r, "cancelled");
	if (r < 0)
		return inv_err_set(err, r, "the node ended while connecting");
	t->silent = closed && !inv_handshake_challenged(&t->says);
	return inv_handshake_why(&t->says, at, err);
}

static int attempt(const struct inv_node_name *node,
		   const struct inv_endpoint *at, const char *cookie,
		   unsigned taken, struct talk *t, struct inv_handshake *out,
		   struct inv_err *err)
{
	struct in_addr unused = { 0 };
	int64_t left = t->p->until - inv_mono_ms();
	ei_cnode ec;
	int fd;
	int r = init_cnode(&ec, node, at, cookie, taken, t, err);

	if (r < 0)
		return r;
	fd = ei_xconnect_host_port_tmo(&ec, &unused, at->port,
				       left > 1 ? (unsigned)left : 1);
	if (fd < 0) {
		r = why(node, at, t, err);
		inv_wire_close(&t->wire);
		return r;
	}
	t->keep = true;
	/*
	 * Removes the connection from libei's table. The socket stays open,
	 * because t->keep is true.
	 */
	(void)ei_close_connection(fd);
	out->wire = t->wire;
	out->self = *ei_self(&ec);
	r = inv_handshake_name(&t->says, node, at, &out->peer, err);
	if (r < 0)
		inv_wire_close(&out->wire);
	return r;
}

int inv_handshake(const struct inv_node_name *node,
		  const struct inv_endpoint *at, const char *cookie,
		  struct inv_tls *tls, const struct inv_patience *p,
		  struct inv_handshake *out, struct inv_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static atomic_uint conns;
	unsigned conn = atomic_fetch_add(&conns, 1);
	unsigned taken = 0;
	unsigned silent = 0;
	bool again;
	int r;

	pthread_once(&once, init_ei);
	do {
		struct talk t = { .to = at,
				  .p = p,
				  .tls = tls,
				  .conn = conn,
				  .says.head = tls ? 4 : 2,
				  .wire.fd = -1 };

		r = attempt(node, at, cookie, taken, &t, out, err);
		again = r == INV_EBUSY || (t.silent && ++silent < SILENT_MAX);
	} while (again && ++taken < TRIES_MAX);
	if (r != INV_EBUSY)
		return r;
	if (err)
		err->code = INV_EREFUSED;
	return INV_EREFUSED;
}
