/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_SCREEN_H
#define INV_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Standard output, standard error, and on a terminal a status line below what
 * they show.
 *
 * Whoever reads may stop to read: a terminal that is held (Ctrl-S), a pager.
 * So a thread of its own writes, and the caller, who has connections to keep
 * alive, never waits.  What is not written yet is bounded by the caller, who
 * asks inv_screen_room() before it gets more; notes are few and always taken.
 *
 *	inv_screen_open(&s, "inviso trace", true, &err);
 *	while (inv_screen_room(s) && more())
 *		inv_screen_out(s, lines, len);
 *	inv_screen_status(s, "12 events");
 *	inv_screen_close(s);
 */
struct inv_screen;

/* Borrows who, which stands before notes.  The thread has all signals blocked.
 * INV_ENOMEM, or INV_EIO. */
int inv_screen_open(struct inv_screen **out, const char *who, bool status_line);
/* Writes out what there is, as long as it takes; wipes the status line.  False:
 * not all of the output could be written, which is said; that nobody reads it
 * is the reader's wish. */
bool inv_screen_close(struct inv_screen *s);

/* Readable when inv_screen_room or inv_screen_broken may answer something else
 * than before; inv_screen_seen makes it unreadable. */
int inv_screen_fd(const struct inv_screen *s);
void inv_screen_seen(struct inv_screen *s);

/* Waits until it is readable, or fd is, but not for long. */
void inv_screen_wait(struct inv_screen *s, int fd);

/* Bytes of output that may be given now; 0: too much waits. */
size_t inv_screen_room(struct inv_screen *s);
/* Nobody takes the output any more; *sys is EPIPE, or why else. */
bool inv_screen_broken(struct inv_screen *s, int *sys);

/* Whole lines, to standard output, and to standard error. */
void inv_screen_out(struct inv_screen *s, const void *bytes, size_t len);
void inv_screen_err(struct inv_screen *s, const void *bytes, size_t len);
/* A line on standard error, "WHO: TEXT". */
void inv_screen_note(struct inv_screen *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same of a node, "WHO: NODE: TEXT", when text does not begin with it. */
void inv_screen_note_node(struct inv_screen *s, const char *node,
			  const char *text);
/* text without the node's name before it, which each level of a failure may
 * have put there. */
const char *inv_screen_without(const char *text, const char *node);
/* What the status line says from now on, without a newline; "" wipes it. */
void inv_screen_status(struct inv_screen *s, const char *text);

/* Whether both standard output and error are a terminal that can do it. */
bool inv_screen_is_terminal(void);
/* Columns of the terminal; 0: not known. */
unsigned inv_screen_width(void);

/*
 * Cuts text of len bytes, UTF-8, to so many columns; returns the bytes.  A
 * character is a column: good enough for node names.
 */
size_t inv_screen_fit(const char *text, size_t len, unsigned columns);

#endif
