/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile format of Valgrind's callgrind. For each path, the file has the
 * cost of its last function, and the cost of each call from this function. The
 * cost is in ns, and in calls or samples. Line numbers are unknown, so each is
 * 0.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "sink/profile_sink.h"

/* A name is written in full the first time, and later as its number. */
struct writer {
	struct inv_buf *b;
	bool *named;
	bool *filed;
};

static void put_name(const struct writer *w, bool *done, const char *key,
		     uint32_t number, const char *text, size_t len)
{
	inv_buf_printf(w->b, "%s=(%" PRIu32 ")", key, number + 1);
	if (!done[number]) {
		inv_buf_putc(w->b, ' ');
		inv_buf_put(w->b, text, len);
	}
	done[number] = true;
	inv_buf_putc(w->b, '\n');
}

/* In this format, a file and a function can have the same number. The file of a
 * function is its module, and gets the function's number. So a module with
 * several functions has several file numbers. */
static void put_file(const struct writer *w, const char *key,
		     const struct inv_paths_name *name)
{
	if (name->module_len)
		put_name(w, w->filed, key, name->number, name->text,
			 name->module_len);
	else
		put_name(w, w->filed, key, name->number, "???", 3);
}

static void put_function(const struct writer *w, bool called,
			 const struct inv_paths_name *name)
{
	put_file(w, called ? "cfi" : "fl", name);
	put_name(w, w->named, called ? "cfn" : "fn", name->number, name->text,
		 name->len);
}

static void put_costs(struct inv_buf *b, uint64_t ns, uint64_t count)
{
	inv_buf_puts(b, "0 ");
	inv_buf_u64(b, ns);
	inv_buf_putc(b, ' ');
	inv_buf_u64(b, count);
	inv_buf_putc(b, '\n');
}

static void put_frame(const struct writer *w, const struct inv_paths_frame *f)
{
	inv_buf_putc(w->b, '\n');
	put_function(w, false, f->name);
	put_costs(w->b, f->self_ns, f->count);
	for (const struct inv_paths_frame *c = f->child; c; c = c->next) {
		put_function(w, true, c->name);
		inv_buf_printf(w->b, "calls=%" PRIu64 " 0\n", c->total_count);
		put_costs(w->b, c->total_ns, c->total_count);
	}
}

void inv_paths_callgrind(const struct inv_paths *p, struct inv_buf *b)
{
	const struct inv_paths_frame *root = inv_paths_root(p);
	const struct inv_paths_frame *f = NULL;
	size_t n = inv_paths_names(p);
	struct writer w = { b, calloc(n + 1, sizeof(bool)),
			    calloc(n + 1, sizeof(bool)) };

	inv_buf_puts(b, "# callgrind format\nversion: 1\ncreator: inviso\n"
			"positions: line\n");
	inv_buf_printf(b, "event: ns : time\nevent: %s\nevents: ns %s\n",
		       inv_paths_unit(p), inv_paths_unit(p));
	inv_buf_printf(b, "summary: %" PRIu64 " %" PRIu64 "\n", root->total_ns,
		       root->total_count);
	if (!w.named || !w.filed)
		b->error = INV_ENOMEM;
	while (!b->error && (f = inv_paths_next(p, f)))
		put_frame(&w, f);
	inv_buf_printf(b, "\ntotals: %" PRIu64 " %" PRIu64 "\n", root->total_ns,
		       root->total_count);
	free(w.named);
	free(w.filed);
}
