/* SPDX-License-Identifier: Apache-2.0 */
#include "node/cookie.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *inv_cookie_source_name(enum inv_cookie_source source)
{
	switch (source) {
	case INV_COOKIE_OPTION:
		return "-c";
	case INV_COOKIE_FILE:
		return "--cookie-file";
	case INV_COOKIE_ENV:
		return "INVISO_COOKIE";
	case INV_COOKIE_RELEASE:
		return "RELEASE_COOKIE";
	case INV_COOKIE_HOME:
		return "~/.erlang.cookie";
	case INV_COOKIE_XDG:
		return "$XDG_CONFIG_HOME/erlang/.erlang.cookie";
	}
	return "?";
}

/* Checks and stores the cookie. `from' is the name of its source or file, for
 * error messages. */
static int take(struct inv_cookie *out, const char *text, size_t len,
		enum inv_cookie_source source, const char *from,
		struct inv_err *err)
{
	size_t i;

	if (len == 0)
		return inv_err_set(err, INV_EINVAL, "the cookie of %s is empty",
				   from);
	if (len > INV_COOKIE_MAX)
		return inv_err_set(err, INV_EINVAL,
				   "the cookie of %s is longer than the %d "
				   "characters that Erlang allows",
				   from, INV_COOKIE_MAX);
	for (i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return inv_err_set(err, INV_EINVAL,
					   "the cookie of %s has a character "
					   "that Erlang does not allow, at "
					   "byte %zu",
					   from, i + 1);
	memcpy(out->text, text, len);
	out->text[len] = '\0';
	out->source = source;
	return 0;
}

static int check_mode(int fd, const char *path, struct inv_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return inv_err_sys(err, errno, "cookie file %s", path);
	if (!S_ISREG(st.st_mode))
		return inv_err_set(err, INV_EINVAL,
				   "cookie file %s is not a file", path);
	if (st.st_mode & 077)
		return inv_err_set(
			err, INV_EREFUSED,
			"cookie file %s can be accessed by other users: "
			"chmod 600 it (others may have read it "
			"already)",
			path);
	return 0;
}

/*
 * Returns the length of s without the white space at its end. As in Erlang,
 * this white space is not part of the cookie.
 */
static size_t trimmed(const char *s, size_t len)
{
	while (len > 0 && strchr(" \t\r\n", s[len - 1]))
		len--;
	return len;
}

static int read_open(struct inv_cookie *out, int fd, const char *path,
		     enum inv_cookie_source source, struct inv_err *err)
{
	char buf[INV_COOKIE_MAX + 64];
	size_t len = 0;
	ssize_t n = 0;
	int r = check_mode(fd, path, err);

	if (r < 0)
		return r;
	while (len < sizeof(buf) &&
	       (n = read(fd, buf + len, sizeof(buf) - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		r = inv_err_sys(err, errno, "cookie file %s", path);
	else
		r = take(out, buf, trimmed(buf, len), source, path, err);
	explicit_bzero(buf, sizeof(buf));
	return r;
}

/*
 * Reads the cookie from a file. Returns INV_END if the file does not exist.
 * Uses O_NONBLOCK, because otherwise opening a FIFO could block.
 */
static int from_file(struct inv_cookie *out, const char *path,
		     enum inv_cookie_source source, struct inv_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int r;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return INV_END;
	if (fd < 0)
		return inv_err_sys(err, errno, "cookie file %s", path);
	r = read_open(out, fd, path, source, err);
	close(fd);
	return r;
}

/*
 * Returns the user's home directory, or NULL if it is unknown.  As in Erlang,
 * the variable HOME takes precedence.
 */
static const char *home(char *buf, size_t size)
{
	const char *dir = getenv("HOME"); // NOLINT(concurrency-mt-unsafe)
	struct passwd pw;
	struct passwd *found;
	char room[1024];

	if (dir && dir[0])
		return dir;
	if (getpwuid_r(geteuid(), &pw, room, sizeof(room), &found) != 0 ||
	    !found)
		return NULL;
	if (snprintf(buf, size, "%s", pw.pw_dir) >= (int)size)
		return NULL;
	return buf;
}

static int from_home(struct inv_cookie *out, struct inv_err *err)
{
	// NOLINTNEXTLINE(concurrency-mt-unsafe)
	const char *xdg = getenv("XDG_CONFIG_HOME");
	char buf[1024];
	char path[1200];
	const char *dir = home(buf, sizeof(buf));
	int r = INV_END;

	if (dir) {
		snprintf(path, sizeof(path), "%s/.erlang.cookie", dir);
		r = from_file(out, path, INV_COOKIE_HOME, err);
	}
	if (r != INV_END)
		return r;
	if (xdg && xdg[0])
		snprintf(path, sizeof(path), "%s/erlang/.erlang.cookie", xdg);
	else if (dir)
		snprintf(path, sizeof(path), "%s/.config/erlang/.erlang.cookie",
			 dir);
	else
		return INV_END;
	return from_file(out, path, INV_COOKIE_XDG, err);
}

/* Reads the cookie from the source's environment variable. Returns INV_END if
 * the variable is not set, or empty. */
static int from_env(struct inv_cookie *out, enum inv_cookie_source source,
		    struct inv_err *err)
{
	const char *name = inv_cookie_source_name(source);
	const char *text = getenv(name); // NOLINT(concurrency-mt-unsafe)

	if (!text || !text[0])
		return INV_END;
	return take(out, text, strlen(text), source, name, err);
}

int inv_cookie_find(struct inv_cookie *out, const char *option,
		    const char *file, struct inv_err *err)
{
	int r;

	memset(out, 0, sizeof(*out));
	if (option)
		return take(out, option, strlen(option), INV_COOKIE_OPTION,
			    "-c", err);
	if (file) {
		r = from_file(out, file, INV_COOKIE_FILE, err);
		if (r == INV_END)
			return inv_err_sys(err, ENOENT, "cookie file %s", file);
		return r;
	}
	r = from_env(out, INV_COOKIE_ENV, err);
	if (r == INV_END)
		r = from_env(out, INV_COOKIE_RELEASE, err);
	if (r == INV_END)
		r = from_home(out, err);
	if (r == INV_END)
		return inv_err_set(err, INV_EINVAL,
				   "no cookie: there is no ~/.erlang.cookie; "
				   "give the nodes' cookie in a file "
				   "(--cookie-file) or in INVISO_COOKIE");
	return r;
}
