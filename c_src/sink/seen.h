/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_SEEN_H
#define INV_SINK_SEEN_H

#include <stddef.h>
#include <stdint.h>

/*
 * What processes are called, as far as events of theirs told: the name that
 * they registered, or in parentheses what they were spawned to run.  Bounded: a
 * process has the place that its hash names, which a later one takes over.
 */
#define INV_SEEN_PROCESSES 4096u
#define INV_SEEN_TEXT 62u /* longer ones are not kept */

struct inv_seen_process {
	uint64_t pid; /* hash */
	uint8_t registered;
	uint8_t len; /* 0: nothing is known */
	char text[INV_SEEN_TEXT];
};

/* All zero is one that knows nothing. */
struct inv_seen {
	struct inv_seen_process *table; /* NULL until something is known */
};

void inv_seen_release(struct inv_seen *s);

/* len bytes of text; without memory nothing is known. */
void inv_seen_register(struct inv_seen *s, uint64_t pid, const void *text,
		       size_t len);
/* A name that was registered stays. */
void inv_seen_spawn(struct inv_seen *s, uint64_t pid, const void *text,
		    size_t len);
void inv_seen_forget(struct inv_seen *s, uint64_t pid);

/* NULL: nothing is known. */
static inline const struct inv_seen_process *inv_seen_find(
	const struct inv_seen *s, uint64_t pid)
{
	const struct inv_seen_process *x;

	if (!s->table)
		return NULL;
	x = &s->table[pid % INV_SEEN_PROCESSES];
	return x->len && x->pid == pid ? x : NULL;
}

#endif
