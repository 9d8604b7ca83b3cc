/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/remove.h"

void inv_output_fd(struct inv_output *o, int fd)
{
	memset(o, 0, sizeof(*o));
	o->fd = fd;
}

static int open_special(struct inv_output *o, const char *path,
			struct inv_err *err)
{
	o->fd = open(path, O_WRONLY | O_CLOEXEC);
	if (o->fd < 0)
		return inv_err_sys(err, errno, "open %s", path);
	return 0;
}

/* Returns the length of path without the slashes that the path of a directory
 * may have at its end. */
static size_t name_len(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return n;
}

static int open_temporary(struct inv_output *o, const char *path,
			  bool directory, struct inv_err *err)
{
	bool made;

	o->fd = -1;
	if (asprintf(&o->tmp, "%.*s.XXXXXX",
		     directory ? (int)name_len(path) : (int)strlen(path),
		     path) < 0)
		o->tmp = NULL;
	if (!o->tmp)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	if (directory) {
		made = mkdtemp(o->tmp) != NULL;
	} else {
		o->fd = mkostemp(o->tmp, O_CLOEXEC);
		made = o->fd >= 0;
	}
	if (!made) {
		int sys = errno;

		free(o->tmp);
		o->tmp = NULL;
		return inv_err_sys(err, sys, "create %s", path);
	}
	return 0;
}

int inv_output_file(struct inv_output *o, const char *path, struct inv_err *err)
{
	struct stat st;
	int rc;

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	o->path = strdup(path);
	if (!o->path)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		rc = open_special(o, path, err);
	else
		rc = open_temporary(o, path, false, err);
	if (rc)
		inv_output_close(o, false, NULL);
	return rc;
}

/* Returns true if the path is a directory that can be read and is empty. */
static bool is_empty(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	while (d && n < 3 && readdir(d)) /* NOLINT: one thread */
		n++;
	if (d)
		closedir(d);
	return d && n < 3;
}

/* Refuses a path that the new file or directory cannot replace. */
static int check_path(const char *path, bool directory, struct inv_err *err)
{
	struct stat st;

	if (stat(path, &st))
		return 0; /* normally, the path does not exist; any other error
			     is reported when the file is created */
	if (!directory)
		return S_ISREG(st.st_mode) ?
			       0 :
			       inv_err_set(
				       err, INV_EINVAL,
				       "-o %s: is not a regular file, which "
				       "this format needs",
				       path);
	if (!S_ISDIR(st.st_mode))
		return inv_err_set(err, INV_EINVAL,
				   "-o %s: is not a directory, which this "
				   "format writes",
				   path);
	return is_empty(path) ?
		       0 :
		       inv_err_set(err, INV_EINVAL,
				   "-o %s: the directory is not empty: remove "
				   "it, or name another one",
				   path);
}

int inv_output_path(struct inv_output *o, const char *path, bool directory,
		    struct inv_err *err)
{
	int rc = check_path(path, directory, err);

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	if (rc)
		return rc;
	o->path = strndup(path, directory ? name_len(path) : strlen(path));
	if (!o->path)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	rc = open_temporary(o, path, directory, err);
	if (rc)
		inv_output_close(o, false, NULL);
	return rc;
}

static int write_all(struct inv_output *o, struct inv_err *err)
{
	size_t off = 0;

	while (off < o->buf.len && !o->broken) {
		ssize_t n = write(o->fd, o->buf.data + off, o->buf.len - off);

		if (n >= 0)
			off += (size_t)n;
		else if (errno == EPIPE)
			o->broken = true;
		else if (errno != EINTR)
			return inv_err_sys(err, errno, "write %s",
					   o->path ? o->path : "the output");
	}
	inv_buf_reset(&o->buf);
	return 0;
}

static int await_reader(struct inv_output *o, struct inv_err *err)
{
	char byte;
	ssize_t n;

	if (!o->ahead) {
		o->ahead = true;
		return 0;
	}
	do
		n = read(STDIN_FILENO, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return inv_err_sys(err, errno, "read the standard input");
	o->broken = o->broken || !n;
	return 0;
}

int inv_output_flush_if_full(struct inv_output *o, struct inv_err *err)
{
	int rc;

	if (o->buf.len < INV_OUTPUT_FULL)
		return 0;
	if (o->paced)
		inv_buf_put(&o->buf, "\0\0\0\0", 4);
	rc = write_all(o, err);
	return rc || !o->paced ? rc : await_reader(o, err);
}

static int finish(struct inv_output *o, bool complete, struct inv_err *err)
{
	int rc = complete ? write_all(o, err) : 0;

	if (o->path && o->fd >= 0 && close(o->fd) && !rc && complete)
		rc = inv_err_sys(err, errno, "close %s", o->path);
	if (!o->tmp)
		return rc;
	if (!rc && complete && rename(o->tmp, o->path))
		rc = inv_err_sys(err, errno, "rename %s to %s", o->tmp,
				 o->path);
	if (rc || !complete)
		inv_remove(o->tmp);
	return rc;
}

int inv_output_close(struct inv_output *o, bool complete, struct inv_err *err)
{
	int rc = finish(o, complete, err);

	inv_buf_release(&o->buf);
	free(o->tmp);
	free(o->path);
	memset(o, 0, sizeof(*o));
	o->fd = -1;
	return rc;
}
