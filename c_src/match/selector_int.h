/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_SELECTOR_INT_H
#define INV_MATCH_SELECTOR_INT_H

#include "base/buf.h"
#include "match/selector.h"
#include "term/tree_text.h"

/*
 * Private to the files of the parser of selectors: selector.c reads names and
 * kinds of events, selector_expr.c reads patterns and guards, elixir.c
 * translates Elixir's notation, and selector_make.c makes match specs from the
 * result.
 */

/* Maximum number of variables in a selector. */
#define INV__SELECTOR_VARS 64
#define INV__SELECTOR_ARGS 255

struct inv__selector {
	struct inv_text text;
	const struct inv_records *records;
	const char *module; /* the module in which records are searched; NULL:
			     * the selector names no module */
	bool guard;	    /* a guard is parsed: variables must be bound */
	bool elixir;	    /* the text was translated from Elixir's notation */
	bool used_record;   /* a record was parsed */
	unsigned depth;
	size_t n_names;
	struct {
		const char *name; /* points into the text */
		size_t len;
	} names[INV__SELECTOR_VARS]; /* the variables */
	/* Buffers: for the name of the selector's module, the name of a record,
	 * and the name of the module of that record. */
	char name[3][1024];
};

inv_word inv__selector_too_big(struct inv__selector *c);
inv_word inv__selector_atom(struct inv__selector *c, const char *name,
			    size_t len);
inv_word inv__selector_named(struct inv__selector *c, const char *name);
inv_word inv__selector_tuple(struct inv__selector *c, size_t n,
			     const inv_word *elements);
inv_word inv__selector_cons(struct inv__selector *c, inv_word head,
			    inv_word tail);

/* Prepares *c for patterns and guards. c->text must be set. */
void inv__selector_begin(struct inv__selector *c);
/* If `token' is next, reads it and returns true. If `token' is a word, the text
 * must have it as a whole word. */
bool inv__selector_take(struct inv__selector *c, const char *token);
/* Reads the patterns of arguments after "(", and the ")".  Returns the list of
 * the patterns, and sets *n to how many there are. */
inv_word inv__selector_arguments(struct inv__selector *c, unsigned *n);
/* Reads the guard after "when". Returns a list with one element for each
 * alternative: the list of the alternative's conditions. */
inv_word inv__selector_guard(struct inv__selector *c);

/*
 * A text that was translated from Elixir's notation to Erlang's, and the places
 * in the original text from which its parts come.
 */
struct inv__elixir {
	struct inv_buf text; /* NUL-terminated */
	struct inv_buf map;  /* pairs of uint32_t: an index in `text', and the
				index in the original text */
};

/*
 * Translates a selector from Elixir's notation to Erlang's. `text' is the part
 * of the selector after the function's name. It is translated up to the arrow
 * before the actions. `first' is the character position of `text' in the whole
 * selector.
 * Returns 0, INV_ENOMEM, or INV_EINVAL with a message that has the character
 * position. Release *out also after an error.
 */
int inv__elixir_translate(const char *text, unsigned first,
			  struct inv__elixir *out, struct inv_err *err);
void inv__elixir_release(struct inv__elixir *e);
/* The message in *err begins with a character position in e->text. Replaces
 * this position by the position in the selector. `original' is the text that
 * was translated, and `first' is the character position of that text in the
 * selector. */
void inv__elixir_locate(const struct inv__elixir *e, const char *original,
			unsigned first, struct inv_err *err);

#endif
