/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/dry.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/cmd.h"
#include "cli/notes.h"
#include "cli/report.h"
#include "cli/watch.h"

static const char *plural(int64_t n, const char *s)
{
	return n == 1 ? "" : s;
}

static void put_text(const struct inv_member *m, struct inv_buf *b)
{
	const struct inv_status *s = &m->status;

	inv_buf_printf(b, "%s: %" PRId64 " function%s, %" PRId64 " process%s",
		       m->name, s->functions < 0 ? 0 : s->functions,
		       plural(s->functions, "s"),
		       s->processes < 0 ? 0 : s->processes,
		       plural(s->processes, "es"));
	if (s->system > 0)
		inv_buf_puts(b, ", the system monitor");
	if (s->expected >= 0)
		inv_buf_printf(b, ", about %" PRId64 " event%s a second",
			       s->expected, plural(s->expected, "s"));
	else
		inv_buf_puts(b, "; the number of events cannot be predicted");
	inv_buf_putc(b, '\n');
	for (size_t i = 0; i < s->list.n; i++)
		inv_buf_printf(b, "  %s\n", s->list.v[i]);
}

int inv_dry_run(struct inv_members *ms, bool json, bool quiet)
{
	struct inv_watch w = { .ms = ms, .period_ms = 100, .quiet = true };
	struct inv_buf b = { 0 };
	struct inv_json j = { .out = &b };

	inv_screen_status(ms->cluster->screen, "counting ...");
	inv_watch_run(&w);
	if (!json && !quiet)
		inv_notes_tell(ms);
	for (size_t i = 0; i < ms->n; i++) {
		const struct inv_member *m = &ms->v[i];

		if (m->code || !m->final)
			continue;
		if (json) {
			inv_json_open(&j, NULL, '{');
			inv_report_json_member(&j, m);
			inv_report_json_texts(&j, "list", &m->status.list);
			inv_json_close(&j, '}');
			inv_json_line(&j);
		} else {
			put_text(m, &b);
		}
	}
	inv_screen_put(ms->cluster->screen, &b);
	return w.interrupted ? INV_EXIT_FAILED : inv_members_exit(ms);
}
