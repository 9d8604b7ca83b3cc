/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the command arbitrary bytes while it connects, as a program at the port
 * of a node or of epmd might.
 *
 *	byte 0    what the command does: asks epmd for a port, or for all names,
 *	          connects, connects to a node that has the cookie, or explains
 *	          why connecting failed
 *	the rest  what the command receives
 *
 * Libei reads the handshake from a socket, as in the command. The target checks
 * that texts for people are UTF-8 without control characters and end within
 * their arrays, and that names and ports are valid.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/epmd.h"
#include "node/handshake.h"
#include "node/handshake_says.h"
#include "text_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COOKIE "cookie"
#define WAIT_MS 60000 /* never reached: the server ends each stream */

/*
 * Replaces libc's function. A call with a single descriptor (n is 1) returns at
 * once. Only one caller makes such a call: it gives the node some time to end
 * after a connection was closed. This wait would make the fuzzer slow.
 */
int poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	if (n == 1)
		return 0;
	return ppoll(fds, n, ms < 0 ? NULL : &ts, NULL);
}

static void check_name(const struct inv_node_name *name)
{
	check_string(name->full, sizeof(name->full));
	check_string(name->alive, sizeof(name->alive));
	check_string(name->host, sizeof(name->host));
	CHECK(name->alive[0] && name->host[0]);
	CHECK(!strchr(name->full, '/') && !strchr(name->alive, '@'));
}

/* --- the server ----------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	int listening;
	uint16_t port;
	uint8_t *bytes; /* sent to each client */
	size_t len;
	bool has_cookie; /* answers the challenge of the command */
} server = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* libei's own functions for MD5, the digest of a challenge. */
struct md5 {
	uint32_t room[64];
};
void ei_MD5Init(struct md5 *c);
void ei_MD5Update(struct md5 *c, const unsigned char *bytes, unsigned n);
void ei_MD5Final(unsigned char digest[16], struct md5 *c);

static bool receive(int fd, uint8_t *at, size_t n)
{
	return recv(fd, at, n, MSG_WAITALL) == (ssize_t)n;
}

/* Reads the command's messages until its response, which contains the
 * challenge: length (2 bytes), 'r', challenge (4), digest (16). Messages before
 * the response have the command's name. */
static bool get_challenge(int fd, uint32_t *challenge)
{
	uint8_t m[65536];

	for (int i = 0; i < 3; i++) {
		size_t n;

		if (!receive(fd, m, 2))
			return false;
		n = (size_t)m[0] << 8 | m[1];
		if (!receive(fd, m, n))
			return false;
		if (n == 21 && m[0] == 'r') {
			*challenge = (uint32_t)m[1] << 24 |
				     (uint32_t)m[2] << 16 |
				     (uint32_t)m[3] << 8 | m[4];
			return true;
		}
	}
	return false;
}

/* Answers the command's challenge. Waits at most 50 ms for the challenge: the
 * command sends none while it still waits for the rest of a message. */
static void acknowledge(int fd)
{
	const struct timeval wait = { 0, 50000 };
	uint8_t ack[19] = { 0, 17, 'a' };
	char text[16];
	struct md5 c;
	uint32_t challenge;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (!get_challenge(fd, &challenge))
		return;
	snprintf(text, sizeof(text), "%u", challenge);
	ei_MD5Init(&c);
	ei_MD5Update(&c, (const unsigned char *)COOKIE, strlen(COOKIE));
	ei_MD5Update(&c, (const unsigned char *)text, (unsigned)strlen(text));
	ei_MD5Final(ack + 3, &c);
	(void)send(fd, ack, sizeof(ack), MSG_NOSIGNAL);
}

static void *serve(void *arg)
{
	int fd;

	(void)arg;
	while ((fd = accept(server.listening, NULL, NULL)) >= 0) {
		char asked[512];
		uint8_t *bytes;
		bool has_cookie;
		size_t len;

		pthread_mutex_lock(&server.lock);
		len = server.len;
		has_cookie = server.has_cookie;
		bytes = malloc(len + 1);
		CHECK(bytes);
		memcpy(bytes, server.bytes, len);
		pthread_mutex_unlock(&server.lock);
		(void)send(fd, bytes, len, MSG_NOSIGNAL);
		free(bytes);
		if (has_cookie)
			acknowledge(fd);
		shutdown(fd, SHUT_WR);
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO,
				 &(struct timeval){ 0 },
				 sizeof(struct timeval));
		while (recv(fd, asked, sizeof(asked), 0) > 0)
			;
		close(fd);
	}
	return NULL;
}

static void start_server(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	pthread_t thread;
	char port[16];

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server.listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(server.listening >= 0);
	CHECK(!bind(server.listening, (struct sockaddr *)&sin, sizeof(sin)));
	CHECK(!listen(server.listening, 16));
	CHECK(!getsockname(server.listening, (struct sockaddr *)&sin, &len));
	server.port = ntohs(sin.sin_port);
	snprintf(port, sizeof(port), "%u", server.port);
	CHECK(!setenv("ERL_EPMD_PORT", port, 1));
	CHECK(!pthread_create(&thread, NULL, serve, NULL));
}

static struct inv_endpoint serve_bytes(const uint8_t *bytes, size_t len,
				       bool has_cookie)
{
	struct inv_endpoint at = { .host = "h", .n_addrs = 1, .direct = true };

	at.addrs[0] = inv_addr_loopback(AF_INET);
	at.port = server.port;
	pthread_mutex_lock(&server.lock);
	free(server.bytes);
	server.bytes = malloc(len + 1);
	CHECK(server.bytes);
	memcpy(server.bytes, bytes, len);
	server.len = len;
	server.has_cookie = has_cookie;
	pthread_mutex_unlock(&server.lock);
	return at;
}

/* --- what the command does ------------------------------------------------ */

static struct inv_patience patience(void)
{
	return (struct inv_patience){ inv_mono_ms() + WAIT_MS, -1 };
}

static struct inv_node_name asked(void)
{
	struct inv_node_name name;

	CHECK(inv_node_name_parse(&name, "a@h", 3, NULL) == 0);
	return name;
}

static void ask_port(const uint8_t *bytes, size_t len)
{
	struct inv_endpoint at = serve_bytes(bytes, len, false);
	struct inv_node_name name = asked();
	struct inv_patience p = patience();
	struct inv_err err = { 0 };
	int r = inv_epmd_ask(&name, &at, &p, &err);

	CHECK(r == 0 || (err.code == r && err.text[0]));
	check_string(err.text, sizeof(err.text));
}

static void take_name(void *arg, const char *name, size_t len, uint16_t port)
{
	const size_t *max = arg;

	CHECK(len > 0 && len <= *max && port > 0);
	CHECK(!memchr(name, '\n', len));
}

static void ask_names(const uint8_t *bytes, size_t len)
{
	struct inv_endpoint at = serve_bytes(bytes, len, false);
	struct inv_patience p = patience();
	struct inv_err err = { 0 };
	int r = inv_epmd_names(&at, "--dns h", take_name, &len, &p, &err);

	CHECK(r == 0 || (err.code == r && err.text[0]));
	check_string(err.text, sizeof(err.text));
}

static void shake(const uint8_t *bytes, size_t len, bool has_cookie)
{
	struct inv_endpoint at = serve_bytes(bytes, len, has_cookie);
	struct inv_node_name name = asked();
	struct inv_patience p = patience();
	struct inv_handshake h = { .wire.fd = -1 };
	struct inv_err err = { 0 };
	int r = inv_handshake(&name, &at, COOKIE, NULL, &p, &h, &err);

	CHECK(r == 0 || (err.code == r && err.text[0]));
	CHECK(r == 0 || h.wire.fd < 0);
	CHECK(r != 0 || has_cookie);
	check_string(err.text, sizeof(err.text));
	if (r == 0)
		check_name(&h.peer);
	inv_wire_close(&h.wire);
}

/*
 * The first byte says how the connection ended, and how many bytes arrive at a
 * time. `head' is the size of a message's length: 4 bytes with TLS, and
 * otherwise 2. Only this function tests the form that messages have with TLS.
 */
static void explain(const uint8_t *bytes, size_t len, size_t head)
{
	static const int ends[] = { 0, ECONNRESET, EPIPE, ETIMEDOUT, EPROTO };
	struct inv_handshake_says says = { .head = head, .connected = true };
	const struct inv_endpoint at = { .host = "h", .port = 1 };
	struct inv_node_name name = asked();
	struct inv_node_name peer;
	struct inv_err err = { 0 };
	size_t step;

	if (len == 0)
		return;
	says.ended = bytes[0] & 1;
	says.sys = ends[(bytes[0] >> 1) % 5];
	step = 1 + (bytes[0] >> 4);
	for (bytes++, len--; len > 0; len -= step) {
		if (step > len)
			step = len;
		inv_handshake_heard(&says, bytes, step);
		bytes += step;
	}
	(void)inv_handshake_closed(&says);
	CHECK(inv_handshake_why(&says, &at, &err) < 0 && err.text[0]);
	check_string(err.text, sizeof(err.text));
	name.any_host = true;
	if (inv_handshake_name(&says, &name, &at, &peer, &err) == 0)
		check_name(&peer);
	check_string(err.text, sizeof(err.text));
	strcpy(name.service, "svc");
	name.alive[0] = '\0';
	if (inv_handshake_name(&says, &name, &at, &peer, &err) == 0)
		check_name(&peer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start_server);
	if (size == 0)
		return 0;
	switch (data[0]) {
	case 0:
		ask_port(data + 1, size - 1);
		break;
	case 1:
		ask_names(data + 1, size - 1);
		break;
	case 2:
	case 3:
		shake(data + 1, size - 1, data[0] == 3);
		break;
	case 4:
		explain(data + 1, size - 1, 2);
		break;
	case 5:
		explain(data + 1, size - 1, 4);
		break;
	default:
		break;
	}
	return 0;
}
