/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tee.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"

/* Returns the name of the file for a node: F.log becomes F-NODE.log. */
static char *file_name(const struct inv_tee *t, const char *node)
{
	size_t n = strlen(t->path);
	bool ends = n > 4 && !strcmp(t->path + n - 4, ".log");
	char *name;

	if (asprintf(&name, "%.*s-%s%s", (int)(ends ? n - 4 : n), t->path, node,
		     ends ? ".log" : "") < 0)
		return NULL;
	return name;
}

static int make(struct inv_tee *t, size_t i)
{
	struct inv_screen *screen = t->ms->cluster->screen;
	char *name = t->ms->n > 1 ? file_name(t, t->ms->v[i].name) :
				    strdup(t->path);

	if (!name) {
		inv_screen_note(screen, "no memory");
		return INV_EXIT_FAILED;
	}
	t->fds[i] = open(name,
			 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			 0600);
	if (t->fds[i] < 0)
		inv_screen_note(screen, "-o %s: %s%s", name, strerror(errno),
				errno == EEXIST ?
					"; remove it, or give another name" :
					"");
	free(name);
	return t->fds[i] < 0 ? INV_EXIT_FAILED : INV_EXIT_DONE;
}

int inv_tee_open(struct inv_tee *t, const struct inv_members *ms)
{
	int status = INV_EXIT_DONE;

	if (!t->path)
		return INV_EXIT_DONE;
	t->ms = ms;
	t->fds = malloc((ms->n + 1) * sizeof(*t->fds));
	if (!t->fds) {
		inv_screen_note(ms->cluster->screen, "no memory");
		return INV_EXIT_FAILED;
	}
	for (size_t i = 0; i < ms->n; i++)
		t->fds[i] = -1;
	for (size_t i = 0; !status && i < ms->n; i++)
		status = make(t, i);
	return status;
}

static bool write_all(int fd, const uint8_t *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static bool report(struct inv_tee *t, const struct inv_member *m)
{
	inv_screen_note(t->ms->cluster->screen, "-o %s: %s: %s", t->path,
			m->name, strerror(errno));
	t->failed = true;
	return false;
}

bool inv_tee_put(struct inv_tee *t, const struct inv_member *m,
		 const struct inv_followed *f)
{
	if (!t->fds || t->failed || !f->len ||
	    write_all(t->fds[m - t->ms->v], f->bytes, f->len))
		return true;
	return report(t, m);
}

bool inv_tee_close(struct inv_tee *t)
{
	for (size_t i = 0; t->fds && i < t->ms->n; i++)
		if (t->fds[i] >= 0 && close(t->fds[i]) && !t->failed)
			report(t, &t->ms->v[i]);
	free(t->fds);
	t->fds = NULL;
	return !t->failed;
}
