/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TEST_SINK_RENDER_H
#define INV_TEST_SINK_RENDER_H

#include "flow/flow.h"
#include "sink/sink.h"
#include "unit/log_collect.h"

/* The inputs of a merge, and the output of a sink as a string. */
struct rendered {
	struct inv_notices quiet;
	struct inv_inputs in;
	struct inv_buf out;
	struct inv_summary sum;
	bool whole; /* show each ended call, and no other event */
};

static inline void render_init(struct rendered *r)
{
	memset(r, 0, sizeof(*r));
	inv_inputs_init(&r->in, &r->quiet);
}

static inline void render_add(struct rendered *r, const void *p, size_t n)
{
	struct inv_source src;

	assert_int_equal(inv_source_memory(&src, "x", p, n), 0);
	assert_int_equal(inv_inputs_add_source(&r->in, &src, NULL, NULL), 0);
}

static inline void render_with(struct rendered *r, const char *format,
			       const struct inv_sink_opts *opts)
{
	static const struct inv_flow_opts flow_opts = { .keep = true };
	struct inv_item *item;
	struct inv_merge m;
	struct inv_flow flow;
	struct inv_sink *s;

	assert_int_equal(inv_inputs_open(&r->in, NULL), 0);
	assert_int_equal(inv_merge_init(&m, r->in.feeds, r->in.n_feeds), 0);
	assert_int_equal(inv_sink_new(&s, inv_sink_find(format), opts, &r->out),
			 0);
	assert_int_equal(inv_flow_init(&flow, &flow_opts), 0);
	while (!inv_merge_next(&m, &item)) {
		item = inv_flow_item(&flow, item);
		assert_non_null(item);
		if (r->whole && !item->facts->call)
			continue;
		if (r->whole)
			inv_flow_show_call(&flow);
		assert_int_equal(inv_sink_item(s, item), 0);
	}
	assert_int_equal(inv_sink_end(s), 0);
	r->sum = s->sum;
	inv_sink_free(s);
	inv_flow_release(&flow);
	inv_merge_release(&m);
	inv_buf_putc(&r->out, 0);
}

static inline void render(struct rendered *r, const char *format)
{
	static const struct inv_sink_opts opts = { .utc = 1 };

	render_with(r, format, &opts);
}

static inline void render_release(struct rendered *r)
{
	inv_inputs_release(&r->in);
	inv_buf_release(&r->out);
}

/* Adds a record with the terms `...` to the open packet. */
#define RECORD(b, ns, tag, flags, ...)                                   \
	do {                                                             \
		static const uint8_t terms_[] = { __VA_ARGS__ };         \
		build_record(b, ns, tag, flags, terms_, sizeof(terms_)); \
	} while (0)

#define TS(kind) ((kind) << INV_EV_TS_SHIFT)

/* The dictionary entries that build_begin defines. */
#define PID 0x40
#define M 0x41
#define F 0x42

#endif
