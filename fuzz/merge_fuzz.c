/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges several inputs in causal order, with corrected clocks, and prints
 * them.
 *
 *	byte 0    bit 0: the checksums of logs are corrected first
 *	          bits 1, 2: the format
 *	          bit 3: only slow calls are shown
 *	          bit 4: only failed calls are shown
 *	          bit 5: the rules of two SPECs apply to their functions
 *	          bits 6, 7: the options of the format
 *	the rest  files, each a u16 length (little-endian) and bytes; the last
 *	          file has the remaining bytes
 *
 * The target checks that the output is UTF-8 without control characters except
 * line ends. Each entry is one line, after which there may be indented lines.
 * In JSON, the brackets of each line must be balanced. A second run must have
 * the same output.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/pick.h"
#include "cli/survey.h"
#include "flow/flow.h"
#include "flow/order.h"
#include "log/merge.h"
#include "log_files.h"
#include "sink/sink.h"
#include "text_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void init_pick(struct inv_pick *p, unsigned how)
{
	CHECK(!inv_pick_init(p));
	p->all.slow = how & 1;
	p->all.min_ns = 1000;
	p->all.failed = how & 2;
	if (how & 4) {
		CHECK(!inv_pick_add_spec(p, "m:f -> slow(2us)", NULL));
		CHECK(!inv_pick_add_spec(p, "lists -> failed", NULL));
	}
}

/* The input files. To compare the clocks, they are opened a second time. */
struct input {
	uint8_t *p;
	size_t size;
	bool corrected;
};

static int compare(void *arg, struct inv_clocks *clocks)
{
	const struct input *x = arg;
	struct inv_notices ns = { 0 };
	struct inv_inputs in;

	inv_inputs_init(&in, &ns);
	add_files(&in, x->p, x->size, x->corrected);
	CHECK(!inv_inputs_open(&in, NULL));
	CHECK(!inv_survey_inputs(clocks, &in));
	inv_inputs_release(&in);
	return 0;
}

static void print(struct inv_inputs *in, const struct input *x,
		  const struct inv_sink_ops *format, unsigned how,
		  struct inv_buf *out, struct inv_summary *sum)
{
	static const struct inv_sink_opts opts[4] = {
		{ .utc = 1 },
		{ .utc = 1,
		  .width = 40,
		  .pretty = true,
		  .lines = 4,
		  .one_node = true,
		  .records = true },
		{ .utc = 1,
		  .width = 60,
		  .wrap = true,
		  .depth = 2,
		  .has_syntax = true,
		  .syntax = INV_SYNTAX_ELIXIR },
		{ .utc = 1, .pretty = true, .records = true },
	};
	static const struct inv_flow_opts flow_opts = {
		.keep = true,
		.memory = 1 << 16,
		.request_memory = 1 << 14,
	};
	struct inv_order order;
	struct inv_item *item;
	struct inv_flow flow;
	struct inv_pick pick;
	struct inv_merge m;
	struct inv_sink *s;

	CHECK(!inv_merge_init(&m, in->feeds, in->n_feeds));
	CHECK(!inv_sink_new(&s, format, &opts[how >> 3 & 3], out));
	CHECK(!inv_flow_init(&flow, &flow_opts));
	CHECK(!inv_order_init(&order, &m, &flow));
	order.compare = compare;
	order.compare_arg = (void *)(uintptr_t)x;
	init_pick(&pick, how);
	while (!inv_order_next(&order, &item)) {
		item = inv_flow_item(&flow, item);
		CHECK(item);
		if (item->kind == INV_ITEM_NOTE)
			continue;
		if (inv_pick_wants(&pick, item))
			CHECK(!inv_sink_item(s, item));
		CHECK(!item->facts || !item->facts->cause ||
		      item->facts->cause->cause < item->facts->cause->id);
		inv_flow_show(&flow, item);
	}
	CHECK(!inv_sink_end(s));
	*sum = s->sum;
	inv_sink_free(s);
	inv_pick_release(&pick);
	inv_order_release(&order);
	inv_flow_release(&flow);
	inv_merge_release(&m);
}

static void merge(const struct input *x, const struct inv_sink_ops *format,
		  unsigned how, struct inv_buf *out, struct inv_summary *sum)
{
	struct inv_notices ns = { 0 };
	struct inv_inputs in;

	inv_inputs_init(&in, &ns);
	add_files(&in, x->p, x->size, x->corrected);
	if (!inv_inputs_open(&in, NULL))
		print(&in, x, format, how, out, sum);
	inv_inputs_release(&in);
}

static void check_entries(const struct inv_buf *b, uint64_t expected,
			  bool collections)
{
	uint64_t lines = 0;

	/* The lines of a stack trace are indented, and are no entries. */
	for (size_t i = 0; i < b->len; i++)
		lines += b->data[i] != ' ' && (!i || b->data[i - 1] == '\n');
	CHECK(collections ? lines <= expected : lines == expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct inv_sink_ops *format;
	struct inv_summary sum = { 0 }, again = { 0 };
	struct inv_buf out[2] = { 0 };
	struct input x;

	if (size < 2)
		return 0;
	x = (struct input){ malloc(size - 1), size - 1, data[0] & 1 };
	CHECK(x.p);
	memcpy(x.p, data + 1, size - 1);
	format = inv_sinks[(data[0] >> 1 & 3) % 3];
	merge(&x, format, data[0] >> 3, &out[0], &sum);
	merge(&x, format, data[0] >> 3, &out[1], &again);
	CHECK(out[0].len == out[1].len &&
	      (!out[0].len || !memcmp(out[0].data, out[1].data, out[0].len)));
	if (format == inv_sink_find("json"))
		check_json(&out[0], true);
	check_text(&out[0], false);
	/* The text format has one more line at its end. But it can have fewer
	 * lines, because one line can stand for both events of a garbage
	 * collection. */
	if (out[0].len)
		check_entries(&out[0],
			      sum.entries + (format == inv_sink_find("text")),
			      format == inv_sink_find("text"));
	inv_buf_release(&out[0]);
	inv_buf_release(&out[1]);
	free(x.p);
	return 0;
}
