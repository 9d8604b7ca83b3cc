/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/options.h"

#include <string.h>

#include "abi/options.h"

static const struct inv_option options[] = { INV_OPTIONS(INV_OPTION_ROW) };

bool inv_options_text(ErlNifEnv *env, ERL_NIF_TERM term, char *to, size_t size)
{
	ErlNifBinary bin;

	if (!enif_inspect_binary(env, term, &bin) || bin.size >= size ||
	    memchr(bin.data, 0, bin.size))
		return false;
	memcpy(to, bin.data, bin.size);
	to[bin.size] = '\0';
	return true;
}

static bool get_texts(ErlNifEnv *env, ERL_NIF_TERM term,
		      struct inv_tracer_opts *o)
{
	const ERL_NIF_TERM *t;
	int n;

	return enif_get_tuple(env, term, &n, &t) && n == 6 &&
	       inv_options_text(env, t[0], o->spool.path,
				sizeof(o->spool.path)) &&
	       inv_options_text(env, t[1], o->ring_path,
				sizeof(o->ring_path)) &&
	       inv_options_text(env, t[2], o->spool.node,
				sizeof(o->spool.node)) &&
	       inv_options_text(env, t[3], o->spool.otp_release,
				sizeof(o->spool.otp_release)) &&
	       inv_options_text(env, t[4], o->spool.erts_version,
				sizeof(o->spool.erts_version)) &&
	       inv_options_text(env, t[5], o->redact, sizeof(o->redact));
}

/* The keys of inviso_opts:numbers(). */
#define NUMBERS(X)                      \
	X(KEEP, "keep")                 \
	X(LIGHT, "payload")             \
	X(NORMAL, "schedulers")         \
	X(NORMAL_SLOTS, "normal_slots") \
	X(DIRTY_SLOTS, "dirty_slots")   \
	X(PACKET_BYTES, "packet_bytes") \
	X(LARGE_SLOTS, "large_slots")   \
	X(LARGE_BYTES, "large_bytes")   \
	X(MAX_BYTES, "max_term_bytes")  \
	X(MAX_DEPTH, "max_depth")       \
	X(LIMIT_EVENTS, "limit_events") \
	X(LIMIT_BYTES, "limit_bytes")   \
	X(LIMIT_NS, "limit_ns")         \
	X(LIMIT_RATE, "limit_rate")     \
	X(CODEC, "compress")            \
	X(LEVEL, "level")               \
	X(DRAIN_MS, "drain_ms")         \
	X(FLUSH_MS, "flush_ms")         \
	X(ROTATE_BYTES, "rotate_bytes") \
	X(ROTATE_NS, "rotate_ns")       \
	X(ROTATE_COUNT, "rotate_count") \
	X(REPLACE, "replace")           \
	X(CREATION, "creation")

enum number {
#define ENUM(name, key) N_##name,
	NUMBERS(ENUM)
#undef ENUM
	N_NUMBERS
};

static const char *const keys[] = {
#define KEY(name, key) key,
	NUMBERS(KEY)
#undef KEY
};

static bool get_map(ErlNifEnv *env, ERL_NIF_TERM map, ErlNifUInt64 *n)
{
	ERL_NIF_TERM value;
	size_t size;
	int i;

	if (!enif_get_map_size(env, map, &size) || size != N_NUMBERS)
		return false;
	for (i = 0; i < N_NUMBERS; i++)
		if (!enif_get_map_value(env, map, enif_make_atom(env, keys[i]),
					&value) ||
		    !enif_get_uint64(env, value, &n[i]))
			return false;
	return true;
}

static bool get_numbers(ErlNifEnv *env, ERL_NIF_TERM map,
			struct inv_tracer_opts *o)
{
	ErlNifUInt64 n[N_NUMBERS];

	if (!get_map(env, map, n))
		return false;
	if (n[N_MAX_DEPTH] < options[INV_OPT_MAX_DEPTH].least ||
	    n[N_MAX_DEPTH] > options[INV_OPT_MAX_DEPTH].most ||
	    n[N_LIMIT_RATE] > INV_RATE_MAX ||
	    n[N_MAX_BYTES] > options[INV_OPT_MAX_TERM_BYTES].most ||
	    n[N_LARGE_SLOTS] > INV_LARGE_MAX ||
	    n[N_LARGE_BYTES] > INV_LARGE_BYTES_MAX)
		return false;
	o->keep = n[N_KEEP] ? INV_KEEP_NEWEST : INV_KEEP_OLDEST;
	o->light = n[N_LIGHT] != 0;
	o->n_normal = (uint32_t)n[N_NORMAL];
	o->normal_slots = (uint32_t)n[N_NORMAL_SLOTS];
	o->dirty_slots = (uint32_t)n[N_DIRTY_SLOTS];
	o->packet_bytes = (uint32_t)n[N_PACKET_BYTES];
	o->large_slots = (uint32_t)n[N_LARGE_SLOTS];
	o->large_bytes = (uint32_t)n[N_LARGE_BYTES];
	o->max_bytes = (uint32_t)n[N_MAX_BYTES];
	o->max_depth = (uint32_t)n[N_MAX_DEPTH];
	o->limit_events = n[N_LIMIT_EVENTS];
	o->limit_bytes = n[N_LIMIT_BYTES];
	o->limit_ns = n[N_LIMIT_NS];
	o->limit_rate = (uint32_t)n[N_LIMIT_RATE];
	o->spool.codec = (uint32_t)n[N_CODEC];
	o->spool.level = (int32_t)n[N_LEVEL];
	o->spool.drain_ms = (uint32_t)n[N_DRAIN_MS];
	o->spool.flush_ms = (uint32_t)n[N_FLUSH_MS];
	o->spool.rotate_bytes = n[N_ROTATE_BYTES];
	o->spool.rotate_ns = n[N_ROTATE_NS];
	o->spool.rotate_count = (uint32_t)n[N_ROTATE_COUNT];
	o->spool.replace = (uint32_t)n[N_REPLACE];
	o->spool.creation = (uint32_t)n[N_CREATION];
	return true;
}

bool inv_options_read(ErlNifEnv *env, ERL_NIF_TERM texts, ERL_NIF_TERM numbers,
		      struct inv_tracer_opts *o)
{
	return get_texts(env, texts, o) && get_numbers(env, numbers, o);
}
