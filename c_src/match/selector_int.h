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
	const char *module; /* the module that defines #rec{}; NULL: no module
			     * is named */
	bool guard;	    /* in a guard, where variables must be bound */
	bool elixir;
	bool used_record;
	unsigned depth;
	size_t n_names;
	struct {
		const char *name; /* in the text */
		size_t len;
	} names[INV__SELECTOR_VARS];
	/* The name of the module, and of a record and its module. */
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

/* Prepares c, whose text is set, for patterns and guards. */
void inv__selector_begin(struct inv__selector *c);
/* Reads the token, if it is next. A token of letters must be a whole word. */
bool inv__selector_take(struct inv__selector *c, const char *token);
/* Reads patterns after "(" up to ")".  Returns the list, and sets *n. */
inv_word inv__selector_arguments(struct inv__selector *c, unsigned *n);
/* Reads the guard after "when".  Returns a list with a list of conditions for
 * each alternative. */
inv_word inv__selector_guard(struct inv__selector *c);

/*
 * A text that was translated, and where its parts come from.
 */
struct inv__elixir {
	struct inv_buf text; /* NUL-terminated */
	struct inv_buf map;  /* pairs of uint32_t: index in text, index in the
				original */
};

/*
 * Translates the rest of a selector after the function's name, in Elixir's
 * notation, to Erlang's, up to the arrow before the actions.  Returns 0;
 * INV_EINVAL with the character position, which begins at `first'; INV_ENOMEM.
 * Release out in both cases.
 */
int inv__elixir_translate(const char *text, unsigned first,
			  struct inv__elixir *out, struct inv_err *err);
void inv__elixir_release(struct inv__elixir *e);
/* Replaces the character position at the beginning of an error in e->text by
 * that in the original text. */
void inv__elixir_locate(const struct inv__elixir *e, const char *original,
			unsigned first, struct inv_err *err);

#endif
