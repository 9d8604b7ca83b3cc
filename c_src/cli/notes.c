/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/notes.h"

#include <string.h>

#define NAMES_MAX 8

/* Returns true if text is among the notes of m that were not reported yet. */
static bool has_note(const struct inv_member *m, const char *text)
{
	for (size_t i = m->n_notes; i < m->status.notes.n; i++)
		if (!strcmp(m->status.notes.v[i], text))
			return true;
	return false;
}

/* Reports a note of v[from], with the names of all later members that also have
 * the note. */
static void tell(const struct inv_members *ms, size_t from, const char *text)
{
	struct inv_buf names = { 0 };
	size_t n = 0;

	for (size_t i = from; i < ms->n; i++) {
		if (!has_note(&ms->v[i], text))
			continue;
		if (n++ < NAMES_MAX)
			inv_buf_printf(&names, "%s%s", n > 1 ? ", " : "",
				       ms->v[i].name);
	}
	if (n > NAMES_MAX)
		inv_buf_printf(&names, " and %zu more", n - NAMES_MAX);
	if (!names.error)
		inv_screen_note(ms->cluster->screen, "%.*s: %s", (int)names.len,
				(const char *)names.data, text);
	inv_buf_release(&names);
}

/* Reports the notes of v[at] that no earlier member has. */
static void tell_first(const struct inv_members *ms, size_t at)
{
	const struct inv_member *m = &ms->v[at];

	for (size_t i = m->n_notes; i < m->status.notes.n; i++) {
		const char *text = m->status.notes.v[i];
		size_t k = 0;

		while (k < at && !has_note(&ms->v[k], text))
			k++;
		if (k == at)
			tell(ms, at, text);
	}
}

void inv_notes_tell(struct inv_members *ms)
{
	for (size_t i = 0; i < ms->n; i++)
		if (ms->v[i].there && !ms->v[i].notified)
			return;
	for (size_t i = 0; i < ms->n; i++)
		tell_first(ms, i);
	for (size_t i = 0; i < ms->n; i++)
		ms->v[i].n_notes = ms->v[i].status.notes.n;
}
