/* SPDX-License-Identifier: Apache-2.0 */
#include "node/status.h"

#include <string.h>

#define TEXTS_MAX 256

/* What a map's value is read with; a table ends with key NULL, and keys that
 * are not in it are passed over. */
struct field {
	const char *key;
	int (*read)(struct inv_decode *d, struct inv_status *s);
};

static int read_pair(struct inv_decode *d, struct inv_status *s,
		     const struct field *fields)
{
	struct inv_token key;
	int r = inv_cursor_next(&d->c, &key);

	if (r != 0 || key.kind != INV_TOK_ATOM)
		return inv_decode_bad(d);
	for (; fields->key; fields++)
		if (inv_token_is(&key, fields->key))
			return fields->read(d, s);
	return inv_decode_skip(d);
}

static int read_map(struct inv_decode *d, struct inv_status *s,
		    const struct field *fields)
{
	uint32_t pairs;
	int r = inv_decode_map(d, &pairs);

	while (r == 0 && pairs-- > 0)
		r = read_pair(d, s, fields);
	/* its END */
	return r < 0 ? r : inv_cursor_end(&d->c);
}

#define TEXT(name)                                                         \
	static int read_##name(struct inv_decode *d, struct inv_status *s) \
	{                                                                  \
		return inv_decode_text(d, s->name, sizeof(s->name));       \
	}
#define NUMBER(name, other)                                                \
	static int read_##name(struct inv_decode *d, struct inv_status *s) \
	{                                                                  \
		return inv_decode_number(d, other, &s->name);              \
	}
#define COUNT(name)                                                        \
	static int read_##name(struct inv_decode *d, struct inv_status *s) \
	{                                                                  \
		return inv_decode_u64(d, &s->name);                        \
	}
#define TEXTS(name)                                                        \
	static int read_##name(struct inv_decode *d, struct inv_status *s) \
	{                                                                  \
		inv_texts_release(&s->name);                               \
		return inv_decode_texts(d, &s->name, TEXTS_MAX);           \
	}

TEXT(name)
TEXT(owner)
TEXT(mode)
TEXT(keep)
TEXT(text)
TEXT(filter)
TEXTS(specs)
TEXTS(notes)
NUMBER(since, 0)
NUMBER(limit_events, 0)
NUMBER(limit_bytes, 0)
NUMBER(limit_rate, 0)
NUMBER(limit_ms, 0)
NUMBER(functions, -1)
NUMBER(processes, -1)
NUMBER(sensitive, -1)
NUMBER(ms_left, -1)
NUMBER(expected, -1)
COUNT(produced)
COUNT(recorded)
COUNT(dropped)
COUNT(log_bytes)
COUNT(filtered)
COUNT(undecided)

static int read_limits(struct inv_decode *d, struct inv_status *s)
{
	static const struct field fields[] = {
		{ "events", read_limit_events },
		{ "bytes", read_limit_bytes },
		{ "rate", read_limit_rate },
		{ "ms", read_limit_ms },
		{ NULL, NULL },
	};

	return read_map(d, s, fields);
}

static int read_matched(struct inv_decode *d, struct inv_status *s)
{
	static const struct field fields[] = {
		{ "functions", read_functions },
		{ "processes", read_processes },
		{ "sensitive", read_sensitive },
		{ NULL, NULL },
	};

	return read_map(d, s, fields);
}

static int read_armed(struct inv_decode *d, struct inv_status *s)
{
	uint32_t arity;

	if (inv_cursor_tuple(&d->c, &arity) < 0 || arity != 2 ||
	    inv_decode_i64(d, &s->armed) < 0 ||
	    inv_decode_i64(d, &s->armed_of) < 0)
		return inv_decode_bad(d);
	return inv_cursor_end(&d->c);
}

static int read_lost(struct inv_decode *d, struct inv_status *s)
{
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

/* A path, or the atom none. */
static int read_log(struct inv_decode *d, struct inv_status *s)
{
	struct inv_token tok;

	s->log[0] = 0;
	if (inv_cursor_next(&d->c, &tok) != 0)
		return inv_decode_bad(d);
	return tok.kind == INV_TOK_ATOM ?
		       0 :
		       inv_token_text(d, &tok, s->log, sizeof(s->log));
}

static int read_class(struct inv_decode *d, struct inv_status *s)
{
	return inv_decode_class(d, &s->code);
}

static int read_state(struct inv_decode *d, struct inv_status *s)
{
	static const char *const words[] = { "arming",	"tracing", "stopping",
					     "stopped", "failed",  NULL };
	int word;
	int r = inv_decode_word(d, words, &word);

	s->state = (enum inv_session_state)(word + INV_STATE_ARMING);
	return r;
}

static int read_why(struct inv_decode *d, struct inv_status *s)
{
	static const char *const words[] = {
		"none",	  "events", "bytes",	   "rate",
		"time",	  "asked",  "client_gone", "run_queue",
		"memory", "queue",  "tracer",	   NULL
	};
	int word;
	int r = inv_decode_word(d, words, &word);

	s->why = word < 0 ? INV_WHY_OTHER : (enum inv_session_why)word;
	return r;
}

int inv_status_decode(struct inv_decode *d, struct inv_status *out)
{
	static const struct field fields[] = {
		{ "name", read_name },
		{ "owner", read_owner },
		{ "mode", read_mode },
		{ "keep", read_keep },
		{ "since", read_since },
		{ "specs", read_specs },
		{ "limits", read_limits },
		{ "state", read_state },
		{ "why", read_why },
		{ "text", read_text },
		{ "class", read_class },
		{ "log", read_log },
		{ "matched", read_matched },
		{ "armed", read_armed },
		{ "notes", read_notes },
		{ "produced", read_produced },
		{ "recorded", read_recorded },
		{ "dropped", read_dropped },
		{ "log_bytes", read_log_bytes },
		{ "lost", read_lost },
		{ "filter", read_filter },
		{ "filtered", read_filtered },
		{ "undecided", read_undecided },
		{ "ms_left", read_ms_left },
		{ "expected", read_expected },
		{ NULL, NULL },
	};

	memset(out, 0, sizeof(*out));
	out->functions = out->processes = out->sensitive = -1;
	out->ms_left = out->expected = -1;
	return read_map(d, out, fields);
}

void inv_status_release(struct inv_status *s)
{
	inv_texts_release(&s->specs);
	inv_texts_release(&s->notes);
	memset(s, 0, sizeof(*s));
}

bool inv_why_protection(enum inv_session_why why)
{
	return why == INV_WHY_RUN_QUEUE || why == INV_WHY_MEMORY ||
	       why == INV_WHY_QUEUE || why == INV_WHY_TRACER;
}
