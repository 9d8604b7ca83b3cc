/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the input as a file of OTP's trace port, or as a ti file, and prints
 * the events in the classic format.
 *
 * The target checks that the output has one line for each entry, and no more
 * entries than a file of this size can have.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "log/merge.h"
#include "log/names.h"
#include "log/tracefile.h"
#include "sink/sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct inv_source memory(const uint8_t *data, size_t size)
{
	struct inv_source src;

	CHECK(!inv_source_memory(&src, "x", data, size));
	return src;
}

static uint64_t lines(const struct inv_buf *b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += b->data[i] == '\n';
	return n;
}

static void print(struct inv_feed *feed, size_t size)
{
	struct inv_sink_opts opts = { 0 };
	struct inv_buf out = { 0 };
	struct inv_sink *s;

	CHECK(!inv_sink_new(&s, inv_sink_find("classic"), &opts, &out));
	while (!feed->ops->next(feed))
		CHECK(!inv_sink_item(s, &feed->item));
	CHECK(!inv_sink_end(s));
	CHECK(lines(&out) == s->sum.entries);
	CHECK(s->sum.entries <= size / 5);
	inv_sink_free(s);
	inv_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inv_notices ns = { 0 };
	struct inv_source *src = malloc(sizeof(*src));
	struct inv_source ti = memory(data, size);
	struct inv_names *names = inv_names_new();
	struct inv_node node = { .name = (char[]){ "a@h" }, .names = names };
	struct inv_tracefile_info info;
	struct inv_feed *feed;

	CHECK(src && names);
	*src = memory(data, size);
	CHECK(!inv_tracefile_probe(src, &info));
	free(info.node);
	CHECK(!inv_names_read(names, &ti, 0, &ns));
	CHECK(!inv_tracefile_new(&feed, src, 1, &node, &ns, NULL));
	print(feed, size);
	feed->ops->free(feed);
	inv_names_free(names);
	inv_source_close(&ti);
	return 0;
}
