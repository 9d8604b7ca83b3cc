/* SPDX-License-Identifier: Apache-2.0 */
/* The file format of speedscope: one profile of times, and one of counts. */
#include <stdlib.h>

#include "base/json.h"
#include "sink/profile_sink.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

static void put_frames(const struct inv_paths *p, struct inv_json *j)
{
	uint32_t n = inv_paths_names(p);
	const struct inv_paths_name **v =
		calloc(n + 1, sizeof(const struct inv_paths_name *));

	if (!v) {
		j->out->error = INV_ENOMEM;
		return;
	}
	inv_paths_list(p, v);
	inv_json_open(j, "shared", '{');
	inv_json_open(j, "frames", '[');
	for (uint32_t i = 0; i < n; i++) {
		inv_json_open(j, NULL, '{');
		inv_json_bytes(j, "name", v[i]->text, v[i]->len);
		if (v[i]->module_len)
			inv_json_bytes(j, "file", v[i]->text, v[i]->module_len);
		inv_json_close(j, '}');
	}
	inv_json_close(j, ']');
	inv_json_close(j, '}');
	free(v);
}

static uint64_t weight(const struct inv_paths_frame *f, bool counts)
{
	return counts ? f->count : f->self_ns;
}

static void put_samples(const struct inv_paths *p, struct inv_json *j,
			bool counts)
{
	uint32_t path[INV_PATHS_DEPTH + 3];
	const struct inv_paths_frame *f = NULL;

	inv_json_open(j, "samples", '[');
	while ((f = inv_paths_next(p, f)) && !j->out->error) {
		path[f->depth] = f->name->number;
		if (!weight(f, counts))
			continue;
		inv_json_open(j, NULL, '[');
		for (uint32_t i = 1; i <= f->depth; i++)
			inv_json_uint(j, NULL, path[i]);
		inv_json_close(j, ']');
	}
	inv_json_close(j, ']');
	inv_json_open(j, "weights", '[');
	while ((f = inv_paths_next(p, f)) && !j->out->error)
		if (weight(f, counts))
			inv_json_uint(j, NULL, weight(f, counts));
	inv_json_close(j, ']');
}

static void put_profile(const struct inv_paths *p, struct inv_json *j,
			bool counts)
{
	const struct inv_paths_frame *root = inv_paths_root(p);

	inv_json_open(j, NULL, '{');
	inv_json_text(j, "type", "sampled");
	inv_json_text(j, "name", counts ? inv_paths_unit(p) : "time");
	inv_json_text(j, "unit", counts ? "none" : "nanoseconds");
	inv_json_uint(j, "startValue", 0);
	inv_json_uint(j, "endValue",
		      counts ? root->total_count : root->total_ns);
	put_samples(p, j, counts);
	inv_json_close(j, '}');
}

void inv_paths_speedscope(const struct inv_paths *p, struct inv_buf *b)
{
	struct inv_json j = { .out = b };

	inv_json_open(&j, NULL, '{');
	inv_json_text(&j, "$schema", SCHEMA);
	put_frames(p, &j);
	inv_json_open(&j, "profiles", '[');
	put_profile(p, &j, false);
	put_profile(p, &j, true);
	inv_json_close(&j, ']');
	inv_json_text(&j, "exporter", "inviso");
	inv_json_uint(&j, "activeProfileIndex", 0);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}
