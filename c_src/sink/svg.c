/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph: one SVG file, which needs no other file. Each frame is a
 * nested svg element, so that its text is clipped. The place of a frame is in
 * percent, so that the picture is as wide as the window. The script only zooms,
 * searches and handles the keyboard.
 */
#include <inttypes.h>

#include "base/utf8.h"
#include "sink/duration.h"
#include "sink/flame_page.h"
#include "sink/profile_sink.h"

#define ROW 18u
#define HEAD 72u
/* Frames with less than 1/PARTS of all time are left out: they would not be
 * seen. */
#define PARTS 10000u

#define XXH_INLINE_ALL
#include <xxhash.h>

static void put_xml(struct inv_buf *b, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		switch (text[i]) {
		case '<':
			inv_buf_puts(b, "&lt;");
			break;
		case '>':
			inv_buf_puts(b, "&gt;");
			break;
		case '&':
			inv_buf_puts(b, "&amp;");
			break;
		case '"':
			inv_buf_puts(b, "&quot;");
			break;
		default:
			inv_buf_putc(b, text[i]);
		}
	}
}

static void put_ns(struct inv_buf *b, uint64_t ns)
{
	inv_duration_put(ns > INT64_MAX ? INT64_MAX : (int64_t)ns, b);
}

/* Returns x in parts per million of `all'. */
static uint64_t millionths(uint64_t x, uint64_t all)
{
	return all ? (uint64_t)((long double)x * 1000000 / (long double)all) :
		     0;
}

static void put_percent(struct inv_buf *b, uint64_t x, uint64_t all)
{
	uint64_t m = millionths(x, all);

	inv_buf_printf(b, "%" PRIu64 ".%04" PRIu64, m / 10000, m % 10000);
}

/* Appends the title of a frame: the text that the tooltip, a screen reader and
 * the line of details show. */
static void put_title(const struct inv_paths *p,
		      const struct inv_paths_frame *f, struct inv_buf *b)
{
	uint64_t m = millionths(f->total_ns, inv_paths_root(p)->total_ns);

	inv_buf_puts(b, "<title>");
	if (f->name)
		put_xml(b, f->name->text, f->name->len);
	else
		inv_buf_puts(b, "all");
	inv_buf_puts(b, ": ");
	put_ns(b, f->total_ns);
	inv_buf_printf(b, ", %" PRIu64 ".%" PRIu64 " %%; itself ", m / 10000,
		       m / 1000 % 10);
	put_ns(b, f->self_ns);
	inv_buf_printf(b, "; %" PRIu64 " %s</title>", f->count,
		       inv_paths_unit(p));
}

/* Returns the hue of the frame's colour. All functions of a module have the
 * same colour. */
static unsigned hue(const struct inv_paths_name *name)
{
	return (unsigned)(XXH3_64bits(name->text, name->module_len) % 330);
}

static void put_frame(const struct inv_paths *p,
		      const struct inv_paths_frame *f, uint64_t at,
		      struct inv_buf *b)
{
	uint64_t all = inv_paths_root(p)->total_ns;
	bool word = !f->name || !f->name->module_len;

	inv_buf_printf(b, "<svg class=\"f%s\" tabindex=\"-1\" data-row=\"%u\" ",
		       word ? " word" : "", f->depth);
	if (!word)
		inv_buf_printf(b, "style=\"--hue:%u\" ", hue(f->name));
	inv_buf_puts(b, "x=\"");
	put_percent(b, at, all);
	inv_buf_printf(b, "%%\" y=\"%u\" width=\"", HEAD + ROW * f->depth);
	put_percent(b, f->total_ns, all);
	inv_buf_printf(b, "%%\" height=\"%u\" data-name=\"", ROW);
	if (f->name)
		put_xml(b, f->name->text, f->name->len);
	inv_buf_puts(b, "\">");
	put_title(p, f, b);
	inv_buf_puts(b, "<rect width=\"100%\" height=\"100%\"/>"
			"<text x=\"3\" y=\"13\">");
	if (f->name)
		put_xml(b, f->name->text, f->name->len);
	else
		inv_buf_puts(b, "all");
	inv_buf_puts(b, "</text></svg>\n");
}

static bool is_wide(const struct inv_paths *p, const struct inv_paths_frame *f)
{
	return f->total_ns &&
	       f->total_ns >= inv_paths_root(p)->total_ns / PARTS;
}

/* Appends the frames. A frame begins where the frame before it with the same
 * parent ends. Returns the number of frames that were left out. */
static uint64_t put_frames(const struct inv_paths *p, struct inv_buf *b,
			   uint32_t *rows)
{
	uint64_t at[INV_PATHS_DEPTH + 3] = { 0 };
	const struct inv_paths_frame *f = NULL;
	uint64_t narrow = 0;

	put_frame(p, inv_paths_root(p), 0, b);
	while ((f = inv_paths_next(p, f)) && !b->error) {
		/* The first child begins where its parent does. */
		if (f->parent->child == f)
			at[f->depth] =
				f->depth > 1 ?
					at[f->depth - 1] - f->parent->total_ns :
					0;
		if (is_wide(p, f)) {
			put_frame(p, f, at[f->depth], b);
			if (*rows < f->depth + 1)
				*rows = f->depth + 1;
		} else {
			narrow++;
		}
		at[f->depth] += f->total_ns;
	}
	return narrow;
}

static void put_head(const struct inv_paths *p, struct inv_buf *b)
{
	const struct inv_paths_frame *root = inv_paths_root(p);

	inv_buf_puts(b, "<rect width=\"100%\" height=\"100%\" "
			"style=\"fill:var(--paper)\"/>\n"
			"<text id=\"head\" x=\"8\" y=\"20\">inviso: ");
	put_ns(b, root->total_ns);
	inv_buf_printf(b, " in %" PRIu64 " %s</text>\n", root->total_count,
		       inv_paths_unit(p));
	inv_buf_puts(
		b,
		"<foreignObject x=\"4\" y=\"28\" width=\"260\" height=\"28\">"
		"<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"q\" "
		"type=\"search\" placeholder=\"search (/)\" "
		"aria-label=\"search\"/></foreignObject>\n"
		"<text id=\"found\" class=\"soft\" x=\"272\" y=\"46\"></text>\n"
		"<text class=\"soft\" x=\"100%\" dx=\"-8\" y=\"20\" "
		"text-anchor=\"end\">arrows: move; Enter: zoom; /: search; "
		"n: next</text>\n"
		"<text id=\"back\" class=\"soft\" x=\"100%\" dx=\"-8\" "
		"y=\"46\" text-anchor=\"end\"></text>\n"
		"<text id=\"detail\" x=\"8\" y=\"67\" aria-live=\"polite\">"
		"</text>\n");
}

void inv_paths_svg(const struct inv_paths *p, struct inv_buf *b)
{
	const struct inv_paths_frame *root = inv_paths_root(p);
	struct inv_buf frames = { 0 };
	uint32_t rows = 1;
	uint64_t narrow = put_frames(p, &frames, &rows);
	unsigned height = HEAD + ROW * (rows + 2);

	inv_buf_printf(b,
		       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		       "width=\"100%%\" height=\"%u\" "
		       "data-ns=\"%" PRIu64 "\" data-count=\"%" PRIu64 "\">\n"
		       "<title>inviso: flame graph</title>\n",
		       height, root->total_ns, root->total_count);
	inv_buf_puts(b, inv_flame_style);
	put_head(p, b);
	if (frames.error)
		b->error = frames.error;
	inv_buf_put(b, frames.data, frames.len);
	if (narrow)
		inv_buf_printf(b,
			       "<text class=\"soft\" x=\"8\" y=\"%u\">%" PRIu64
			       " frame%s with less than 0.01 %% of the time "
			       "%s not shown</text>\n",
			       height - ROW / 2, narrow, narrow == 1 ? "" : "s",
			       narrow == 1 ? "is" : "are");
	inv_buf_puts(b, inv_flame_script);
	inv_buf_puts(b, "</svg>\n");
	inv_buf_release(&frames);
}
