/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of pprof: profile.proto, compressed by gzip. Each name is written
 * as a function and as a location, which have the same id: the name's number,
 * plus 1. The table of strings begins with the fixed strings. The strings of
 * the names follow, in the order of their numbers.
 */
#include <stdlib.h>
#include <zlib.h>

#include "base/proto.h"
#include "sink/profile_sink.h"

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	LOCATION_ID = 1,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_FILE = 4,
};

/* Indexes in the table of strings. String 0 must be empty. Each name has two
 * strings: the name itself, and the name's module. */
enum {
	EMPTY,
	UNIT,
	COUNT,
	TIME,
	NANOSECONDS,
	FIXED
};

static uint64_t string_of(const struct inv_paths_name *name)
{
	return FIXED + 2 * (uint64_t)name->number;
}

static void put_type(struct inv_buf *b, uint32_t field, unsigned type,
		     unsigned unit)
{
	size_t at = inv_proto_open(b, field);

	inv_proto_u64(b, TYPE_TYPE, type);
	inv_proto_u64(b, TYPE_UNIT, unit);
	inv_proto_close(b, at);
}

static void put_sample(struct inv_buf *b, const struct inv_paths_frame *f)
{
	size_t at = inv_proto_open(b, PROFILE_SAMPLE);
	size_t in = inv_proto_open(b, SAMPLE_LOCATION);

	/* In this format a path begins with its innermost function. */
	for (const struct inv_paths_frame *x = f; x->name; x = x->parent)
		inv_proto_element(b, (uint64_t)x->name->number + 1);
	inv_proto_close(b, in);
	in = inv_proto_open(b, SAMPLE_VALUE);
	inv_proto_element(b, f->count);
	inv_proto_element(b, f->self_ns);
	inv_proto_close(b, in);
	inv_proto_close(b, at);
}

static void put_function(struct inv_buf *b, const struct inv_paths_name *name)
{
	uint64_t id = (uint64_t)name->number + 1;
	size_t at = inv_proto_open(b, PROFILE_LOCATION);
	size_t line;

	inv_proto_u64(b, LOCATION_ID, id);
	line = inv_proto_open(b, LOCATION_LINE);
	inv_proto_u64(b, LINE_FUNCTION, id);
	inv_proto_close(b, line);
	inv_proto_close(b, at);
	/* The function gets no system name. If its system name were equal to
	 * its name, pprof would take a name with brackets for a C++ name, and
	 * leave out the text in the brackets. */
	at = inv_proto_open(b, PROFILE_FUNCTION);
	inv_proto_u64(b, FUNCTION_ID, id);
	inv_proto_u64(b, FUNCTION_NAME, string_of(name));
	if (name->module_len)
		inv_proto_u64(b, FUNCTION_FILE, string_of(name) + 1);
	inv_proto_close(b, at);
}

static void put_names(const struct inv_paths *p, struct inv_buf *b)
{
	uint32_t n = inv_paths_names(p);
	const struct inv_paths_name **v =
		calloc(n + 1, sizeof(const struct inv_paths_name *));

	if (!v) {
		b->error = INV_ENOMEM;
		return;
	}
	inv_paths_list(p, v);
	for (uint32_t i = 0; i < n; i++)
		put_function(b, v[i]);
	inv_proto_text(b, PROFILE_STRING, "");
	inv_proto_text(b, PROFILE_STRING, inv_paths_unit(p));
	inv_proto_text(b, PROFILE_STRING, "count");
	inv_proto_text(b, PROFILE_STRING, "time");
	inv_proto_text(b, PROFILE_STRING, "nanoseconds");
	for (uint32_t i = 0; i < n; i++) {
		inv_proto_bytes(b, PROFILE_STRING, v[i]->text, v[i]->len);
		inv_proto_bytes(b, PROFILE_STRING, v[i]->text,
				v[i]->module_len);
	}
	free(v);
}

static void put_profile(const struct inv_paths *p, struct inv_buf *b)
{
	const struct inv_paths_frame *f = NULL;

	put_type(b, PROFILE_SAMPLE_TYPE, UNIT, COUNT);
	put_type(b, PROFILE_SAMPLE_TYPE, TIME, NANOSECONDS);
	while ((f = inv_paths_next(p, f)) && !b->error)
		if (f->self_ns || f->count)
			put_sample(b, f);
	put_names(p, b);
	put_type(b, PROFILE_PERIOD_TYPE, TIME, NANOSECONDS);
	inv_proto_u64(b, PROFILE_PERIOD, 1);
	inv_proto_u64(b, PROFILE_DEFAULT_SAMPLE_TYPE, TIME);
}

/* Compresses the n bytes at data, and appends the result. */
static int deflate_into(struct inv_buf *b, z_stream *z, uint8_t *data, size_t n)
{
	size_t most = deflateBound(z, n);
	uint8_t *w = inv_buf_reserve(b, most);

	if (!w || n > UINT32_MAX || most > UINT32_MAX)
		return INV_ENOMEM;
	z->next_in = data;
	z->avail_in = (uInt)n;
	z->next_out = w;
	z->avail_out = (uInt)most;
	if (deflate(z, Z_FINISH) != Z_STREAM_END)
		return INV_ENOMEM;
	inv_buf_commit(b, most - z->avail_out);
	return 0;
}

void inv_paths_pprof(const struct inv_paths *p, struct inv_buf *b)
{
	struct inv_buf plain = { 0 };
	z_stream z = { 0 };

	put_profile(p, &plain);
	/* 16: zlib writes a gzip header, without a time and a name. */
	if (plain.error ||
	    deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		b->error = INV_ENOMEM;
	} else {
		if (deflate_into(b, &z, plain.data, plain.len))
			b->error = INV_ENOMEM;
		deflateEnd(&z);
	}
	inv_buf_release(&plain);
}
