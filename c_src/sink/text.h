/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_TEXT_H
#define INV_SINK_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/facts.h"
#include "sink/sink.h"
#include "sink/timefmt.h"
#include "term/print.h"

/*
 * The line for the start of a garbage collection is held, and not printed at
 * once (text_gc.c). At most this many lines are held.
 */
#define INV_HELD_MAX 64u

struct inv_held {
	uint32_t node;
	uint64_t id[2]; /* identifies the process whose event the line shows */
	uint64_t number;
	int64_t ts_ns;
	struct inv_buf line;
};

/* Shared only by the files of the text format. */
struct inv_line {
	struct inv_sink sink;
	struct inv_timefmt time;
	struct inv_buf spare;
	bool begun;	       /* at least one entry was printed */
	int64_t since;	       /* the time to which relative times refer */
	unsigned node_columns; /* width of the widest node name so far */
	struct inv_held held[INV_HELD_MAX];
	unsigned n_held;
	uint64_t held_number;
};

/* Colours of the event's parts, for inv_line_color. */
#define INV_LINE_PLAIN "\033[0m"
#define INV_LINE_DIM "\033[2m"
#define INV_LINE_RED "\033[31m"
#define INV_LINE_GREEN "\033[32m"
#define INV_LINE_YELLOW "\033[33m"
#define INV_LINE_MAGENTA "\033[35m"
#define INV_LINE_CYAN "\033[36m"
#define INV_LINE_ALARM "\033[1;31m"

static inline void inv_line_color(struct inv_line *t, const char *color)
{
	if (t->sink.opts.color)
		inv_buf_puts(t->sink.out, color);
}

static inline void inv_line_put(struct inv_line *t, const char *s)
{
	inv_buf_puts(t->sink.out, s);
}

/* Turns INV_END into INV_ETRUNCATED: inside an event, the end of the bytes is
 * an error. */
static inline int inv_line_must(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

/* Prints the event's next term. Returns the codes of inv_cursor_next, except
 * INV_END. */
static inline int inv_line_term(struct inv_line *t)
{
	return inv_line_must(
		inv_term_print(t->sink.cursor, t->sink.out, &t->sink.print));
}

/* Prints an atom. This is faster if tok->plain is true, because then no
 * character need be checked. */
static inline void inv_line_atom(struct inv_line *t,
				 const struct inv_token *tok)
{
	if (tok->plain && t->sink.print.syntax == INV_SYNTAX_ERLANG)
		inv_buf_put(t->sink.out, tok->bytes, tok->len);
	else
		inv_term_print_atom(tok->bytes, tok->len, t->sink.out,
				    &t->sink.print);
}

/* Prints the next term. If the event has a function m, the term is this
 * function, and is printed as m:f(...) or m:f/n. If m is NULL, the term is
 * printed unchanged. */
int inv_line_mfa(struct inv_line *t, const struct inv_event *ev,
		 const struct inv_mfa *m);

/* Prints a name of a process: name, or (m:f/1). */
void inv_line_name(struct inv_line *t, const struct inv_process_name *name);

/* Prints {M,F,Arity} as M:F/A. tok is the term's first token. Returns 1 if the
 * term has another form. */
int inv_line_function(struct inv_line *t, const struct inv_token *tok);

/* Prints sizes with one unit, and arrows between them: "18 → 12 KiB". */
void inv_line_sizes(struct inv_buf *out, const uint64_t *sizes, unsigned count);

/*
 * Prints the payload of an event of the system monitor. The caller has printed
 * the tag: after "long_gc " this function prints "120 ms, heap 34 MiB". A
 * payload of another form is printed unchanged.
 */
int inv_line_system(struct inv_line *t, const struct inv_event *ev);

/* Prints "gc major, 4.20 ms, 18 → 12 KiB". The sizes are the heap's before
 * and after the collection. */
void inv_line_gc(struct inv_line *t, const struct inv_gc *gc);
/* Removes the line that begins at `from' from the output, and stores it until
 * it is known whether it must be printed. */
void inv_line_hold(struct inv_line *t, const struct inv_item *it, size_t from);
/* Call this before an item if lines are held (inv_line_hold). If the item is
 * the end of a collection whose line is held, removes this line. If the item is
 * another event of the same process, prints the line. Also prints lines that
 * were held for too long. */
void inv_line_before(struct inv_line *t, const struct inv_item *it);
/* Prints all held lines. */
void inv_line_give_held(struct inv_line *t);

/*
 * Prints the next term, the value of a match spec's {message,_}. The value of
 * {caller} becomes " (from m:f/1)", a stack trace becomes one line for each
 * frame, and a pair of a caller and a stack trace becomes both. Any other value
 * is printed in parentheses.
 */
int inv_line_result(struct inv_line *t, const struct inv_event *ev);

#endif
