/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_TEXT_H
#define INV_SINK_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "sink/pairs.h"
#include "sink/seen.h"
#include "sink/sink.h"
#include "sink/timefmt.h"
#include "term/print.h"

/* What the files of the text format share; nobody else includes it. */
struct inv_line {
	struct inv_sink sink;
	struct inv_timefmt time;
	struct inv_pairs pairs;
	struct inv_seen seen;
	struct inv_buf spare;
	unsigned node_columns; /* of the widest node so far */
	uint64_t pid;	       /* hash of the event's process */
	/* of the {M,F,A} printed last */
	uint64_t mfa;  /* hash, 0: it was none */
	size_t mf_off; /* "m:f" in the output */
	size_t mf_len;
	uint64_t arity;
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

/* In the middle of an event its bytes must not end. */
static inline int inv_line_must(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

/* The next term of the event; errors as inv_cursor_next, without INV_END. */
static inline int inv_line_term(struct inv_line *t)
{
	return inv_line_must(
		inv_term_print(t->sink.cursor, t->sink.out, &t->sink.print));
}

/* An atom that was taken.  A dictionary knows once a packet what needs no
 * quotes. */
static inline void inv_line_atom(struct inv_line *t,
				 const struct inv_token *tok)
{
	if (tok->plain)
		inv_buf_put(t->sink.out, tok->bytes, tok->len);
	else
		inv_term_print_atom(tok->bytes, tok->len, t->sink.out,
				    &t->sink.print);
}

/* The next term as m:f(...) or m:f/n, or as it is. */
int inv_line_mfa(struct inv_line *t, const struct inv_event *ev);

/*
 * The next term, a match spec's {message,_}: what {caller} gives as
 * " (from m:f/1)", what {current_stacktrace} gives as lines of its own, a pair
 * of the two as both, and all else as " (...)".
 */
int inv_line_result(struct inv_line *t, const struct inv_event *ev);

#endif
