/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FUZZ_SINK_RUN_H
#define INV_FUZZ_SINK_RUN_H

/*
 * Writes one input in a format of `inviso merge', as the command does. A format that
 * writes files itself writes them into a new directory. The fuzz target checks the
 * files, and then the directory is removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/remove.h"
#include "check.h"
#include "flow/flow.h"
#include "flow/paths.h"
#include "log/inputs.h"
#include "log/merge.h"
#include "log_repair.h"
#include "sink/sink.h"

/* What a format has written. The fuzz target checks it. */
struct written {
	const struct inv_sink_ops *format;
	struct inv_buf out;
	struct inv_summary sum;
	char dir[32]; /* empty: the format writes no files */
};

static void write_items(struct inv_inputs *in, struct inv_sink *s, bool whole)
{
	struct inv_flow_opts opts = {
		.keep = true,
		.memory = 1 << 16,
		.request_memory = 1 << 14,
		.profile = s->opts.profile,
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

static void sink_to(struct written *w, struct inv_inputs *in,
		    const struct inv_sink_opts *opts, bool whole)
{
	struct inv_err err = { 0 };
	struct inv_sink *s;

	w->dir[0] = 0;
	CHECK(!inv_sink_new(&s, w->format, opts, &w->out));
	if (w->format->directory) {
		strcpy(w->dir, "/dev/shm/fuzz.XXXXXX");
		CHECK(mkdtemp(w->dir));
	}
	if (w->format->open)
		CHECK(!w->format->open(s, w->dir[0] ? w->dir : NULL, &err));
	write_items(in, s, whole);
	if (w->format->close)
		CHECK(!w->format->close(s, &err));
	w->sum = s->sum;
	inv_sink_free(s);
}

/* Writes the input in a format, lets `look' check the output, and removes the
 * output. The first byte of the input is a set of options, and the log follows.
 * If bit 0 is set, the checksums of the log are corrected first. If bit 3 is
 * set, each ended call is shown as a whole. */
static void run_sink(const struct inv_sink_ops *format,
		     const struct inv_sink_opts *given, const uint8_t *data,
		     size_t size, void (*look)(struct written *w, void *arg),
		     void *arg)
{
	struct inv_sink_opts opts = *given;
	struct written w = { .format = format };
	struct inv_notices quiet = { 0 };
	struct inv_paths profile;
	struct inv_source src;
	struct inv_inputs in;
	uint8_t *copy = malloc(size);

	CHECK(copy && size > 0);
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 1)
		repair(copy, size - 1);
	if (format->profile) {
		CHECK(!inv_paths_init(&profile, 20000));
		opts.profile = &profile;
	}
	inv_inputs_init(&in, &quiet);
	CHECK(!inv_source_memory(&src, "w.log", copy, size - 1));
	(void)inv_inputs_add_source(&in, &src, NULL, NULL);
	if (!inv_inputs_open(&in, NULL)) {
		sink_to(&w, &in, &opts, data[0] & 8);
		look(&w, arg);
	}
	if (w.dir[0]) {
		inv_remove(w.dir);
		CHECK(access(w.dir, F_OK));
	}
	inv_inputs_release(&in);
	inv_buf_release(&w.out);
	if (format->profile)
		inv_paths_release(&profile);
	free(copy);
}

#endif
