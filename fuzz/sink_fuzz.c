/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one input in the formats of other tools.
 *
 *	byte 0    bit 0: the checksums of the log are corrected first;
 *	          1, 2: the format
 *	          3: each ended call is shown as a whole
 *	the rest  the file
 *
 * The target checks that protocol buffers consist of whole fields of the
 * format's outermost message, and that the brackets in each line of JSON are
 * balanced.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/varint.h"
#include "flow/flow.h"
#include "log/inputs.h"
#include "log/merge.h"
#include "log_repair.h"
#include "sink/sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

/* Checks the outermost message: each field has number 1, and contains as many
 * bytes as its length says. */
static void check_fields(const struct inv_buf *b)
{
	const uint8_t *p = b->data, *end;

	if (!b->len)
		return;
	end = p + b->len;
	while (p < end) {
		uint64_t tag, len;

		p = inv_varint_get(p, end, &tag);
		CHECK(p && tag == (1 << 3 | 2));
		p = inv_varint_get(p, end, &len);
		CHECK(p && len <= (uint64_t)(end - p));
		p += len;
	}
}

static void check_lines(const struct inv_buf *b)
{
	int depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < b->len; i++) {
		uint8_t c = b->data[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (c == '\n')
			CHECK(!quoted && !depth);
		else if (!quoted)
			depth += (c == '{') + (c == '[') - (c == '}') -
				 (c == ']');
	}
	CHECK(!quoted && !depth);
	CHECK(!b->len || inv_utf8_valid(b->data, b->len));
}

static void write_items(struct inv_inputs *in, struct inv_sink *s, bool whole)
{
	static const struct inv_flow_opts opts = {
		.keep = true,
		.memory = 1 << 16,
		.request_memory = 1 << 14,
	};
	struct inv_item *item;
	struct inv_flow flow;
	struct inv_merge m;

	CHECK(!inv_merge_init(&m, in->feeds, in->n_feeds));
	CHECK(!inv_flow_init(&flow, &opts));
	while (!inv_merge_next(&m, &item)) {
		item = inv_flow_item(&flow, item);
		CHECK(item);
		if (item->kind == INV_ITEM_NOTE)
			continue;
		if (whole && item->facts && item->facts->call)
			inv_flow_show_call(&flow);
		CHECK(!inv_sink_item(s, item));
		inv_flow_show(&flow, item);
	}
	CHECK(!inv_sink_end(s));
	inv_flow_release(&flow);
	inv_merge_release(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "perfetto", "otlp", "otlp-proto",
					     "perfetto" };
	static const struct inv_sink_opts opts = { .records = true };
	struct inv_notices quiet = { 0 };
	struct inv_buf out = { 0 };
	const struct inv_sink_ops *format;
	struct inv_source src;
	struct inv_inputs in;
	struct inv_sink *s;
	uint8_t *copy;

	if (size < 2)
		return 0;
	copy = malloc(size - 1);
	CHECK(copy);
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 1)
		repair(copy, size - 1);
	format = inv_sink_find(names[data[0] >> 1 & 3]);
	inv_inputs_init(&in, &quiet);
	CHECK(!inv_source_memory(&src, "w.log", copy, size - 1));
	(void)inv_inputs_add_source(&in, &src, NULL, NULL);
	CHECK(!inv_sink_new(&s, format, &opts, &out));
	if (!inv_inputs_open(&in, NULL))
		write_items(&in, s, data[0] & 8);
	if (!strcmp(format->name, "otlp"))
		check_lines(&out);
	else
		check_fields(&out);
	inv_sink_free(s);
	inv_inputs_release(&in);
	inv_buf_release(&out);
	free(copy);
	return 0;
}
