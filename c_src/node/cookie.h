/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_COOKIE_H
#define INV_NODE_COOKIE_H

#include "base/err.h"

/*
 * The cookie, from the first of these sources that exists:
 *	-c			other users can see the cookie, so the caller
 *				must warn
 *	--cookie-file
 *	INVISO_COOKIE		environment variable
 *	RELEASE_COOKIE		environment variable of a release's script
 *	~/.erlang.cookie
 *	$XDG_CONFIG_HOME/erlang/.erlang.cookie	(if unset, ~/.config)
 *
 * As in Erlang, a file that group or others can access is refused, and white
 * space at the end of a file is not part of the cookie.
 */
#define INV_COOKIE_MAX 255

enum inv_cookie_source {
	INV_COOKIE_OPTION = 1, /* -c; other users can see the cookie */
	INV_COOKIE_FILE,       /* --cookie-file */
	INV_COOKIE_ENV,
	INV_COOKIE_RELEASE,
	INV_COOKIE_HOME,
	INV_COOKIE_XDG,
};

struct inv_cookie {
	char text[INV_COOKIE_MAX + 1];
	enum inv_cookie_source source;
};

/*
 * option and file are the values of -c and --cookie-file, or NULL. If a source
 * exists but is not usable, returns an error instead of trying the next source:
 * INV_EREFUSED (group or others can access a file), INV_EINVAL (invalid
 * characters or length) or INV_EIO. Also returns INV_EINVAL if no source
 * exists.
 */
int inv_cookie_find(struct inv_cookie *out, const char *option,
		    const char *file, struct inv_err *err);

/* Returns the source's name for messages, such as "~/.erlang.cookie". */
const char *inv_cookie_source_name(enum inv_cookie_source source);

#endif
