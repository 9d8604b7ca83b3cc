/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks: a line for each path, its frames separated by semicolons, and
 * the time in ns:
 *
 *	shop:order/1;shop_cart:add/2 1200345
 */
#include "sink/profile_sink.h"

/* A semicolon in a name is written as Erlang escapes it. */
static void put_name(struct inv_buf *b, const struct inv_paths_name *name)
{
	const char *text = name->text;
	const char *end = text + name->len;

	while (text < end) {
		const char *stop = memchr(text, ';', (size_t)(end - text));

		if (!stop)
			stop = end;
		inv_buf_put(b, text, (size_t)(stop - text));
		if (stop < end)
			inv_buf_puts(b, "\\x{3B}");
		text = stop + (stop < end);
	}
}

void inv_paths_folded(const struct inv_paths *p, struct inv_buf *b)
{
	const struct inv_paths_name *path[INV_PATHS_DEPTH + 3];
	const struct inv_paths_frame *f = NULL;

	while ((f = inv_paths_next(p, f)) && !b->error) {
		path[f->depth] = f->name;
		if (!f->self_ns)
			continue;
		for (uint32_t i = 1; i <= f->depth; i++) {
			if (i > 1)
				inv_buf_putc(b, ';');
			put_name(b, path[i]);
		}
		inv_buf_putc(b, ' ');
		inv_buf_u64(b, f->self_ns);
		inv_buf_putc(b, '\n');
	}
}
