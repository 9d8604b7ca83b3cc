/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes the options with which a session starts, as a map (abi/control.h,
 * section 4).
 */
#include "node/session.h"

#include <string.h>

#include "node/ask.h"

#define START_MS 15000

static const struct inv_option options[] = { INV_OPTIONS(INV_OPTION_ROW) };

void inv_session_opts_init(struct inv_session_opts *o)
{
	memset(o, 0, sizeof(*o));
	for (size_t i = 0; i < INV_OPT_COUNT; i++)
		o->number[i] = INV_UNSET;
}

static bool is_set(const struct inv_session_opts *o, size_t i,
		   enum inv_option_group group)
{
	return options[i].group == group && o->number[i] != INV_UNSET;
}

static size_t count(const struct inv_session_opts *o,
		    enum inv_option_group group)
{
	size_t n = 0;

	for (size_t i = 0; i < INV_OPT_COUNT; i++)
		n += is_set(o, i, group);
	return n;
}

static void put_numbers(struct inv_buf *e, const struct inv_session_opts *o,
			enum inv_option_group group)
{
	for (size_t i = 0; i < INV_OPT_COUNT; i++)
		if (is_set(o, i, group)) {
			inv_put_atom(e, options[i].key);
			inv_etf_int(e, o->number[i]);
		}
}

/* Appends `key', and a map with the options of this group that are set. */
static void put_group(struct inv_buf *e, const char *key,
		      const struct inv_session_opts *o,
		      enum inv_option_group group)
{
	inv_put_atom(e, key);
	inv_etf_map(e, count(o, group));
	put_numbers(e, o, group);
}

static void put_atom(struct inv_buf *e, const char *key, const char *value)
{
	inv_put_atom(e, key);
	inv_put_atom(e, value);
}

static void put_text(struct inv_buf *e, const char *key, const char *value)
{
	inv_put_atom(e, key);
	inv_put_text(e, value ? value : "");
}

static void put_tracer(struct inv_buf *e, const struct inv_session_opts *o)
{
	inv_put_atom(e, "tracer");
	inv_etf_map(e, count(o, INV_GROUP_TRACER) + (o->filter != NULL) +
			       (o->compress != NULL) + (o->payload != NULL) +
			       (o->redact.n > 0));
	put_numbers(e, o, INV_GROUP_TRACER);
	if (o->compress)
		put_atom(e, "compress", o->compress);
	if (o->payload)
		put_atom(e, "payload", o->payload);
	if (o->filter)
		put_text(e, "filter", o->filter);
	if (o->redact.n > 0) {
		inv_put_atom(e, "redact");
		inv_put_texts(e, o->redact.v, o->redact.n);
	}
}

static void put_follow(struct inv_buf *e, const struct inv_session_opts *o)
{
	inv_put_atom(e, "follow");
	inv_etf_list(e, (size_t)o->spawned + o->linked);
	if (o->spawned)
		inv_put_atom(e, "spawned");
	if (o->linked)
		inv_put_atom(e, "linked");
	inv_etf_nil(e);
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

static void put_seq(struct inv_buf *e, const struct inv_session_seq *s)
{
	inv_put_atom(e, "seq");
	inv_etf_map(e, 5 + (s->variable != NULL));
	inv_put_atom(e, "label");
	inv_etf_int(e, s->label);
	inv_put_atom(e, "requests");
	inv_etf_int(e, (int64_t)s->requests);
	inv_put_atom(e, "one_in");
	inv_etf_int(e, (int64_t)s->one_in);
	inv_put_atom(e, "calls");
	inv_put_texts(e, s->calls.v, s->calls.n);
	put_atom(e, "reset", s->reset ? "true" : "false");
	if (s->variable)
		put_text(e, "variable", s->variable);
}

static void put_count(struct inv_buf *e, const struct inv_session_count *c)
{
	inv_put_atom(e, "count");
	inv_etf_map(e, 3 + (c->expr != NULL) + (c->key != NULL));
	put_atom(e, "of", c->of);
	put_atom(e, "by", c->by);
	if (c->expr)
		put_text(e, "expr", c->expr);
	if (c->key)
		put_text(e, "key", c->key);
	inv_put_atom(e, "every_ms");
	inv_etf_int(e, c->every_ms);
}

/* Appends the key `decide' and its value, {{MinNs | none, Failed}, none}. */
static void put_decide(struct inv_buf *e, const struct inv_session_decide *d)
{
	inv_put_atom(e, "decide");
	inv_etf_tuple(e, 2);
	inv_etf_tuple(e, 2);
	if (d->slow)
		inv_etf_int(e, (int64_t)d->min_ns);
	else
		inv_put_atom(e, "none");
	inv_put_atom(e, d->failed ? "true" : "false");
	inv_put_atom(e, "none");
}

static void put_sample(struct inv_buf *e, const struct inv_session_sample *s)
{
	inv_put_atom(e, "sample");
	inv_etf_map(e, 3);
	inv_put_atom(e, "hz");
	inv_etf_int(e, s->hz);
	put_atom(e, "waiting", s->waiting ? "true" : "false");
	inv_put_atom(e, "most");
	inv_etf_int(e, s->most);
}

static void put_map(struct inv_buf *e, const struct inv_session_opts *o,
		    const erlang_pid *self)
{
	bool decides = o->decide.slow || o->decide.failed;

	inv_etf_map(e, 14 + decides + count(o, INV_GROUP_SESSION) +
			       (o->seq != NULL) + (o->count != NULL) +
			       (o->sample != NULL));
	put_text(e, "name", o->name);
	put_text(e, "owner", o->owner);
	inv_put_atom(e, "client");
	inv_put_pid(e, self);
	inv_put_atom(e, "guard");
	inv_put_pid(e, o->guard);
	put_atom(e, "mode", mode_name(o->mode));
	put_atom(e, "keep", o->keep == INV_KEEP_NEWEST ? "newest" : "oldest");
	inv_put_atom(e, "specs");
	inv_put_texts(e, o->specs.v, o->specs.n);
	inv_put_atom(e, "procs");
	inv_put_texts(e, o->procs.v, o->procs.n);
	put_follow(e, o);
	put_group(e, "limits", o, INV_GROUP_LIMIT);
	put_tracer(e, o);
	put_group(e, "protect", o, INV_GROUP_PROTECT);
	put_numbers(e, o, INV_GROUP_SESSION);
	if (o->seq)
		put_seq(e, o->seq);
	if (o->count)
		put_count(e, o->count);
	if (o->sample)
		put_sample(e, o->sample);
	if (decides)
		put_decide(e, &o->decide);
	inv_put_atom(e, "dry_run");
	inv_put_atom(e, o->dry_run ? "true" : "false");
	inv_put_atom(e, "yes");
	inv_put_atom(e, o->yes ? "true" : "false");
}

void inv_session_start_ask(struct inv_ask *ask, struct inv_conn *c,
			   const struct inv_session_opts *o, int ms)
{
	struct inv_buf e = { 0 };

	inv_etf_list(&e, 1);
	put_map(&e, o, inv_conn_self(c));
	inv_etf_nil(&e);
	inv_ask_code(ask, c, "inviso_session", "start", &e,
		     ms > 0 ? ms : START_MS);
}
