/* SPDX-License-Identifier: Apache-2.0 */
/* The map that starts a session: abi/control.h, section 4. */
#include "node/session.h"

#include <string.h>

#include "node/ask.h"

#define START_MS 15000

/* An option that is an integer, and absent when `absent'. */
struct number {
	const char *key;
	int64_t value;
	int64_t absent;
};

static size_t present(const struct number *v, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += v[i].value != v[i].absent;
	return count;
}

static void put_numbers(struct inv_ei *e, const struct number *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].value != v[i].absent) {
			inv_ei_atom(e, v[i].key);
			inv_ei_i64(e, v[i].value);
		}
}

static void put_atom(struct inv_ei *e, const char *key, const char *value)
{
	inv_ei_atom(e, key);
	inv_ei_atom(e, value);
}

static void put_text(struct inv_ei *e, const char *key, const char *value)
{
	inv_ei_atom(e, key);
	inv_ei_text(e, value ? value : "");
}

#define N(array) (sizeof(array) / sizeof((array)[0]))

static void put_limits(struct inv_ei *e, const struct inv_session_opts *o)
{
	const struct number v[] = {
		{ "events", o->events, 0 },
		{ "bytes", o->bytes, 0 },
		{ "rate", o->rate, 0 },
		{ "ms", o->for_ms, 0 },
	};

	inv_ei_atom(e, "limits");
	inv_ei_map(e, present(v, N(v)));
	put_numbers(e, v, N(v));
}

static void put_tracer(struct inv_ei *e, const struct inv_session_opts *o)
{
	const struct number v[] = {
		{ "max_term_bytes", o->max_term_bytes, INV_UNSET },
		{ "max_depth", o->max_depth, INV_UNSET },
		{ "packet_bytes", o->packet_bytes, INV_UNSET },
		{ "buffer_bytes", o->buffer_bytes, INV_UNSET },
		{ "flush_ms", o->flush_ms, INV_UNSET },
		{ "drain_ms", o->drain_ms, INV_UNSET },
	};
	size_t others = (o->compress != NULL) + (o->payload != NULL) +
			(o->filter != NULL);

	inv_ei_atom(e, "tracer");
	inv_ei_map(e, present(v, N(v)) + others);
	put_numbers(e, v, N(v));
	if (o->compress)
		put_atom(e, "compress", o->compress);
	if (o->payload)
		put_atom(e, "payload", o->payload);
	if (o->filter)
		put_text(e, "filter", o->filter);
}

static void put_protect(struct inv_ei *e, const struct inv_session_opts *o)
{
	const struct number v[] = {
		{ "run_queue", o->run_queue, INV_UNSET },
		{ "memory_percent", o->memory_percent, INV_UNSET },
	};

	inv_ei_atom(e, "protect");
	inv_ei_map(e, present(v, N(v)));
	put_numbers(e, v, N(v));
}

static void put_follow(struct inv_ei *e, const struct inv_session_opts *o)
{
	inv_ei_atom(e, "follow");
	inv_ei_list(e, (size_t)o->spawned + o->linked);
	if (o->spawned)
		inv_ei_atom(e, "spawned");
	if (o->linked)
		inv_ei_atom(e, "linked");
	inv_ei_nil(e);
}

static const char *mode_name(enum inv_session_mode mode)
{
	static const char *const names[] = {
		[INV_MODE_LIVE] = "live",
		[INV_MODE_RECORD] = "record",
		[INV_MODE_DETACHED] = "detached",
	};

	return names[mode];
}

static void put_map(struct inv_ei *e, const struct inv_session_opts *o,
		    const erlang_pid *self)
{
	const struct number v[] = {
		{ "dead_man_ms", o->dead_man_ms, INV_UNSET },
		{ "hold_ms", o->hold_ms, INV_UNSET },
	};

	inv_ei_map(e, 13 + present(v, N(v)));
	put_text(e, "name", o->name);
	put_text(e, "owner", o->owner);
	inv_ei_atom(e, "client");
	inv_ei_pid(e, self);
	inv_ei_atom(e, "guard");
	inv_ei_pid(e, o->guard);
	put_atom(e, "mode", mode_name(o->mode));
	put_atom(e, "keep", o->keep == INV_KEEP_NEWEST ? "newest" : "oldest");
	inv_ei_atom(e, "specs");
	inv_ei_texts(e, o->specs.v, o->specs.n);
	inv_ei_atom(e, "procs");
	inv_ei_texts(e, o->procs.v, o->procs.n);
	put_follow(e, o);
	put_limits(e, o);
	put_tracer(e, o);
	put_protect(e, o);
	put_numbers(e, v, N(v));
	inv_ei_atom(e, "dry_run");
	inv_ei_bool(e, o->dry_run);
}

void inv_session_start_ask(struct inv_ask *ask, struct inv_conn *c,
			   const struct inv_session_opts *o, int ms)
{
	struct inv_ei e;

	inv_ei_init(&e);
	inv_ei_list(&e, 1);
	put_map(&e, o, inv_conn_self(c));
	inv_ei_nil(&e);
	inv_ask_rex(ask, c, "inviso_session", "start", &e,
		    ms > 0 ? ms : START_MS);
}
