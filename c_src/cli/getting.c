/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/getting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd.h"
#include "cli/facts.h"
#include "cli/units.h"

#define BAR 24

bool inv_getting_dir(struct inv_cluster *c, const char *dir)
{
	struct stat st;

	if (!mkdir(dir, 0700) ||
	    (errno == EEXIST && !stat(dir, &st) && S_ISDIR(st.st_mode)))
		return true;
	inv_screen_note(c->screen, "-o %s: %s", dir,
			errno == EEXIST ? "is no directory" : strerror(errno));
	return false;
}

bool inv_getting_room(const struct inv_members *ms, const char *dir,
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
					"%s is there already: another --name, "
					"or another -o",
					path);
			room = false;
		}
		free(path);
	}
	return room;
}

/* --- the bar -------------------------------------------------------------- */

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

/* A place for each member that has a session; f has no holes. */
static size_t fill(struct inv_getting *g, struct inv_members *ms)
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

static struct inv_fetch *fetch_of(const struct inv_getting *g,
				  const struct inv_member *m)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->f[i].session == &m->session)
			return &g->f[i];
	return NULL;
}

static void judge(struct inv_getting *g, struct inv_members *ms)
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

int inv_getting_run(struct inv_getting *g, struct inv_members *ms)
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

/* Those that are unfetched, and will be there: "-n a@h -n b@h". */
static bool put_unfetched(const struct inv_members *ms, struct inv_buf *b)
{
	bool any = false;

	for (size_t i = 0; i < ms->n; i++) {
		const struct inv_member *m = &ms->v[i];

		if (!m->there || !m->unfetched)
			continue;
		inv_buf_printf(b, " -n %s", m->name);
		any = true;
	}
	return any;
}

void inv_getting_leave(struct inv_getting *g, struct inv_members *ms,
		       const char *name)
{
	struct inv_buf b = { 0 };
	bool any = put_unfetched(ms, &b);

	inv_members_hold(ms);
	inv_members_remove(ms);
	if (any && !b.error)
		inv_screen_note(ms->cluster->screen,
				"what was not fetched stays on the nodes for a "
				"day: inviso fetch%.*s %s -o %s",
				(int)b.len, (const char *)b.data, name, g->dir);
	inv_buf_release(&b);
}

void inv_getting_release(struct inv_getting *g)
{
	if (g->f)
		inv_fetch_release(g->f, g->n);
	free(g->f);
	free(g->prefixes);
	g->f = NULL;
	g->prefixes = NULL;
	g->n = 0;
}

/* --- what is said --------------------------------------------------------- */

static void put_files(const struct inv_fetch *f, struct inv_buf *b)
{
	for (size_t i = 0; i < f->files.n; i++) {
		inv_buf_puts(b, i ? ", " : "; ");
		inv_units_put_bytes(b, f->files.v[i].size);
		inv_buf_printf(b, " in %s/%s%s", f->dir, f->prefix,
			       f->files.v[i].name);
	}
}

void inv_getting_put_text(const struct inv_getting *g,
			  const struct inv_members *ms, struct inv_buf *b)
{
	size_t files = 0;

	for (size_t i = 0; i < ms->n; i++) {
		const struct inv_member *m = &ms->v[i];
		const struct inv_fetch *f = fetch_of(g, m);

		if (m->code == INV_ENOTHING)
			continue;
		inv_buf_printf(b, "%s: ", m->name);
		inv_facts_put_counts(b, m);
		inv_buf_puts(b, "; ");
		inv_facts_put_why(b, m);
		if (f && !f->code) {
			put_files(f, b);
			files += f->files.n;
		}
		inv_buf_putc(b, '\n');
	}
	if (ms->n > 1) {
		inv_buf_puts(b, "in all: ");
		inv_facts_put_sum(b, ms);
		inv_buf_putc(b, '\n');
	}
	if (files)
		inv_buf_printf(b, "next: inviso merge %s/*.log\n", g->dir);
}

static void json_files(const struct inv_fetch *f, struct inv_buf *b)
{
	struct inv_buf path = { 0 };

	for (size_t i = 0; f && !f->code && i < f->files.n; i++) {
		inv_buf_reset(&path);
		inv_buf_printf(&path, "%s/%s%s", f->dir, f->prefix,
			       f->files.v[i].name);
		inv_buf_put(&path, "", 1);
		if (i)
			inv_buf_putc(b, ',');
		if (!path.error)
			inv_facts_json_text(b, (const char *)path.data);
	}
	inv_buf_release(&path);
}

void inv_getting_put_json(const struct inv_getting *g,
			  const struct inv_members *ms, struct inv_buf *b)
{
	for (size_t i = 0; i < ms->n; i++) {
		inv_facts_json_member(b, &ms->v[i]);
		/* Within its braces. */
		b->len -= b->len && !b->error ? 1 : 0;
		inv_buf_puts(b, ",\"files\":[");
		json_files(fetch_of(g, &ms->v[i]), b);
		inv_buf_puts(b, "]}\n");
	}
	inv_buf_puts(b, "{\"nodes\":");
	inv_buf_u64(b, ms->n);
	inv_buf_putc(b, ',');
	inv_facts_json_sum(b, ms);
	inv_buf_puts(b, "}\n");
}
