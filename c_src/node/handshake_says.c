/* SPDX-License-Identifier: Apache-2.0 */
#include "node/handshake_says.h"

#include <errno.h>
#include <string.h>

#include "node/epmd.h"

#define TLS_ALERT 0x15
#define TLS_MAJOR 3

void inv_handshake_heard(struct inv_handshake_says *s, const void *bytes,
			 size_t n)
{
	size_t room = sizeof(s->bytes) - s->n;

	if (n == 0)
		s->ended = true;
	if (n > room)
		n = room;
	memcpy(s->bytes + s->n, bytes, n);
	s->n += n;
}

/* Finds the node's message number `which', from 0. In front of each message is
 * its length, in s->head bytes. Returns false if the message did not arrive
 * completely. */
static bool message(const struct inv_handshake_says *s, unsigned which,
		    const uint8_t **at, size_t *len)
{
	const uint8_t *p = s->bytes;
	size_t left = s->n;

	for (;;) {
		size_t n = 0;

		if (left < s->head)
			return false;
		for (size_t i = 0; i < s->head; i++)
			n = n << 8 | p[i];
		if (n > left - s->head)
			return false;
		if (which-- == 0) {
			*at = p + s->head;
			*len = n;
			return true;
		}
		p += s->head + n;
		left -= s->head + n;
	}
}

static bool is_status(const uint8_t *at, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len == n + 1 && at[0] == 's' && memcmp(at + 1, word, n) == 0;
}

static bool accepts(const uint8_t *at, size_t len)
{
	return is_status(at, len, "ok") ||
	       is_status(at, len, "ok_simultaneous");
}

static int refused(const uint8_t *at, size_t len, struct inv_err *err)
{
	if (is_status(at, len, "alive") || is_status(at, len, "nok"))
		return inv_err_set(err, INV_EBUSY,
				   "the node is connected to another client of "
				   "this name; try again");
	if (is_status(at, len, "not_allowed"))
		return inv_err_set(err, INV_EREFUSED,
				   "the node allows only certain nodes to "
				   "connect (net_kernel:allow/1 there)");
	return inv_err_set(err, INV_EREFUSED,
			   "the node refuses the connection; its log may say "
			   "why");
}

static int not_listening(const struct inv_endpoint *at, struct inv_err *err)
{
	if (at->direct)
		return inv_err_set(
			err, INV_EUNREACHABLE,
			"nothing listens on %s port %u: does the node run, is "
			"this the port of its distribution, and is the port "
			"forwarded?",
			at->host, at->port);
	return inv_err_set(err, INV_EUNREACHABLE,
			   "epmd on %s says that the node listens on port %u, "
			   "but nothing does: has it just died, or is there a "
			   "firewall?",
			   at->host, at->port);
}

static int never_connected(const struct inv_handshake_says *s,
			   const struct inv_endpoint *at, struct inv_err *err)
{
	const char *what = strerrordesc_np(s->sys);

	if (s->sys == ECONNREFUSED)
		return not_listening(at, err);
	if (s->sys == ETIMEDOUT)
		return inv_err_set(err, INV_EUNREACHABLE,
				   "connecting to %s port %u takes too long: "
				   "is there a firewall?",
				   at->host, at->port);
	return inv_err_set(err, INV_EUNREACHABLE,
			   "connecting to %s port %u: %s", at->host, at->port,
			   what ? what : "unknown error");
}

static int no_node(unsigned port, struct inv_err *err)
{
	return inv_err_set(err, INV_EUNREACHABLE,
			   "the handshake with the node failed: the program on "
			   "port %u is not an Erlang node, or of an unknown "
			   "version",
			   port);
}

/* Explains why the node closed the connection before its first message.
 * Possibly a program forwards the port: it accepts connections before it knows
 * whether it can reach the node. */
static int closed_at_once(const struct inv_endpoint *at, struct inv_err *err)
{
	if (at->direct && at->port == INV_EPMD_PORT)
		return inv_err_set(
			err, INV_EUNREACHABLE,
			"%s closed the connection at once: port %u "
			"is epmd's; leave it out, or give the node's "
			"own port",
			at->host, at->port);
	if (at->direct)
		return inv_err_set(err, INV_EUNREACHABLE,
				   "%s port %u closed the connection at once: "
				   "if the port is forwarded, the forward does "
				   "not reach the node; or the node uses "
				   "TLS distribution (--tls-ca, --tls-cert)",
				   at->host, at->port);
	return inv_err_set(err, INV_EUNREACHABLE,
			   "the node closed the connection at once: it "
			   "may be stopping, or use another protocol, as "
			   "TLS distribution (--tls-ca, --tls-cert)");
}

bool inv_handshake_challenged(const struct inv_handshake_says *s)
{
	const uint8_t *at;
	size_t len;

	return message(s, 1, &at, &len);
}

static int closed(const struct inv_handshake_says *s,
		  const struct inv_endpoint *to, struct inv_err *err)
{
	const uint8_t *at;
	size_t len;

	if (inv_handshake_challenged(s))
		return inv_err_set(
			err, INV_EREFUSED,
			"the node has another cookie; give its "
			"cookie with --cookie-file or INVISO_COOKIE");
	if (s->n == 0 && s->head == 4)
		return inv_err_set(err, INV_EREFUSED,
				   "the node closed the connection after the "
				   "handshake of TLS: it may refuse the "
				   "certificate of --tls-cert, or require "
				   "one; its log may say why");
	if (s->n == 0)
		return closed_at_once(to, err);
	if (!message(s, 0, &at, &len))
		return no_node(to->port, err);
	return inv_err_set(err, INV_EREFUSED,
			   "the node closed the connection during the "
			   "handshake; its log may say why");
}

bool inv_handshake_closed(const struct inv_handshake_says *s)
{
	const uint8_t *at;
	size_t len;

	return s->connected &&
	       (s->ended || s->sys == ECONNRESET || s->sys == EPIPE) &&
	       (s->n == 0 || message(s, 1, &at, &len) ||
		(message(s, 0, &at, &len) && accepts(at, len)));
}

int inv_handshake_why(const struct inv_handshake_says *s,
		      const struct inv_endpoint *to, struct inv_err *err)
{
	const uint8_t *at;
	size_t len;

	if (s->sys == ECANCELED)
		return inv_err_set(err, INV_ELOST, "cancelled");
	if (!s->connected)
		return never_connected(s, to, err);
	if (s->n >= 2 && s->bytes[0] == TLS_ALERT && s->bytes[1] == TLS_MAJOR)
		return inv_err_set(err, INV_EUNREACHABLE,
				   "the node speaks TLS distribution: give its "
				   "settings with --tls-optfile, or --tls-ca, "
				   "--tls-cert and --tls-key");
	if (s->sys == ETIMEDOUT)
		return inv_err_set(err, INV_EUNREACHABLE,
				   "the node accepts the connection, but does "
				   "not answer in time: is it stopped, or "
				   "overloaded?");
	if (message(s, 0, &at, &len) && !accepts(at, len))
		return refused(at, len, err);
	if (s->ended || s->sys == ECONNRESET || s->sys == EPIPE)
		return closed(s, to, err);
	return no_node(to->port, err);
}

/*
 * Finds the node's name in its challenge message. The message is: 'N', flags (8
 * bytes), challenge (4), creation (4), length of the name (2), name.  The old
 * form is: 'n', version (2), flags (4), challenge (4), name.
 */
static bool given_name(const struct inv_handshake_says *s, const uint8_t **name,
		       size_t *n)
{
	const uint8_t *at;
	size_t len;

	if (!message(s, 1, &at, &len) || len == 0)
		return false;
	if (at[0] == 'N' && len >= 19) {
		*n = (size_t)at[17] << 8 | at[18];
		*name = at + 19;
		return *n <= len - 19;
	}
	if (at[0] == 'n' && len >= 11) {
		*n = len - 11;
		*name = at + 11;
		return true;
	}
	return false;
}

int inv_handshake_name(const struct inv_handshake_says *s,
		       const struct inv_node_name *asked,
		       const struct inv_endpoint *to, struct inv_node_name *out,
		       struct inv_err *err)
{
	const uint8_t *name;
	size_t n;

	if (!given_name(s, &name, &n) ||
	    inv_node_name_parse(out, (const char *)name, n, NULL) < 0)
		return inv_err_set(err, INV_EREFUSED,
				   "the node did not say what its name is");
	if (strcmp(out->full, asked->full) == 0 ||
	    ((asked->any_host || asked->service[0]) &&
	     strcmp(out->alive, asked->alive) == 0) ||
	    (asked->service[0] && !asked->alive[0]))
		return 0;
	if (asked->service[0])
		return inv_err_set(err, INV_EUNREACHABLE,
				   "the node calls itself %s, and not %s@...",
				   out->full, asked->alive);
	if (to->direct)
		return inv_err_set(
			err, INV_EUNREACHABLE,
			"the node calls itself %s: give that name "
			"with -n, and its address with --at %s%s%s:%u",
			out->full, strchr(to->host, ':') ? "[" : "", to->host,
			strchr(to->host, ':') ? "]" : "", to->port);
	return inv_err_set(err, INV_EUNREACHABLE,
			   "the node calls itself %s: use that name%s",
			   out->full,
			   out->is_long == asked->is_long ? "" :
			   out->is_long ? " (it has a long one)" :
					  " (it has a short one)");
}
