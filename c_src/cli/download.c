/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/download.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd.h"
#include "cli/report.h"
#include "cli/shell_word.h"
#include "cli/units.h"

#define BAR 24

bool inv_download_dir(struct inv_cluster *c, const char *dir)
{
	struct stat st;

	if (!mkdir(dir, 0700) ||
	    (errno == EEXIST && !stat(dir, &st) && S_ISDIR(st.st_mode)))
		return true;
	inv_screen_note(c->screen, "-o %s: %s", dir,
			errno == EEXIST ? "is not a directory" :
					  strerror(errno));
	return false;
}

bool inv_download_room(const struct inv_members *ms, const char *dir,
		       const char *name)
{
	bool room = true;
	char *path;

	for (size_t i = 0; i < ms->n; i++) {
		struct stat st;

		if (asprintf(&path, "%s/%s-%s.log", dir, ms->v[i].name, name) <
		    0)
			return false;
		if (!lstat(path, &st)) {
			inv_screen_note(ms->cluster->screen,
					"%s exists already: use another --name "
					"or -o",
					path);
			room = false;
		}
		free(path);
	}
	return room;
}

/* --- progress ------------------------------------------------------------- */

static void progress(void *arg, const struct inv_fetch *f, size_t n)
{
	struct inv_cluster *c = arg;
	uint64_t done = 0, total = 0;
	struct inv_buf b = { 0 };
	unsigned filled;

	for (size_t i = 0; i < n; i++) {
		done += f[i].done;
		total += f[i].total;
	}
	filled = total ? (unsigned)((double)done / (double)total * BAR) : 0;
	inv_buf_puts(&b, "fetching [");
	for (unsigned i = 0; i < BAR; i++)
		inv_buf_putc(&b, i < filled ? '#' : ' ');
	inv_buf_printf(&b, "] %3u %%, ",
		       total ? (unsigned)((double)done / (double)total * 100) :
			       0);
	inv_units_put_bytes(&b, done);
	inv_buf_puts(&b, " of ");
	inv_units_put_bytes(&b, total);
	inv_buf_put(&b, "", 1);
	if (!b.error)
		inv_screen_status(c->screen, (const char *)b.data);
	inv_buf_release(&b);
}

/* --- the work ------------------------------------------------------------- */

/* Adds a fetch to g->f for each member that has a session. Returns the number
 * of fetches. */
static size_t fill(struct inv_download *g, struct inv_members *ms)
{
	size_t n = 0;

	for (size_t i = 0; i < ms->n; i++) {
		struct inv_member *m = &ms->v[i];

		if (!m->there)
			continue;
		snprintf(g->prefixes[n], sizeof(g->prefixes[n]), "%s-",
			 m->name);
		g->f[n].session = &m->session;
		g->f[n].dir = g->dir;
		g->f[n].prefix = g->prefixes[n];
		n++;
	}
	return n;
}

static struct inv_fetch *fetch_of(const struct inv_download *g,
				  const struct inv_member *m)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->f[i].session == &m->session)
			return &g->f[i];
	return NULL;
}

static void judge(struct inv_download *g, struct inv_members *ms)
{
	for (size_t i = 0; i < ms->n; i++) {
		struct inv_member *m = &ms->v[i];
		const struct inv_fetch *f = fetch_of(g, m);

		m->unfetched = f && f->code;
		if (!m->unfetched || f->code == INV_ECANCELLED)
			continue;
		inv_screen_note_node(ms->cluster->screen, m->name, f->err.text);
		m->code = f->code;
		m->err = f->err;
	}
}

int inv_download_run(struct inv_download *g, struct inv_members *ms)
{
	struct inv_cluster *c = ms->cluster;

	g->f = calloc(ms->n + 1, sizeof(*g->f));
	g->prefixes = calloc(ms->n + 1, sizeof(*g->prefixes));
	if (!g->f || !g->prefixes) {
		inv_screen_note(c->screen, "no memory");
		return INV_EXIT_FAILED;
	}
	g->n = fill(g, ms);
	inv_screen_status(c->screen, "fetching ...");
	if (inv_fetch_all(g->f, g->n, c->in, progress, c, c->stop.fd) ==
	    INV_ECANCELLED) {
		inv_stop_take(&c->stop);
		c->stopped = true;
		g->cancelled = true;
		inv_screen_note(c->screen,
				"interrupted; what was fetched is "
				"in %s",
				g->dir);
	}
	judge(g, ms);
	return g->cancelled ? INV_EXIT_FAILED : INV_EXIT_DONE;
}

/* Appends "-n a@h -n b@h" for sessions that were not completely fetched and
 * keep their logs. Returns true if there are any. */
static bool put_unfetched(const struct inv_members *ms, struct inv_buf *b)
{
	bool any = false;

	for (size_t i = 0; i < ms->n; i++) {
		const struct inv_member *m = &ms->v[i];

		if (!m->there || !m->unfetched)
			continue;
		inv_members_put_target(ms, i, b);
		any = true;
	}
	inv_node_opts_put_rest(ms->cluster->opts, b);
	return any;
}

void inv_download_leave(struct inv_download *g, struct inv_members *ms,
			const char *name)
{
	struct inv_buf b = { 0 };
	bool any = put_unfetched(ms, &b);

	inv_buf_printf(&b, " %s -o ", name);
	inv_shell_word_put(&b, g->dir);
	inv_members_hold(ms);
	inv_members_remove(ms);
	if (any && !b.error)
		inv_screen_note(ms->cluster->screen,
				"logs that were not fetched stay on the nodes "
				"for a day; get them with: inviso fetch%.*s",
				(int)b.len, (const char *)b.data);
	inv_buf_release(&b);
}

void inv_download_release(struct inv_download *g)
{
	if (g->f)
		inv_fetch_release(g->f, g->n);
	free(g->f);
	free(g->prefixes);
	g->f = NULL;
	g->prefixes = NULL;
	g->n = 0;
}

/* --- reports -------------------------------------------------------------- */

static void put_files(const struct inv_fetch *f, struct inv_buf *b)
{
	for (size_t i = 0; i < f->files.n; i++) {
		inv_buf_puts(b, i ? ", " : "; ");
		inv_units_put_bytes(b, f->files.v[i].size);
		inv_buf_printf(b, " in %s/%s%s", f->dir, f->prefix,
			       f->files.v[i].name);
	}
}

void inv_download_put_next(const char *dir, struct inv_buf *b)
{
	inv_buf_puts(b, "next: inviso merge ");
	inv_shell_word_put(b, dir);
	inv_buf_puts(b, "/*.log\n");
}

void inv_download_put_text(const struct inv_download *g,
			   const struct inv_members *ms, struct inv_buf *b)
{
	size_t files = 0;

	for (size_t i = 0; i < ms->n; i++) {
		const struct inv_member *m = &ms->v[i];
		const struct inv_fetch *f = fetch_of(g, m);

		if (m->code == INV_ENOTHING)
			continue;
		inv_buf_printf(b, "%s: ", m->name);
		inv_report_put_counts(b, m);
		inv_buf_puts(b, "; ");
		inv_report_put_why(b, m);
		if (f && !f->code) {
			put_files(f, b);
			files += f->files.n;
		}
		inv_buf_putc(b, '\n');
	}
	if (ms->n > 1) {
		inv_buf_puts(b, "in all: ");
		inv_report_put_sum(b, ms);
		inv_buf_putc(b, '\n');
	}
	if (files)
		inv_download_put_next(g->dir, b);
}

static void json_files(const struct inv_fetch *f, struct inv_json *j)
{
	inv_json_open(j, "files", '[');
	for (size_t i = 0; f && !f->code && i < f->files.n; i++) {
		size_t begin = inv_json_begin(j, NULL);

		inv_buf_printf(j->out, "%s/%s%s", f->dir, f->prefix,
			       f->files.v[i].name);
		inv_json_end(j, begin);
	}
	inv_json_close(j, ']');
}

void inv_download_put_json(const struct inv_download *g,
			   const struct inv_members *ms,
			   const struct inv_count *count, struct inv_buf *b)
{
	struct inv_json j = { .out = b };

	for (size_t i = 0; i < ms->n; i++) {
		inv_json_open(&j, NULL, '{');
		inv_report_json_member(&j, &ms->v[i]);
		json_files(fetch_of(g, &ms->v[i]), &j);
		inv_json_close(&j, '}');
		inv_json_line(&j);
	}
	inv_json_open(&j, NULL, '{');
	inv_json_uint(&j, "nodes", ms->n);
	inv_report_json_sum(&j, ms);
	if (count)
		inv_count_put_json(count, &j);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}
