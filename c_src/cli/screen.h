/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_SCREEN_H
#define INV_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Standard output, standard error, and on a terminal a status line below them.
 *
 * Writing can block: a terminal after Ctrl-S, or a pager. So a separate thread
 * writes. The caller never waits, because it must keep connections alive. It
 * bounds the bytes that wait to be written: it calls inv_screen_room() before
 * it adds output. Notes are always accepted, because they are few.
 *
 *	inv_screen_open(&s, "inviso trace", true, &err);
 *	while (inv_screen_room(s) && more())
 *		inv_screen_out(s, lines, len);
 *	inv_screen_status(s, "12 events");
 *	inv_screen_close(s);
 */
struct inv_screen;

/*
 * Starts the thread, with all signals blocked. Borrows program, the prefix of
 * notes. Returns 0, INV_ENOMEM, or INV_EIO.
 */
int inv_screen_open(struct inv_screen **out, const char *program,
		    bool status_line);
/*
 * Writes the output that still waits, however long that takes, and clears the
 * status line. Returns false if some output could not be written, and reports
 * the reason unless the reader closed the pipe.
 */
bool inv_screen_close(struct inv_screen *s);
/*
 * For a command that draws on the terminal: inv_screen_close waits at most ms,
 * because a terminal that takes no output must not keep the command from
 * ending. The remaining output is dropped, and errors are not reported.
 */
void inv_screen_limit(struct inv_screen *s, int ms);

/* Waits until all output is written, for at most ms. Returns false if some
 * output still waits. */
bool inv_screen_drain(struct inv_screen *s, int ms);

/*
 * Returns a descriptor for poll, readable when the result of inv_screen_room or
 * inv_screen_broken may have changed. inv_screen_seen makes the descriptor
 * unreadable again.
 */
int inv_screen_fd(const struct inv_screen *s);
void inv_screen_seen(struct inv_screen *s);

/* Waits until the screen's descriptor or fd is readable, for at most 200 ms. */
void inv_screen_wait(struct inv_screen *s, int fd);

/*
 * Returns how many bytes of output may be added now, or 0 if too many bytes
 * wait.
 */
size_t inv_screen_room(struct inv_screen *s);
/* Returns true if output can no longer be written, and sets *sys to errno;
 * EPIPE: the reader closed the pipe. */
bool inv_screen_broken(struct inv_screen *s, int *sys);

/* inv_screen_out writes whole lines to standard output, inv_screen_err to
 * standard error. */
void inv_screen_out(struct inv_screen *s, const void *bytes, size_t len);
void inv_screen_err(struct inv_screen *s, const void *bytes, size_t len);
/* Write a buffer and release it. If b->error is set, nothing is written. */
void inv_screen_put(struct inv_screen *s, struct inv_buf *b);
void inv_screen_put_err(struct inv_screen *s, struct inv_buf *b);
/* Writes a line to standard error, "PROGRAM: TEXT". */
void inv_screen_note(struct inv_screen *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Call this before another part of the program draws on the terminal. Notes are
 * then passed to `to' in the caller's thread, without the prefix. They are also
 * kept, and written when a later call sets `to' to NULL. At most 64 KiB of
 * notes are kept; if there are more, the oldest notes are dropped. Waits, for
 * at most 2 s, until the waiting output is written.
 */
void inv_screen_divert(struct inv_screen *s,
		       void (*to)(void *arg, const char *note), void *arg);
/* Writes "PROGRAM: NODE: TEXT" to standard error. If text begins with the
 * node's name, the name is not printed twice. */
void inv_screen_note_node(struct inv_screen *s, const char *node,
			  const char *text);
/* Returns text without the prefixes "NODE: " at its beginning, which several
 * callers may have prepended. */
const char *inv_screen_without(const char *text, const char *node);
/* Sets the text of the status line, without a newline. "" clears the line. */
void inv_screen_status(struct inv_screen *s, const char *text);

/* Returns true if standard output and error are a terminal that supports the
 * status line. */
bool inv_screen_is_terminal(void);
/* Returns the columns of the terminal, or 0 if they are unknown. */
unsigned inv_screen_width(void);

/* Returns how many of the len bytes of UTF-8 text fit in `columns' columns.
 * Counts each character as one column, which is sufficient for node names. */
size_t inv_screen_fit(const char *text, size_t len, unsigned columns);

#endif
