/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a profile with arbitrary names in all formats of a profile.
 *
 * The input is a list of operations. Each begins with a byte N:
 *
 *	0 to 127    N bytes: the name of a frame that the last frame calls
 *	128 to 191  N - 128 frames return
 *	192 to 255  the last frame gets one count and (N - 192)^2 ns
 *
 * The target checks that all totals are right, and that the text of each format
 * is UTF-8 without control characters except line ends. The numbers in the
 * lines of the folded format must have the right sum, and names in the SVG file
 * must contain no markup.
 */
#include <string.h>

#include "base/json.h"
#include "sink/profile_sink.h"
#include "text_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A bound on memory that is so low that frames are evicted often. */
#define MOST 20000u

static struct inv_paths paths;
static uint64_t ns, count;

static void build(const uint8_t *p, const uint8_t *end)
{
	struct inv_paths_frame *f = inv_paths_root(&paths);

	while (p < end) {
		unsigned n = *p++;

		if (n < 128) {
			if (n > (size_t)(end - p))
				n = (unsigned)(end - p);
			f = inv_paths_enter_text(&paths, f, p, n);
			if (!f)
				f = inv_paths_root(&paths);
			p += n;
		} else if (n < 192) {
			for (n -= 128; n && f->parent; n--)
				f = f->parent;
		} else {
			n -= 192;
			if (f->parent) {
				inv_paths_add(&paths, f, 1, n * n);
				ns += (uint64_t)n * n;
				count++;
			}
			/* The next frames may evict this frame, so the next
			 * frame is one that the root calls. */
			f = inv_paths_root(&paths);
		}
	}
}

/* Checks that the numbers at the ends of the lines have the right sum. */
static void check_folded(const struct inv_buf *b)
{
	uint64_t sum = 0, n = 0, ten = 1;

	for (size_t i = b->len; i > 0; i--) {
		uint8_t c = b->data[i - 1];

		if (c == '\n') {
			n = 0;
			ten = 1;
			while (--i > 0 && b->data[i - 1] != ' ') {
				CHECK(b->data[i - 1] >= '0' &&
				      b->data[i - 1] <= '9');
				n += ten * (uint64_t)(b->data[i - 1] - '0');
				ten *= 10;
			}
			sum += n;
		}
	}
	CHECK(sum == ns);
}

/* Checks that each "<" before the script begins an element that the writer
 * uses. So no name can begin an element. */
static void check_svg(const struct inv_buf *b)
{
	static const char *const known[] = {
		"<?xml",	  "<svg",
		"</svg",	  "<title",
		"</title",	  "<style",
		"</style",	  "<script",
		"</script",	  "<rect",
		"<text",	  "</text",
		"<foreignObject", "</foreignObject",
		"<input",	  "<![CDATA[",
	};
	const char *text = (const char *)b->data;
	const char *script = memmem(text, b->len, "<script", 7);
	size_t until = script ? (size_t)(script - text) : b->len;

	for (size_t i = 0; i < until; i++) {
		bool ok = text[i] != '<';

		for (size_t k = 0; !ok && k < sizeof(known) / sizeof(*known);
		     k++)
			ok = b->len - i > strlen(known[k]) &&
			     !memcmp(text + i, known[k], strlen(known[k]));
		CHECK(ok);
	}
}

static void write_all(void)
{
	struct inv_buf b = { 0 };
	struct inv_json j = { .out = &b };

	inv_paths_folded(&paths, &b);
	check_text(&b, false);
	check_folded(&b);
	inv_buf_reset(&b);
	inv_paths_speedscope(&paths, &b);
	check_text(&b, false);
	inv_buf_reset(&b);
	inv_paths_callgrind(&paths, &b);
	check_text(&b, false);
	inv_buf_reset(&b);
	inv_paths_svg(&paths, &b);
	check_text(&b, false);
	check_svg(&b);
	inv_buf_reset(&b);
	inv_paths_text(&paths, 0, &b);
	check_text(&b, false);
	inv_buf_reset(&b);
	inv_paths_json(&paths, &j);
	check_text(&b, false);
	inv_buf_reset(&b);
	inv_paths_pprof(&paths, &b);
	CHECK(!b.error && b.len > 20);
	inv_buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ns = count = 0;
	CHECK(!inv_paths_init(&paths, MOST));
	build(data, data + size);
	CHECK(!inv_paths_finish(&paths));
	CHECK(inv_paths_root(&paths)->total_ns == ns);
	CHECK(inv_paths_root(&paths)->total_count == count);
	write_all();
	inv_paths_release(&paths);
	return 0;
}
