/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_SEEN_H
#define INV_SINK_SEEN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Names of processes, taken from their own events: the name that a process
 * registered, or in parentheses the function that it was spawned to run. Memory
 * is bounded: the hash of a process selects its table entry, and a later
 * process with the same entry replaces the earlier one.
 */
#define INV_SEEN_PROCESSES 4096u
#define INV_SEEN_TEXT 62u /* longer texts are not stored */

struct inv_seen_process {
	uint64_t pid; /* hash of the process identifier */
	uint8_t registered;
	uint8_t len; /* 0: unknown */
	char text[INV_SEEN_TEXT];
};

/* All zero is valid and has no names. */
struct inv_seen {
	struct inv_seen_process *table; /* NULL until a name is added */
};

void inv_seen_release(struct inv_seen *s);

/* Stores the registered name of a process, len bytes of text. Does nothing if
 * there is no memory. */
void inv_seen_register(struct inv_seen *s, uint64_t pid, const void *text,
		       size_t len);
/* Stores the function that a process was spawned to run. A registered name
 * takes precedence. */
void inv_seen_spawn(struct inv_seen *s, uint64_t pid, const void *text,
		    size_t len);
void inv_seen_forget(struct inv_seen *s, uint64_t pid);

/* Returns what is known about a process. NULL: nothing. */
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
