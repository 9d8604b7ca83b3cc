/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/facts.h"

#include <inttypes.h>
#include <string.h>

#include "sink/jsontext.h"

/* Reasons of all members together: as many as there are names of them. */
struct sum {
	uint64_t produced, recorded;
	uint64_t limit; /* came after it */
	uint64_t filtered, undecided;
	bool by_filter; /* there is one */
	size_t unknown; /* members of which not all is known */
	struct inv_status_lost lost[INV_STATUS_LOST_MAX];
	size_t n_lost;
};

const char *inv_facts_why(enum inv_session_why why)
{
	static const char *const words[] = {
		[INV_WHY_NONE] = "none",
		[INV_WHY_EVENTS] = "events",
		[INV_WHY_BYTES] = "bytes",
		[INV_WHY_RATE] = "rate",
		[INV_WHY_TIME] = "time",
		[INV_WHY_ASKED] = "asked",
		[INV_WHY_CLIENT_GONE] = "client_gone",
		[INV_WHY_RUN_QUEUE] = "run_queue",
		[INV_WHY_MEMORY] = "memory",
		[INV_WHY_QUEUE] = "queue",
		[INV_WHY_TRACER] = "tracer",
		[INV_WHY_OTHER] = "other",
	};

	return (unsigned)why <= INV_WHY_OTHER ? words[why] : "other";
}

const char *inv_facts_state(enum inv_session_state state)
{
	static const char *const words[] = {
		[INV_STATE_UNKNOWN] = "unknown",
		[INV_STATE_ARMING] = "arming",
		[INV_STATE_TRACING] = "tracing",
		[INV_STATE_STOPPING] = "stopping",
		[INV_STATE_STOPPED] = "stopped",
		[INV_STATE_FAILED] = "failed",
	};

	return (unsigned)state <= INV_STATE_FAILED ? words[state] : "unknown";
}

/* --- counts --------------------------------------------------------------- */

static void add_reason(struct sum *sum, const struct inv_status_lost *lost)
{
	size_t i;

	if (inv_lost_is_limit(lost->reason)) {
		sum->limit += lost->n;
		return;
	}
	for (i = 0; i < sum->n_lost; i++)
		if (!strcmp(sum->lost[i].reason, lost->reason))
			break;
	if (i == INV_STATUS_LOST_MAX)
		i--; /* more than there are names: the sum is still right */
	else if (i == sum->n_lost)
		sum->lost[sum->n_lost++] = (struct inv_status_lost){ .n = 0 };
	if (!sum->lost[i].n)
		memcpy(sum->lost[i].reason, lost->reason, sizeof(lost->reason));
	sum->lost[i].n += lost->n;
}

static void add(struct sum *sum, const struct inv_status *s)
{
	sum->produced += s->produced;
	sum->recorded += s->recorded;
	sum->filtered += s->filtered;
	sum->undecided += s->undecided;
	sum->by_filter |= *s->filter != '\0';
	for (size_t i = 0; i < s->n_lost; i++)
		if (s->lost[i].n)
			add_reason(sum, &s->lost[i]);
}

static uint64_t all_lost(const struct sum *sum)
{
	uint64_t n = 0;

	for (size_t i = 0; i < sum->n_lost; i++)
		n += sum->lost[i].n;
	return n;
}

/* Whether it was lost before it had told how it ended. */
static bool is_unknown(const struct inv_member *m)
{
	return inv_code_gone(m->code) && !m->final;
}

static void put_sum(struct inv_buf *b, const struct sum *sum)
{
	const char *sep = " (";

	inv_buf_printf(b, "%" PRIu64 " event%s recorded, %" PRIu64 " lost",
		       sum->recorded, sum->recorded == 1 ? "" : "s",
		       all_lost(sum));
	for (size_t i = 0; i < sum->n_lost; i++) {
		inv_buf_printf(b, "%s%" PRIu64 " %s", sep, sum->lost[i].n,
			       sum->lost[i].reason);
		sep = ", ";
	}
	if (sum->n_lost)
		inv_buf_putc(b, ')');
	if (sum->limit)
		inv_buf_printf(b, ", %" PRIu64 " came after the limit",
			       sum->limit);
	if (sum->by_filter)
		inv_buf_printf(b, ", %" PRIu64 " left out by the filter",
			       sum->filtered);
	if (sum->undecided)
		inv_buf_printf(b,
			       ", %" PRIu64
			       " recorded that it could not decide",
			       sum->undecided);
}

void inv_facts_put_counts(struct inv_buf *b, const struct inv_member *m)
{
	struct sum sum = { 0 };

	if (is_unknown(m) && !m->status.produced) {
		inv_buf_puts(b, "nothing is known of it");
		return;
	}
	add(&sum, &m->status);
	put_sum(b, &sum);
	if (is_unknown(m))
		inv_buf_puts(b, " when it was last heard of");
}

static void sum_up(struct sum *sum, const struct inv_members *ms)
{
	for (size_t i = 0; i < ms->n; i++) {
		add(sum, &ms->v[i].status);
		sum->unknown += is_unknown(&ms->v[i]);
	}
}

void inv_facts_put_sum(struct inv_buf *b, const struct inv_members *ms)
{
	struct sum sum = { 0 };

	sum_up(&sum, ms);
	put_sum(b, &sum);
	if (sum.unknown)
		inv_buf_printf(b, ", and of %zu node%s not all is known",
			       sum.unknown, sum.unknown == 1 ? "" : "s");
}

/* --- why ------------------------------------------------------------------ */

static const char *const in_words[] = {
	[INV_WHY_EVENTS] = "the limit of events was reached",
	[INV_WHY_BYTES] = "the limit of bytes was reached",
	[INV_WHY_RATE] = "too many events a second",
	[INV_WHY_TIME] = "time is up",
	[INV_WHY_ASKED] = "it was told to stop",
	[INV_WHY_CLIENT_GONE] = "its command was gone",
	[INV_WHY_RUN_QUEUE] = "too many processes wait to be run",
	[INV_WHY_MEMORY] = "too much memory is in use",
	[INV_WHY_QUEUE] = "too much waits for the session itself",
	[INV_WHY_TRACER] = "the tracer ended",
};

/* A recording's log outlives its node, but not a node that goes on without us.
 */
static void put_failure(struct inv_buf *b, const struct inv_member *m)
{
	inv_buf_printf(b, "%s: %s", inv_code_gone(m->code) ? "lost" : "failed",
		       inv_screen_without(m->err.text, m->name));
	if (is_unknown(m) && *m->status.log)
		inv_buf_printf(b, "; if the node died, its log is there: %s",
			       m->status.log);
}

void inv_facts_put_why(struct inv_buf *b, const struct inv_member *m)
{
	enum inv_session_why why = m->status.why;

	if (m->code)
		put_failure(b, m);
	else if (*m->status.text)
		inv_buf_puts(b, m->status.text);
	else if (why == INV_WHY_ASKED && m->why_asked)
		inv_buf_puts(b, m->why_asked);
	else if ((unsigned)why < sizeof(in_words) / sizeof(*in_words) &&
		 in_words[why])
		inv_buf_puts(b, in_words[why]);
	else if (why != INV_WHY_NONE)
		inv_buf_puts(b, inv_facts_why(why));
}

/* --- JSON ----------------------------------------------------------------- */

void inv_facts_json_text(struct inv_buf *b, const char *text)
{
	struct inv_buf scratch = { 0 };
	size_t from;

	inv_buf_putc(b, '"');
	from = b->len;
	inv_buf_puts(b, text);
	inv_json_escape(b, from, &scratch);
	inv_buf_putc(b, '"');
	inv_buf_release(&scratch);
}

static void json_field(struct inv_buf *b, const char *name, const char *text)
{
	inv_buf_printf(b, "\"%s\":", name);
	inv_facts_json_text(b, text);
	inv_buf_putc(b, ',');
}

static void json_sum(struct inv_buf *b, const struct sum *sum)
{
	const char *sep = "";

	inv_buf_printf(b,
		       "\"produced\":%" PRIu64 ",\"recorded\":%" PRIu64
		       ",\"lost\":%" PRIu64 ",\"reasons\":{",
		       sum->produced, sum->recorded, all_lost(sum));
	for (size_t i = 0; i < sum->n_lost; i++) {
		inv_buf_puts(b, sep);
		inv_facts_json_text(b, sum->lost[i].reason);
		inv_buf_printf(b, ":%" PRIu64, sum->lost[i].n);
		sep = ",";
	}
	inv_buf_printf(b,
		       "},\"after_limit\":%" PRIu64 ",\"filtered\":%" PRIu64
		       ",\"undecided\":%" PRIu64,
		       sum->limit, sum->filtered, sum->undecided);
}

void inv_facts_json_sum(struct inv_buf *b, const struct inv_members *ms)
{
	struct sum sum = { 0 };

	sum_up(&sum, ms);
	json_sum(b, &sum);
	inv_buf_printf(b, ",\"unknown\":%zu", sum.unknown);
}

static void json_number(struct inv_buf *b, const char *name, int64_t n)
{
	if (n > 0)
		inv_buf_printf(b, "\"%s\":%" PRId64 ",", name, n);
	else
		inv_buf_printf(b, "\"%s\":null,", name);
}

static void json_list(struct inv_buf *b, const char *name,
		      const struct inv_texts *list)
{
	inv_buf_printf(b, "\"%s\":[", name);
	for (size_t i = 0; i < list->n; i++) {
		if (i)
			inv_buf_putc(b, ',');
		inv_facts_json_text(b, list->v[i]);
	}
	inv_buf_puts(b, "],");
}

void inv_facts_json_status(struct inv_buf *b, const struct inv_status *s)
{
	struct sum sum = { 0 };

	add(&sum, s);
	json_field(b, "name", s->name);
	json_field(b, "owner", s->owner);
	json_field(b, "mode", s->mode);
	json_field(b, "keep", s->keep);
	json_field(b, "state", inv_facts_state(s->state));
	json_field(b, "why", inv_facts_why(s->why));
	json_field(b, "text", s->text);
	json_field(b, "log", s->log);
	inv_buf_printf(b, "\"since\":%" PRId64 ",", s->since);
	json_list(b, "specs", &s->specs);
	json_field(b, "filter", s->filter);
	json_list(b, "notes", &s->notes);
	inv_buf_puts(b, "\"limits\":{");
	json_number(b, "events", s->limit_events);
	json_number(b, "bytes", s->limit_bytes);
	json_number(b, "rate", s->limit_rate);
	json_number(b, "ms", s->limit_ms);
	b->len -= b->len && !b->error ? 1 : 0;
	inv_buf_printf(b,
		       "},\"functions\":%" PRId64 ",\"processes\":%" PRId64
		       ",\"sensitive\":%" PRId64 ",\"log_bytes\":%" PRIu64 ",",
		       s->functions < 0 ? 0 : s->functions,
		       s->processes < 0 ? 0 : s->processes,
		       s->sensitive < 0 ? 0 : s->sensitive, s->log_bytes);
	if (s->expected >= 0)
		inv_buf_printf(b, "\"expected\":%" PRId64 ",", s->expected);
	if (s->ms_left >= 0)
		inv_buf_printf(b, "\"ms_left\":%" PRId64 ",", s->ms_left);
	json_sum(b, &sum);
}

void inv_facts_json_member(struct inv_buf *b, const struct inv_member *m)
{
	inv_buf_putc(b, '{');
	json_field(b, "node", m->name);
	if (m->code)
		json_field(b, "error", m->err.text);
	if (*m->status.name)
		inv_facts_json_status(b, &m->status);
	else /* it never had one */
		b->len -= b->len && !b->error ? 1 : 0;
	inv_buf_putc(b, '}');
}
