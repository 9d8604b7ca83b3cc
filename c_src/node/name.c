/* SPDX-License-Identifier: Apache-2.0 */
#include "node/name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "node/etf_text.h"

int inv_node_own_host(char *host, size_t size, bool is_long,
		      struct inv_err *err)
{
	char *dot;

	if (gethostname(host, size) < 0)
		return inv_err_sys(err, errno, "this machine's name");
	host[size - 1] = '\0';
	if (host[0] == '\0')
		return inv_err_set(err, INV_EIO, "this machine has no name");
	dot = strchr(host, '.');
	if (dot && !is_long)
		*dot = '\0';
	return 0;
}

/*
 * Returns true if the name contains blanks, bytes that are not UTF-8, or
 * characters that a terminal would obey or hide. Names are shown to the user,
 * even those that a node has sent.
 */
static bool has_odd_bytes(const char *s, size_t len)
{
	const uint8_t *p = (const uint8_t *)s;
	const uint8_t *end = p + len;
	unsigned n;

	for (; p < end; p += n) {
		uint32_t c = inv_utf8_get(p, end, &n);

		if (c == INV_CHAR_BAD || c <= ' ' || (c >= 0x7f && c <= 0xa0) ||
		    inv_char_hidden(c))
			return true;
	}
	return false;
}

static int bad_name(struct inv_err *err, const char *text, size_t len,
		    const char *why)
{
	char plain[81];

	inv_plain_text(plain, sizeof(plain), text, len);
	return inv_err_set(err, INV_EINVAL,
			   "'%s' is not a node name: %s; write name@host, or "
			   "name for a node on this machine",
			   plain, why);
}

int inv_node_name_parse(struct inv_node_name *out, const char *text, size_t len,
			struct inv_err *err)
{
	const char *at = memchr(text, '@', len);
	size_t alive = at ? (size_t)(at - text) : len;
	size_t host = at ? len - alive - 1 : 0;
	int r;

	memset(out, 0, sizeof(*out));
	if (len > INV_NODE_NAME_MAX)
		return bad_name(err, text, len, "it is too long");
	if (alive == 0)
		return bad_name(err, text, len, "it is empty");
	if (has_odd_bytes(text, len))
		return bad_name(err, text, len,
				"it has a blank or a control character");
	/* The name of a node becomes a part of file names, so it must not have
	 * a /. Erlang allows this character after the @. */
	if (memchr(text, '/', len))
		return bad_name(err, text, len, "it has a /");
	if (at && (host == 0 || memchr(at + 1, '@', host)))
		return bad_name(err, text, len,
				"after the @ there is no valid host");
	memcpy(out->alive, text, alive);
	if (at) {
		memcpy(out->host, at + 1, host);
	} else {
		r = inv_node_own_host(out->host, sizeof(out->host), false, err);
		if (r < 0)
			return r;
		out->any_host = true;
		host = strlen(out->host);
		if (alive + 1 + host > INV_NODE_NAME_MAX)
			return bad_name(err, text, len, "it is too long");
	}
	memcpy(out->full, out->alive, alive);
	out->full[alive] = '@';
	memcpy(out->full + alive + 1, out->host, host + 1);
	out->is_long = strpbrk(out->host, ".:") != NULL;
	return 0;
}

/* --- ports ---------------------------------------------------------------- */

/* The parts of `host:port', as pointers into the text; port is NULL if there is
 * none. */
struct parts {
	const char *host;
	size_t host_len;
	const char *port;
	size_t port_len;
};

/*
 * Splits `host', `host:port', `[v6]' or `[v6]:port'.  A text without brackets
 * that has more than one colon is an IPv6 address.  Returns false if a bracket
 * is not closed, or if it is followed by a text that is not a port.
 */
static bool split(const char *text, size_t len, struct parts *out)
{
	const char *end = text + len;
	const char *colon = memchr(text, ':', len);

	*out = (struct parts){ .host = text, .host_len = len };
	if (len > 0 && text[0] == '[') {
		const char *close = memchr(text, ']', len);

		if (!close || (close + 1 < end && close[1] != ':'))
			return false;
		out->host++;
		out->host_len = (size_t)(close - text) - 1;
		colon = close + 1 < end ? close + 1 : NULL;
	} else if (colon && memchr(colon + 1, ':', (size_t)(end - colon) - 1)) {
		colon = NULL;
	} else if (colon) {
		out->host_len = (size_t)(colon - text);
	}
	if (colon) {
		out->port = colon + 1;
		out->port_len = (size_t)(end - colon) - 1;
	}
	return true;
}

static bool parse_port(const char *text, size_t len, uint16_t *port)
{
	unsigned v = 0;

	if (len == 0 || len > 5)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		v = v * 10 + (unsigned)(text[i] - '0');
	}
	*port = (uint16_t)v;
	return v > 0 && v <= 65535;
}

int inv_node_target_parse(struct inv_node_name *out, const char *text,
			  size_t len, struct inv_err *err)
{
	const char *at = memchr(text, '@', len);
	size_t before = at ? (size_t)(at - text) + 1 : 0;
	char name[INV_NODE_NAME_MAX + 1];
	uint16_t port = 0;
	struct parts h;
	int r;

	if (!split(text + before, len - before, &h))
		return bad_name(err, text, len,
				"after the @ there is no valid host");
	if (h.port && !parse_port(h.port, h.port_len, &port))
		return bad_name(err, text, len,
				"after the : there is no port number");
	if (before + h.host_len >= sizeof(name))
		return bad_name(err, text, len, "it is too long");
	memcpy(name, text, before);
	memcpy(name + before, h.host, h.host_len);
	r = inv_node_name_parse(out, name, before + h.host_len, err);
	out->port = port;
	return r;
}

int inv_node_at_parse(struct inv_node_at *out, const char *text,
		      struct inv_err *err)
{
	size_t len = strlen(text);
	struct parts h;

	memset(out, 0, sizeof(*out));
	if (!split(text, len, &h) || h.host_len == 0 ||
	    h.host_len >= sizeof(out->host) || has_odd_bytes(text, len) ||
	    !h.port || !parse_port(h.port, h.port_len, &out->port))
		return inv_err_set(err, INV_EINVAL,
				   "write HOST:PORT, such as localhost:9001 or "
				   "[::1]:9001");
	memcpy(out->host, h.host, h.host_len);
	return 0;
}

/* --- sets of names -------------------------------------------------------- */

static struct inv_node_name *find(const struct inv_node_names *ns,
				  const char *full)
{
	for (size_t i = 0; i < ns->n; i++)
		if (strcmp(ns->names[i].full, full) == 0)
			return &ns->names[i];
	return NULL;
}

static int add(struct inv_node_names *ns, const struct inv_node_name *name,
	       struct inv_err *err)
{
	struct inv_node_name *known = find(ns, name->full);
	struct inv_node_name *more;

	if (known && known->port && name->port && known->port != name->port)
		return inv_err_set(err, INV_EINVAL,
				   "%s is given with two ports, %u and %u",
				   name->full, known->port, name->port);
	if (known) {
		if (name->port)
			known->port = name->port;
		return 0;
	}
	more = realloc(ns->names, (ns->n + 1) * sizeof(*more));
	if (!more)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	ns->names = more;
	ns->names[ns->n++] = *name;
	return 0;
}

int inv_node_names_add(struct inv_node_names *ns, const char *text,
		       struct inv_err *err)
{
	struct inv_node_name name;

	for (;;) {
		size_t len = strcspn(text, ",");
		int r = inv_node_target_parse(&name, text, len, err);

		if (r == 0)
			r = add(ns, &name, err);
		if (r < 0 || text[len] == '\0')
			return r;
		text += len + 1;
	}
}

int inv_node_names_add_peer(struct inv_node_names *ns, const char *name,
			    struct inv_err *err)
{
	struct inv_node_name n;
	int r = inv_node_name_parse(&n, name, strlen(name), err);

	return r < 0 ? r : add(ns, &n, err);
}

bool inv_node_names_have(const struct inv_node_names *ns, const char *full)
{
	return find(ns, full) != NULL;
}

void inv_node_names_release(struct inv_node_names *ns)
{
	free(ns->names);
	memset(ns, 0, sizeof(*ns));
}
