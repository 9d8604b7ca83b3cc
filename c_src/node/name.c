/* SPDX-License-Identifier: Apache-2.0 */
#include "node/name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "term/chars.h"

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

/* What would command a terminal, or is no text.  Names are printed, also those
 * that a node gives of others. */
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
	size_t i;

	for (i = 0; i < len && i < sizeof(plain) - 1; i++)
		plain[i] = (char)(text[i] >= ' ' && text[i] < 0x7f ? text[i] :
								     '?');
	plain[i] = '\0';
	return inv_err_set(err, INV_EINVAL,
			   "'%s' is no name of a node: %s; write name@host, "
			   "or name for a node on this machine",
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
				"it has a blank in it, or what is no letter");
	/* It becomes part of a file's name, and Erlang takes none either. */
	if (memchr(text, '/', len))
		return bad_name(err, text, len, "it has a / in it");
	if (at && (host == 0 || memchr(at + 1, '@', host)))
		return bad_name(err, text, len,
				"what is after the @ is no "
				"host");
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

static bool has(const struct inv_node_names *ns, const char *full)
{
	size_t i;

	for (i = 0; i < ns->n; i++)
		if (strcmp(ns->names[i].full, full) == 0)
			return true;
	return false;
}

static int add_one(struct inv_node_names *ns, const char *text, size_t len,
		   struct inv_err *err)
{
	struct inv_node_name name;
	struct inv_node_name *more;
	int r = inv_node_name_parse(&name, text, len, err);

	if (r < 0 || has(ns, name.full))
		return r;
	more = realloc(ns->names, (ns->n + 1) * sizeof(*more));
	if (!more)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	ns->names = more;
	ns->names[ns->n++] = name;
	return 0;
}

int inv_node_names_add(struct inv_node_names *ns, const char *text,
		       struct inv_err *err)
{
	for (;;) {
		size_t len = strcspn(text, ",");
		int r = add_one(ns, text, len, err);

		if (r < 0)
			return r;
		if (text[len] == '\0')
			return 0;
		text += len + 1;
	}
}

void inv_node_names_release(struct inv_node_names *ns)
{
	free(ns->names);
	memset(ns, 0, sizeof(*ns));
}
