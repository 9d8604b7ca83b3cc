/* SPDX-License-Identifier: Apache-2.0 */
#include "node/handshake_says.h"

#include <errno.h>
#include <string.h>

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

/* The which'th message, of two bytes of length and the rest; false: it did not
 * come, or not whole. */
static bool message(const struct inv_handshake_says *s, unsigned which,
		    const uint8_t **at, size_t *len)
{
	const uint8_t *p = s->bytes;
	size_t left = s->n;

	for (;;) {
		size_t n;

		if (left < 2)
			return false;
		n = (size_t)p[0] << 8 | p[1];
		if (n > left - 2)
			return false;
		if (which-- == 0) {
			*at = p + 2;
			*len = n;
			return true;
		}
		p += 2 + n;
		left -= 2 + n;
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
				   "the node is connected to another of our "
				   "name; try again");
	if (is_status(at, len, "not_allowed"))
		return inv_err_set(err, INV_EREFUSED,
				   "the node allows only certain nodes to "
				   "connect (net_kernel:allow/1 there)");
	return inv_err_set(err, INV_EREFUSED,
			   "the node does not want to connect; its log may "
			   "say why");
}

static int never_connected(const struct inv_handshake_says *s,
			   const struct inv_node_name *node, unsigned port,
			   struct inv_err *err)
{
	const char *what = strerrordesc_np(s->sys);

	if (s->sys == ECONNREFUSED)
		return inv_err_set(err, INV_EUNREACHABLE,
				   "epmd on %s says that the node listens on "
				   "port %u, but nobody does: has it just "
				   "died, or is there a firewall?",
				   node->host, port);
	if (s->sys == ETIMEDOUT)
		return inv_err_set(err, INV_EUNREACHABLE,
				   "connecting to %s port %u takes too long: "
				   "is there a firewall?",
				   node->host, port);
	return inv_err_set(err, INV_EUNREACHABLE,
			   "connecting to %s port %u: %s", node->host, port,
			   what ? what : "unknown error");
}

static int no_node(unsigned port, struct inv_err *err)
{
	return inv_err_set(err, INV_EUNREACHABLE,
			   "the handshake with the node failed: what listens "
			   "on port %u is no Erlang node that this program "
			   "understands",
			   port);
}

static int closed(const struct inv_handshake_says *s, unsigned port,
		  struct inv_err *err)
{
	const uint8_t *at;
	size_t len;

	if (message(s, 1, &at, &len))
		return inv_err_set(
			err, INV_EREFUSED,
			"the node has another cookie; give its "
			"cookie with --cookie-file or INVISO_COOKIE");
	if (s->n == 0)
		return inv_err_set(err, INV_EUNREACHABLE,
				   "the node closed the connection without a "
				   "word: it may be stopping, or speak another "
				   "protocol (TLS distribution is not "
				   "supported yet)");
	if (!message(s, 0, &at, &len))
		return no_node(port, err);
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
		      const struct inv_node_name *node, unsigned port,
		      struct inv_err *err)
{
	const uint8_t *at;
	size_t len;

	if (s->sys == ECANCELED)
		return inv_err_set(err, INV_ELOST, "cancelled");
	if (!s->connected)
		return never_connected(s, node, port, err);
	if (s->n >= 2 && s->bytes[0] == TLS_ALERT && s->bytes[1] == TLS_MAJOR)
		return inv_err_set(err, INV_EUNREACHABLE,
				   "the node speaks TLS distribution, which is "
				   "not supported yet");
	if (s->sys == ETIMEDOUT)
		return inv_err_set(err, INV_EUNREACHABLE,
				   "the node accepts the connection, but does "
				   "not answer in time: is it stopped, or "
				   "overloaded?");
	if (message(s, 0, &at, &len) && !accepts(at, len))
		return refused(at, len, err);
	if (s->ended || s->sys == ECONNRESET || s->sys == EPIPE)
		return closed(s, port, err);
	return no_node(port, err);
}

/* The challenge: 'N', flags (8), challenge (4), creation (4), length (2),
 * name; or the old one: 'n', version (2), flags (4), challenge (4), name. */
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
		       struct inv_node_name *out, struct inv_err *err)
{
	const uint8_t *name;
	size_t n;

	if (!given_name(s, &name, &n) ||
	    inv_node_name_parse(out, (const char *)name, n, NULL) < 0)
		return inv_err_set(err, INV_EREFUSED,
				   "the node did not say what its name is");
	if (strcmp(out->full, asked->full) == 0 ||
	    (asked->any_host && strcmp(out->alive, asked->alive) == 0))
		return 0;
	return inv_err_set(err, INV_EUNREACHABLE,
			   "the node calls itself %s: use that name%s",
			   out->full,
			   out->is_long == asked->is_long ? "" :
			   out->is_long ? " (it has a long one)" :
					  " (it has a short one)");
}
