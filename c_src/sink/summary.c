/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/json.h"
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
	struct inv_json j = { .out = out };

	inv_json_open(&j, NULL, '{');
	inv_json_uint(&j, "recorded", s->recorded);
	inv_json_uint(&j, "entries", s->entries);
	inv_json_uint(&j, "lost", inv_summary_lost(s));
	inv_json_open(&j, "reasons", '{');
	for (unsigned i = 0; i < INV_LOST_COUNT; i++)
		if (s->lost[i] && i != INV_LOSS_LIMIT)
			inv_json_uint(&j, inv_lost_text(i), s->lost[i]);
	inv_json_close(&j, '}');
	inv_json_uint(&j, "after_limit", s->lost[INV_LOSS_LIMIT]);
	inv_json_uint(&j, "unended", s->unended);
	inv_json_uint(&j, "filtered", s->filtered);
	inv_json_close(&j, '}');
}
