/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "sink/sink.h"

uint64_t inv_summary_lost(const struct inv_summary *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < INV_LOST_COUNT; i++)
		if (i != INV_LOSS_LIMIT)
			n += s->lost[i];
	return n;
}

void inv_summary_text(const struct inv_summary *s, struct inv_buf *out)
{
	const char *sep = " (";
	uint64_t lost = inv_summary_lost(s);

	inv_buf_printf(out, "%" PRIu64 " event%s recorded, %" PRIu64 " lost",
		       s->recorded, s->recorded == 1 ? "" : "s", lost);
	for (unsigned i = 0; i < INV_LOST_COUNT; i++) {
		if (!s->lost[i] || i == INV_LOSS_LIMIT)
			continue;
		inv_buf_printf(out, "%s%" PRIu64 " %s", sep, s->lost[i],
			       inv_lost_text(i));
		sep = ", ";
	}
	if (lost)
		inv_buf_putc(out, ')');
	if (s->lost[INV_LOSS_LIMIT])
		inv_buf_printf(out, ", %" PRIu64 " came after the limit",
			       s->lost[INV_LOSS_LIMIT]);
	if (s->filtered)
		inv_buf_printf(out, "; %" PRIu64 " shown, %" PRIu64 " left out",
			       s->recorded - s->filtered, s->filtered);
	if (s->unended)
		inv_buf_printf(out,
			       "; %" PRIu32 " log%s without an end: events may "
			       "be missing",
			       s->unended, s->unended == 1 ? "" : "s");
}

void inv_summary_json(const struct inv_summary *s, struct inv_buf *out)
{
	const char *sep = "";

	inv_buf_printf(out,
		       "{\"recorded\":%" PRIu64 ",\"entries\":%" PRIu64
		       ",\"lost\":%" PRIu64 ",\"reasons\":{",
		       s->recorded, s->entries, inv_summary_lost(s));
	for (unsigned i = 0; i < INV_LOST_COUNT; i++) {
		if (!s->lost[i] || i == INV_LOSS_LIMIT)
			continue;
		inv_buf_printf(out, "%s\"%s\":%" PRIu64, sep, inv_lost_text(i),
			       s->lost[i]);
		sep = ",";
	}
	inv_buf_printf(out,
		       "},\"after_limit\":%" PRIu64 ",\"unended\":%" PRIu32
		       ",\"filtered\":%" PRIu64 "}",
		       s->lost[INV_LOSS_LIMIT], s->unended, s->filtered);
}
