/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include <inttypes.h>
#include <string.h>

#include "cli/units.h"

/* Sums over all members. lost has one entry for each reason. */
struct sum {
	uint64_t produced, recorded;
	uint64_t limit; /* how many events came after a limit */
	uint64_t filtered, undecided;
	uint64_t redacted; /* how many values were replaced by a mark */
	uint64_t left_out; /* how many calls the bound on open calls left out */
	bool decides;	   /* a node decides at the end of a call whether to
			      record the call */
	uint64_t forgotten, unkept, unended, open, without_args;
	bool by_filter; /* at least one member has a filter */
	size_t unknown; /* members whose last counts are unknown */
	struct inv_status_lost lost[INV_STATUS_LOST_MAX];
	size_t n_lost;
};

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
		i--; /* too many reasons: add this count to the last reason, so
		      * that the sum is right */
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
	sum->redacted += s->redacted;
	sum->left_out += s->left_out;
	sum->by_filter |= *s->filter != '\0';
	sum->decides |= s->decides;
	sum->forgotten += s->forgotten;
	sum->unkept += s->unkept;
	sum->unended += s->unended;
	sum->open += s->open;
	sum->without_args += s->without_args;
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

/* Returns true if the node was lost before its last status arrived. */
static bool is_unknown(const struct inv_member *m)
{
	return inv_code_gone(m->code) && !m->final;
}

static void put_calls(struct inv_buf *b, uint64_t n, const char *what)
{
	if (n)
		inv_buf_printf(b, ", %" PRIu64 " %s%s", n,
			       n == 1 ? "call" : "calls", what);
}

/* If nodes decide at the end of a call whether to record it: reports how many
 * calls were not recorded, and why, and how many have no arguments. */
static void put_decided(struct inv_buf *b, const struct sum *sum)
{
	put_calls(b, sum->forgotten, " neither slow nor failed");
	put_calls(b, sum->open, " not ended");
	put_calls(b, sum->unended,
		  " without an end, because the process ended");
	put_calls(b, sum->unkept, " not decided");
	put_calls(b, sum->without_args,
		  " recorded without arguments, for which there was no room");
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
	if (sum->left_out)
		inv_buf_printf(b, ", %" PRIu64 " left out (--open-calls)",
			       sum->left_out);
	put_decided(b, sum);
	if (sum->redacted)
		inv_buf_printf(b,
			       "; %" PRIu64
			       " value%s redacted (--redact none shows %s)",
			       sum->redacted,
			       sum->redacted == 1 ? " was" : "s were",
			       sum->redacted == 1 ? "it" : "them");
}

void inv_report_put_counts(struct inv_buf *b, const struct inv_member *m)
{
	struct sum sum = { 0 };

	if (is_unknown(m) && !m->status.produced) {
		inv_buf_puts(b, "nothing is known about it");
		return;
	}
	add(&sum, &m->status);
	put_sum(b, &sum);
	if (is_unknown(m))
		inv_buf_puts(b, " at its last answer");
}

static void sum_up(struct sum *sum, const struct inv_members *ms)
{
	for (size_t i = 0; i < ms->n; i++) {
		add(sum, &ms->v[i].status);
		sum->unknown += is_unknown(&ms->v[i]);
	}
}

uint64_t inv_report_forgotten(const struct inv_members *ms)
{
	struct sum sum = { 0 };

	sum_up(&sum, ms);
	return sum.forgotten;
}

void inv_report_put_sum(struct inv_buf *b, const struct inv_members *ms)
{
	struct sum sum = { 0 };

	sum_up(&sum, ms);
	put_sum(b, &sum);
	if (sum.unknown)
		inv_buf_printf(b, "; incomplete for %zu node%s", sum.unknown,
			       sum.unknown == 1 ? "" : "s");
}

/* --- progress ------------------------------------------------------------- */

void inv_report_put_arming(struct inv_buf *b, const struct inv_members *ms)
{
	int64_t done = 0, total = 0;

	for (size_t i = 0; i < ms->n; i++) {
		if (!inv_status_is(&ms->v[i].status, "arming"))
			continue;
		done += ms->v[i].status.armed;
		total += ms->v[i].status.armed_of;
	}
	if (total > 0)
		inv_buf_printf(b,
			       "arming %" PRId64 " of %" PRId64 " functions | ",
			       done, total);
}

void inv_report_put_left(struct inv_buf *b, const struct inv_members *ms)
{
	int64_t left = -1;

	for (size_t i = 0; i < ms->n; i++) {
		const struct inv_status *s = &ms->v[i].status;

		if (inv_status_runs(s) && s->ms_left > left)
			left = s->ms_left;
	}
	if (left < 0)
		return;
	inv_buf_puts(b, " | ");
	inv_units_put_ms(b, (uint64_t)(left + 999) / 1000 * 1000);
	inv_buf_puts(b, " left");
}

/* --- why ------------------------------------------------------------------ */

static const struct {
	const char *why, *words;
} in_words[] = {
	{ "events", "the limit of events was reached" },
	{ "bytes", "the limit of bytes was reached" },
	{ "rate", "too many events a second" },
	{ "time", "time is up" },
	{ "asked", "stopped on request" },
	{ "client_gone", "its command ended or lost the connection" },
	{ "run_queue", "too many processes wait to be run" },
	{ "memory", "too much memory is in use" },
	{ "queue", "too many messages wait for the session" },
	{ "tracer", "the tracer ended" },
};

/* Returns the text for a reason. If a newer node has a reason that this
 * command does not know, returns the reason itself. */
static const char *words_of(const char *why)
{
	for (size_t i = 0; i < sizeof(in_words) / sizeof(*in_words); i++)
		if (!strcmp(why, in_words[i].why))
			return in_words[i].words;
	return why;
}

/*
 * Reports a failure. If the node was lost, also reports the path of the log,
 * because the log survives the death of its node. But if the node still runs,
 * the session there ends and removes the log.
 */
static void put_failure(struct inv_buf *b, const struct inv_member *m)
{
	inv_buf_printf(b, "%s: %s", inv_code_gone(m->code) ? "lost" : "failed",
		       inv_screen_without(m->err.text, m->name));
	if (is_unknown(m) && *m->status.log)
		inv_buf_printf(b, "; if the node died, its log is %s",
			       m->status.log);
}

void inv_report_put_why(struct inv_buf *b, const struct inv_member *m)
{
	const struct inv_status *s = &m->status;

	if (m->code)
		put_failure(b, m);
	else if (*s->text)
		inv_buf_puts(b, s->text);
	else if (inv_status_stopped_by(s, "asked") && m->why_asked)
		inv_buf_puts(b, m->why_asked);
	else if (inv_status_has_why(s))
		inv_buf_puts(b, words_of(s->why));
}

void inv_report_put_stopped(struct inv_buf *b, const struct inv_members *ms,
			    bool interrupted)
{
	if (interrupted) {
		inv_buf_puts(b, "interrupted");
		return;
	}
	for (size_t i = 0; i < ms->n; i++) {
		if (!inv_status_has_why(&ms->v[i].status) ||
		    inv_status_stopped_by(&ms->v[i].status, "asked"))
			continue;
		if (ms->n > 1)
			inv_buf_printf(b, "%s: ", ms->v[i].name);
		inv_report_put_why(b, &ms->v[i]);
		return;
	}
	if (ms->n)
		inv_report_put_why(b, &ms->v[0]);
}

/* --- JSON ----------------------------------------------------------------- */

void inv_report_json_texts(struct inv_json *j, const char *key,
			   const struct inv_texts *list)
{
	inv_json_open(j, key, '[');
	for (size_t i = 0; i < list->n; i++)
		inv_json_text(j, NULL, list->v[i]);
	inv_json_close(j, ']');
}

static void json_sum(struct inv_json *j, const struct sum *sum)
{
	inv_json_uint(j, "produced", sum->produced);
	inv_json_uint(j, "recorded", sum->recorded);
	inv_json_uint(j, "lost", all_lost(sum));
	inv_json_open(j, "reasons", '{');
	for (size_t i = 0; i < sum->n_lost; i++) {
		inv_json_key_text(j, sum->lost[i].reason);
		inv_json_uint(j, NULL, sum->lost[i].n);
	}
	inv_json_close(j, '}');
	inv_json_uint(j, "after_limit", sum->limit);
	inv_json_uint(j, "filtered", sum->filtered);
	inv_json_uint(j, "undecided", sum->undecided);
	inv_json_uint(j, "left_out", sum->left_out);
	inv_json_uint(j, "redacted", sum->redacted);
	if (!sum->decides)
		return;
	inv_json_open(j, "decided", '{');
	inv_json_uint(j, "forgotten", sum->forgotten);
	inv_json_uint(j, "unkept", sum->unkept);
	inv_json_uint(j, "unended", sum->unended);
	inv_json_uint(j, "open", sum->open);
	inv_json_uint(j, "without_args", sum->without_args);
	inv_json_close(j, '}');
}

void inv_report_json_sum(struct inv_json *j, const struct inv_members *ms)
{
	struct sum sum = { 0 };

	sum_up(&sum, ms);
	json_sum(j, &sum);
	inv_json_uint(j, "unknown", sum.unknown);
}

static void json_limit(struct inv_json *j, const char *key, int64_t n)
{
	if (n > 0)
		inv_json_int(j, key, n);
	else
		inv_json_null(j, key);
}

/* Writes a count. If n is -1, the node did not report the count: writes 0. */
static void json_count(struct inv_json *j, const char *key, int64_t n)
{
	inv_json_int(j, key, n < 0 ? 0 : n);
}

void inv_report_json_status(struct inv_json *j, const struct inv_status *s)
{
	struct sum sum = { 0 };

	add(&sum, s);
	inv_json_text(j, "name", s->name);
	inv_json_text(j, "owner", s->owner);
	inv_json_text(j, "mode", s->mode);
	inv_json_text(j, "keep", s->keep);
	inv_json_text(j, "state", *s->state ? s->state : "unknown");
	inv_json_text(j, "why", *s->why ? s->why : "none");
	inv_json_text(j, "text", s->text);
	inv_json_text(j, "log", s->log);
	inv_json_int(j, "since", s->since);
	inv_report_json_texts(j, "specs", &s->specs);
	inv_json_text(j, "filter", s->filter);
	inv_report_json_texts(j, "notes", &s->notes);
	inv_json_open(j, "limits", '{');
	json_limit(j, "events", s->limit_events);
	json_limit(j, "bytes", s->limit_bytes);
	json_limit(j, "rate", s->limit_rate);
	json_limit(j, "ms", s->limit_ms);
	inv_json_close(j, '}');
	json_count(j, "functions", s->functions);
	json_count(j, "processes", s->processes);
	json_count(j, "sensitive", s->sensitive);
	inv_json_uint(j, "log_bytes", s->log_bytes);
	if (s->begun >= 0) {
		inv_json_open(j, "seq", '{');
		inv_json_int(j, "begun", s->begun);
		inv_json_uint(j, "beyond", s->beyond);
		inv_json_uint(j, "remote", s->remote);
		inv_json_uint(j, "others", s->others);
		json_count(j, "held", s->held);
		inv_json_close(j, '}');
	}
	if (s->expected >= 0)
		inv_json_int(j, "expected", s->expected);
	if (s->ms_left >= 0)
		inv_json_int(j, "ms_left", s->ms_left);
	json_sum(j, &sum);
}

void inv_report_json_member(struct inv_json *j, const struct inv_member *m)
{
	inv_json_text(j, "node", m->name);
	if (m->code)
		inv_json_text(j, "error", m->err.text);
	if (*m->status.name)
		inv_report_json_status(j, &m->status);
}

void inv_report_json_nodes(struct inv_json *j, const struct inv_members *ms)
{
	inv_json_open(j, "nodes", '[');
	for (size_t i = 0; i < ms->n; i++) {
		inv_json_open(j, NULL, '{');
		inv_report_json_member(j, &ms->v[i]);
		inv_json_close(j, '}');
	}
	inv_json_close(j, ']');
}
