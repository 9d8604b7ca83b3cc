/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/seen.h"

#include <stdlib.h>
#include <string.h>

void inv_seen_release(struct inv_seen *s)
{
	free(s->table);
	s->table = NULL;
}

static void set(struct inv_seen *s, uint64_t pid, const void *text, size_t len,
		uint8_t registered)
{
	struct inv_seen_process *x;

	if (!len || len > INV_SEEN_TEXT)
		return;
	if (!s->table)
		s->table = calloc(INV_SEEN_PROCESSES, sizeof(*s->table));
	if (!s->table)
		return;
	x = &s->table[pid % INV_SEEN_PROCESSES];
	x->pid = pid;
	x->registered = registered;
	x->len = (uint8_t)len;
	memcpy(x->text, text, len);
}

void inv_seen_register(struct inv_seen *s, uint64_t pid, const void *text,
		       size_t len)
{
	set(s, pid, text, len, 1);
}

void inv_seen_spawn(struct inv_seen *s, uint64_t pid, const void *text,
		    size_t len)
{
	const struct inv_seen_process *x = inv_seen_find(s, pid);

	if (!x || !x->registered)
		set(s, pid, text, len, 0);
}

void inv_seen_forget(struct inv_seen *s, uint64_t pid)
{
	if (inv_seen_find(s, pid))
		s->table[pid % INV_SEEN_PROCESSES].len = 0;
}
