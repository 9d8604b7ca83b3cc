/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/dry.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/cmd.h"
#include "cli/facts.h"
#include "cli/notes.h"
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
	if (s->expected >= 0)
		inv_buf_printf(b, ", about %" PRId64 " event%s a second",
			       s->expected, plural(s->expected, "s"));
	else
		inv_buf_puts(b, ", how many events cannot be told");
	inv_buf_putc(b, '\n');
}

int inv_dry_run(struct inv_members *ms, bool json, bool quiet)
{
	struct inv_watch w = { .ms = ms, .period_ms = 100, .quiet = true };
	struct inv_buf b = { 0 };

	inv_screen_status(ms->cluster->screen, "counting ...");
	inv_watch_run(&w);
	if (!json && !quiet)
		inv_notes_tell(ms);
	for (size_t i = 0; i < ms->n; i++) {
		const struct inv_member *m = &ms->v[i];

		if (m->code || !m->final)
			continue;
		if (json) {
			inv_facts_json_member(&b, m);
			inv_buf_putc(&b, '\n');
		} else {
			put_text(m, &b);
		}
	}
	if (!b.error)
		inv_screen_out(ms->cluster->screen, b.data, b.len);
	inv_buf_release(&b);
	return w.interrupted ? INV_EXIT_FAILED : inv_members_exit(ms);
}
