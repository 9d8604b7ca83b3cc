/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_PRINT_H
#define INV_TERM_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "term/cursor.h"
#include "term/fields.h"

/*
 * Prints terms like io_lib:format on the recording node.
 *
 * The text is the UTF-8 encoding of the characters that io_lib:format returns:
 * é takes two bytes, both in 'é' under ~w and in "é" under ~p.
 *
 * The pairs of a map have the same order as in io_lib:format.
 *
 * Terms that were left out of the recording are shown at their place as "..."
 * with the number of missing elements or bytes, in the brackets of the
 * container:
 *
 *	[1,2,3,...(12 more)]		a list's 12 remaining elements
 *	[1,2,3,...(>=12 more)]		at least 12, and perhaps a tail
 *	"abc"...(12 more)		the same for a string
 *	{a,b,...(3 more)}		elements of a tuple
 *	#{a => 1,...(2 more)}		pairs of a map
 *	<<1,2,3,...(997 more bytes)>>	bytes of a binary ("more bits" if they
 *					are not whole bytes)
 *	<<"abc"...(997 more bytes)>>
 *	{...(3 more)}			a tuple of 3 elements, all left out;
 *					also lists, maps and binaries
 *	...(integer of >=300 bytes)	a big integer that was left out
 *	...				any other term
 *
 * A redacted value is shown with its type, <redacted:binary>. No term of Erlang is
 * written like this.
 *
 * A BIG of more than INV_BIG_PRINT_MAX bytes is printed as if it had been left
 * out, because printing takes time quadratic in its length.
 */
#define INV_BIG_PRINT_MAX 16384

enum inv_print_style {
	INV_PRINT_W = 0, /* ~w */
	INV_PRINT_P = 1, /* ~0p: lists of characters as strings, all on one
			    line */
};

enum inv_syntax {
	INV_SYNTAX_ERLANG = 0,
	INV_SYNTAX_ELIXIR, /* like inspect/2 with limit: :infinity; `style',
			    * `unicode' and `fields' have no effect, and large
			    * maps are printed in the order in which they are
			    * read */
};

/* All zero means ~w of OTP 25. Releases differ: from 27 on 'maybe' and 'else'
 * are quoted, and under ~0tp OTP 29 has other rules for binaries that are
 * text. */
struct inv_print_opts {
	enum inv_print_style style;
	bool unicode;	 /* ~tw, ~0tp: characters above 255 unchanged, except
			    hidden ones (base/utf8.h) */
	bool wide_range; /* the node ran with +pc unicode: ~0tp prints
			    characters above 255 in strings */
	unsigned otp;	 /* OTP release of the recording node: 25, 26, …; 0:
			 unknown, treated as 25 */
	/*
	 * Records are printed as #order{id = 7}. fields[0] has precedence;
	 * either may be NULL. If modules define a record differently, the
	 * definition of `module' is used; if `module' has no definition, the
	 * record is printed as a tuple.
	 */
	const struct inv_fields *fields[2];
	const uint8_t *module; /* UTF-8 */
	size_t module_len;
	/* Containers inside this many other containers are printed as {...},
	 * [...] or #{...}; 0: no limit. */
	uint32_t depth;
	enum inv_syntax syntax;
};

/*
 * Appends the next term of c to out, and moves c past it. Returns 0 or
 * INV_ENOMEM. INV_END: as from inv_cursor_next, or the innermost open container
 * has no more elements, and its END was read. Other errors of the cursor: out
 * has the text before the error.
 */
int inv_term_print(struct inv_cursor *c, struct inv_buf *out,
		   const struct inv_print_opts *o);

/*
 * Like inv_term_print, for the term whose first token, tok, was just read. Does
 * not print the separator before it (tok->sep).
 */
int inv_term_print_token(struct inv_cursor *c, const struct inv_token *tok,
			 struct inv_buf *out, const struct inv_print_opts *o);

/*
 * Returns the record for a tuple, whose tag and number of elements are given,
 * or NULL if no such record is known.
 */
const struct inv_fields_def *inv_print_record(const struct inv_print_opts *o,
					      const uint8_t *tag, size_t len,
					      uint32_t arity);

/* Appends an atom, with quotes if Erlang needs them. name is valid UTF-8. */
void inv_term_print_atom(const uint8_t *name, size_t len, struct inv_buf *out,
			 const struct inv_print_opts *o);

/* Append the names in a call such as m:f(1) or Shop.Cart.add(1): one function
 * appends the module and the separator, the other the function. */
void inv_term_print_module(const uint8_t *name, size_t len, struct inv_buf *out,
			   const struct inv_print_opts *o);
void inv_term_print_function(const uint8_t *name, size_t len,
			     struct inv_buf *out,
			     const struct inv_print_opts *o);

/* Appends an atom, or a function m:f/1, in Elixir's syntax. The text is given
 * as Erlang prints it. If the text is something else, appends nothing and
 * returns false. */
bool inv_term_print_translated(const char *text, size_t len,
			       struct inv_buf *out);

/* Appends a finite float. */
void inv_term_print_float(double f, struct inv_buf *out);

#endif
