/* SPDX-License-Identifier: Apache-2.0 */
/* A profile for people: the functions with the most time, and the heaviest
 * paths. */
#include <inttypes.h>
#include <stdlib.h>

#include "sink/duration.h"
#include "sink/profile_sink.h"

/* Paths with less than this percentage of the time are not shown. */
#define PERCENT_SHOWN 1u
#define PATHS 60u
#define NAME_WIDTH 200

/*
 * A function. self_ns is the time that was spent in it, total_ns the time that
 * was spent in it and in the functions that it called.
 */
struct row {
	const struct inv_paths_name *name;
	uint64_t self_ns;
	uint64_t total_ns;
	uint64_t count;
	uint32_t open; /* how many frames of the current path have this
			  function */
};

static double percent(uint64_t ns, uint64_t all)
{
	return all ? 100.0 * (double)ns / (double)all : 0;
}

static void put_time(struct inv_buf *b, uint64_t ns)
{
	struct inv_buf text = { 0 };

	inv_duration_put(ns > INT64_MAX ? INT64_MAX : (int64_t)ns, &text);
	inv_buf_putc(&text, 0);
	inv_buf_printf(b, " %10s", text.error ? "" : (const char *)text.data);
	inv_buf_release(&text);
}

static void put_name(struct inv_buf *b, const struct inv_paths_name *name)
{
	size_t len = name->len;

	/* Does not cut in the middle of a character. */
	if (len > NAME_WIDTH)
		for (len = NAME_WIDTH; len && (name->text[len] & 0xc0) == 0x80;)
			len--;
	inv_buf_put(b, name->text, len);
	if (len < name->len)
		inv_buf_puts(b, "...");
}

/*
 * Adds f to the row of its function. If a frame above f has the same function,
 * the total time is not added, because the total time of that frame already
 * contains it.
 */
static void add(struct row *rows, const struct inv_paths_frame *f)
{
	struct row *r = &rows[f->name->number];
	bool inside = false;

	r->name = f->name;
	r->self_ns += f->self_ns;
	r->count += f->count;
	for (const struct inv_paths_frame *x = f->parent; x->name;
	     x = x->parent)
		inside = inside || x->name == f->name;
	if (!inside)
		r->total_ns += f->total_ns;
}

static int by_self(const void *a, const void *b)
{
	const struct row *x = a;
	const struct row *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->name && y->name ?
		       (x->name->number < y->name->number ? -1 : 1) :
		       0;
}

static void put_rows(const struct inv_paths *p, uint64_t top, struct inv_buf *b)
{
	uint64_t all = inv_paths_root(p)->total_ns;
	size_t n = inv_paths_names(p);
	struct row *rows = calloc(n + 1, sizeof(*rows));
	const struct inv_paths_frame *f = NULL;

	if (!rows) {
		b->error = INV_ENOMEM;
		return;
	}
	while ((f = inv_paths_next(p, f)))
		add(rows, f);
	qsort(rows, n, sizeof(*rows), by_self);
	inv_buf_printf(b,
		       "      itself          %%        all          %% %10s\n",
		       inv_paths_unit(p));
	for (size_t i = 0; i < n && (!top || i < top) && rows[i].self_ns; i++) {
		put_time(b, rows[i].self_ns);
		inv_buf_printf(b, " %9.1f%%", percent(rows[i].self_ns, all));
		put_time(b, rows[i].total_ns);
		inv_buf_printf(b, " %9.1f%% %10" PRIu64 "  ",
			       percent(rows[i].total_ns, all), rows[i].count);
		put_name(b, rows[i].name);
		inv_buf_putc(b, '\n');
	}
	free(rows);
}

static bool is_shown(const struct inv_paths *p, const struct inv_paths_frame *f)
{
	return f->total_ns &&
	       f->total_ns / PERCENT_SHOWN >= inv_paths_root(p)->total_ns / 100;
}

/* Returns true if f is printed on one line with its child: f has one child, and
 * no time of its own. */
static bool continues(const struct inv_paths *p,
		      const struct inv_paths_frame *f)
{
	return f->child && !f->child->next &&
	       f->child->total_ns == f->total_ns && is_shown(p, f->child);
}

static void put_paths(const struct inv_paths *p, struct inv_buf *b)
{
	uint64_t all = inv_paths_root(p)->total_ns;
	const struct inv_paths_frame *f = NULL;
	uint64_t hidden = 0;
	unsigned lines = 0;
	bool joined = false;

	inv_buf_puts(b, "\n      all  paths\n");
	while ((f = inv_paths_next(p, f)) && !b->error) {
		if (!is_shown(p, f))
			continue;
		if (!joined && lines++ >= PATHS) {
			hidden++;
			continue;
		}
		if (!joined) {
			inv_buf_printf(b, "  %6.1f%%  ",
				       percent(f->total_ns, all));
			for (uint32_t i = 1; i < f->depth && i < 40; i++)
				inv_buf_puts(b, "| ");
		}
		put_name(b, f->name);
		joined = continues(p, f);
		inv_buf_puts(b, joined ? " > " : "\n");
	}
	if (hidden)
		inv_buf_printf(b, "           ... %" PRIu64 " more lines\n",
			       hidden);
}

#define WAITS "(waits for "
#define WAITS_SHOWN 15u

static bool is_wait(const struct inv_paths_frame *f)
{
	return f->name->len > strlen(WAITS) && f->total_ns &&
	       !memcmp(f->name->text, WAITS, strlen(WAITS));
}

static int by_total(const void *a, const void *b)
{
	uint64_t x = (*(const struct inv_paths_frame *const *)a)->total_ns;
	uint64_t y = (*(const struct inv_paths_frame *const *)b)->total_ns;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Prints a path: its first frame and its last frames. */
static void put_wait(const struct inv_paths_frame *f, struct inv_buf *b)
{
	const struct inv_paths_frame *path[INV_PATHS_DEPTH + 3] = { NULL };

	put_time(b, f->total_ns);
	inv_buf_puts(b, "  ");
	for (const struct inv_paths_frame *x = f; x->name; x = x->parent)
		path[x->depth] = x;
	for (uint32_t i = 1; i <= f->depth; i++) {
		if (!path[i] || (i > 1 && i + 4 < f->depth))
			continue;
		if (i > 1)
			inv_buf_puts(b, i + 4 == f->depth && i > 2 ? " ... " :
								     " > ");
		put_name(b, path[i]->name);
	}
	inv_buf_putc(b, '\n');
}

/* Prints the processes and names for which other processes waited. */
static void put_waits(const struct inv_paths *p, struct inv_buf *b)
{
	const struct inv_paths_frame **v = calloc(
		inv_paths_count(p) + 1, sizeof(const struct inv_paths_frame *));
	const struct inv_paths_frame *f = NULL;
	size_t n = 0;

	if (!v) {
		b->error = INV_ENOMEM;
		return;
	}
	while ((f = inv_paths_next(p, f)))
		if (is_wait(f))
			v[n++] = f;
	qsort(v, n, sizeof(const struct inv_paths_frame *), by_total);
	if (n)
		inv_buf_puts(b, "\n    waited  for an answer\n");
	for (size_t i = 0; i < n && i < WAITS_SHOWN; i++)
		put_wait(v[i], b);
	free(v);
}

void inv_paths_text(const struct inv_paths *p, uint64_t top, struct inv_buf *b)
{
	if (!inv_paths_root(p)->total_ns)
		return;
	put_rows(p, top, b);
	put_paths(p, b);
	put_waits(p, b);
}

void inv_paths_json(const struct inv_paths *p, struct inv_json *j)
{
	const struct inv_paths_frame *path[INV_PATHS_DEPTH + 3];
	const struct inv_paths_frame *f = NULL;

	while ((f = inv_paths_next(p, f)) && !j->out->error) {
		path[f->depth] = f;
		if (!f->self_ns && !f->count)
			continue;
		inv_json_open(j, NULL, '{');
		inv_json_open(j, "path", '[');
		for (uint32_t i = 1; i <= f->depth; i++)
			inv_json_bytes(j, NULL, path[i]->name->text,
				       path[i]->name->len);
		inv_json_close(j, ']');
		inv_json_uint(j, "count", f->count);
		inv_json_uint(j, "self_ns", f->self_ns);
		inv_json_close(j, '}');
		inv_json_line(j);
	}
}
