/* SPDX-License-Identifier: Apache-2.0 */
#include "node/status.h"

#include <string.h>

#define TEXT(key, member) INV_FIELD_TEXT(key, struct inv_status, member)
#define FIELD(key, read, member) \
	INV_FIELD(key, inv_field_##read, struct inv_status, member)

static int read_armed(struct inv_decode *d, void *at)
{
	struct inv_status *s = at;
	uint32_t arity;

	if (inv_cursor_tuple(&d->c, &arity) < 0 || arity != 2 ||
	    inv_decode_i64(d, &s->armed) < 0 ||
	    inv_decode_i64(d, &s->armed_of) < 0)
		return inv_decode_bad(d);
	return inv_cursor_end(&d->c);
}

static int read_lost(struct inv_decode *d, void *at)
{
	struct inv_status *s = at;
	struct inv_status_lost lost;
	uint32_t pairs;
	int r = inv_decode_map(d, &pairs);

	s->n_lost = 0;
	while (r == 0 && pairs-- > 0) {
		r = inv_decode_text(d, lost.reason, sizeof(lost.reason));
		if (r == 0)
			r = inv_decode_u64(d, &lost.n);
		if (r == 0 && lost.n && s->n_lost < INV_STATUS_LOST_MAX)
			s->lost[s->n_lost++] = lost;
	}
	return r < 0 ? r : inv_cursor_end(&d->c);
}

/* Reads the path of the log, or the atom none. */
static int read_log(struct inv_decode *d, void *at)
{
	struct inv_status *s = at;
	struct inv_token tok;

	s->log[0] = 0;
	if (inv_cursor_next(&d->c, &tok) != 0)
		return inv_decode_bad(d);
	return tok.kind == INV_TOK_ATOM ?
		       0 :
		       inv_token_text(d, &tok, s->log, sizeof(s->log));
}

static int read_class(struct inv_decode *d, void *at)
{
	return inv_decode_class(d, &((struct inv_status *)at)->code);
}

static int read_decided(struct inv_decode *d, void *at)
{
	static const struct inv_field fields[] = {
		FIELD("forgotten", count, forgotten),
		FIELD("unkept", count, unkept),
		FIELD("unended", count, unended),
		FIELD("open", count, open),
		FIELD("without_args", count, without_args),
		{ 0 },
	};

	((struct inv_status *)at)->decides = true;
	return inv_decode_fields(d, fields, at);
}

int inv_status_decode(struct inv_decode *d, struct inv_status *out)
{
	static const struct inv_field limits[] = {
		FIELD("events", limit, limit_events),
		FIELD("bytes", limit, limit_bytes),
		FIELD("rate", limit, limit_rate),
		FIELD("ms", limit, limit_ms),
		{ 0 },
	};
	static const struct inv_field matched[] = {
		FIELD("functions", number, functions),
		FIELD("processes", number, processes),
		FIELD("sensitive", number, sensitive),
		FIELD("list", texts, list),
		FIELD("idle", number, idle),
		FIELD("system", number, system),
		{ 0 },
	};
	static const struct inv_field seq[] = {
		FIELD("begun", number, begun),	FIELD("beyond", count, beyond),
		FIELD("remote", count, remote), FIELD("others", count, others),
		FIELD("held", number, held),	{ 0 },
	};
	static const struct inv_field fields[] = {
		TEXT("name", name),
		TEXT("owner", owner),
		TEXT("mode", mode),
		TEXT("keep", keep),
		FIELD("since", limit, since),
		FIELD("specs", texts, specs),
		{ .key = "limits", .fields = limits },
		TEXT("state", state),
		TEXT("why", why),
		TEXT("text", text),
		{ .key = "class", .read = read_class },
		{ .key = "log", .read = read_log },
		{ .key = "matched", .fields = matched },
		{ .key = "seq", .fields = seq },
		{ .key = "decided", .read = read_decided },
		{ .key = "armed", .read = read_armed },
		FIELD("notes", texts, notes),
		FIELD("produced", count, produced),
		FIELD("recorded", count, recorded),
		FIELD("dropped", count, dropped),
		FIELD("log_bytes", count, log_bytes),
		{ .key = "lost", .read = read_lost },
		TEXT("filter", filter),
		FIELD("filtered", count, filtered),
		FIELD("undecided", count, undecided),
		FIELD("redacted", count, redacted),
		FIELD("left_out", count, left_out),
		FIELD("ms_left", number, ms_left),
		FIELD("expected", number, expected),
		{ 0 },
	};

	memset(out, 0, sizeof(*out));
	out->functions = out->processes = out->sensitive = -1;
	out->ms_left = out->expected = -1;
	out->begun = out->held = -1;
	return inv_decode_fields(d, fields, out);
}

void inv_status_release(struct inv_status *s)
{
	inv_texts_release(&s->specs);
	inv_texts_release(&s->notes);
	inv_texts_release(&s->list);
	memset(s, 0, sizeof(*s));
}

bool inv_status_is(const struct inv_status *s, const char *state)
{
	return !strcmp(s->state, state);
}

bool inv_status_runs(const struct inv_status *s)
{
	return inv_status_is(s, "arming") || inv_status_is(s, "tracing");
}

bool inv_status_ended(const struct inv_status *s)
{
	return inv_status_is(s, "stopped") || inv_status_is(s, "failed");
}

bool inv_status_stopped_by(const struct inv_status *s, const char *why)
{
	return !strcmp(s->why, why);
}

bool inv_status_has_why(const struct inv_status *s)
{
	return *s->why && !inv_status_stopped_by(s, "none");
}

bool inv_status_protected(const struct inv_status *s)
{
	static const char *const whys[] = { "run_queue", "memory", "queue",
					    "tracer",	 "rate",   NULL };
	size_t i = 0;

	while (whys[i] && !inv_status_stopped_by(s, whys[i]))
		i++;
	return whys[i];
}
