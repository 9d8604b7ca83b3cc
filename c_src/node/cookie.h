/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_COOKIE_H
#define INV_NODE_COOKIE_H

#include "base/err.h"

/*
 * The cookie, from the first of these that is there:
 *	-c				others can see it: the caller warns
 *	--cookie-file
 *	INVISO_COOKIE			in the environment
 *	~/.erlang.cookie
 *	$XDG_CONFIG_HOME/erlang/.erlang.cookie	(~/.config, where not set)
 *
 * A file that group or others can access is refused, as Erlang does; white
 * space at its end is not part of the cookie.
 */
#define INV_COOKIE_MAX 255

enum inv_cookie_source {
	INV_COOKIE_OPTION = 1, /* visible to others: warn */
	INV_COOKIE_FILE,       /* --cookie-file */
	INV_COOKIE_ENV,
	INV_COOKIE_HOME,
	INV_COOKIE_XDG,
};

struct inv_cookie {
	char text[INV_COOKIE_MAX + 1];
	enum inv_cookie_source source;
};

/*
 * option and file are what -c and --cookie-file said, or NULL.  A source that
 * is there and no good is an error; the next one is not tried.
 * INV_EREFUSED (a file's mode), INV_EINVAL (characters, length, none
 * anywhere), INV_EIO.
 */
int inv_cookie_find(struct inv_cookie *out, const char *option,
		    const char *file, struct inv_err *err);

/* Where it came from, for messages: "~/.erlang.cookie". */
const char *inv_cookie_source_name(enum inv_cookie_source source);

#endif
