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
 * Prints terms as io_lib:format does on the recording node.
 *
 * The text is the UTF-8 encoding of the characters that io_lib:format returns.
 * So é takes two bytes, whether in an atom (~w prints 'é') or in a string (~p
 * prints "é").
 *
 * The pairs of a map are printed in the same order as by io_lib:format.
 *
 * Where terms were not recorded, "..." is printed in their place, inside the
 * brackets of their container, with the number of missing elements or bytes:
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
 * A redacted value is printed with its type, <redacted:binary>. No term of
 * Erlang is written like this.
 *
 * An integer of more than INV_BIG_PRINT_MAX bytes is printed as if it had not
 * been recorded, because printing takes time quadratic in its length.
 */
#define INV_BIG_PRINT_MAX 16384

enum inv_print_style {
	INV_PRINT_W = 0, /* ~w */
	INV_PRINT_P = 1, /* ~0p: lists of characters as strings, all on one
			    line */
};

enum inv_syntax {
	INV_SYNTAX_ERLANG = 0,
	INV_SYNTAX_ELIXIR, /* like inspect/2 with limit: :infinity. `style',
			    * `unicode' and `fields' have no effect. The pairs
			    * of large maps are printed in the order in which
			    * they are read */
};

/* A struct of zeros means ~w of OTP 25. The text depends on the release. From
 * OTP 27 on the atoms 'maybe' and 'else' have quotes. OTP 29 decides by another
 * rule whether ~0tp prints a binary as text. */
struct inv_print_opts {
	enum inv_print_style style;
	bool unicode;	 /* the modifier t, as in ~tw and ~0tp: characters above
			    255 are printed unchanged, except hidden characters
			    (base/utf8.h) */
	bool wide_range; /* the node ran with +pc unicode: under ~0tp lists and
			    binaries with characters above 255 are printed as
			    text */
	unsigned otp;	 /* OTP release of the recording node: 25, 26, …; 0:
			 unknown, treated as 25 */
	/*
	 * The definitions of records. A record with a definition is printed as
	 * #order{id = 7}, and other records as tuples. fields[0] has precedence
	 * over fields[1]; each may be NULL. If several modules define the
	 * record with different fields, only the definition of `module' is
	 * used.
	 */
	const struct inv_fields *fields[2];
	const uint8_t *module; /* UTF-8 */
	size_t module_len;
	/* A container that is inside `depth' other containers is printed as
	 * {...}, [...] or #{...}. 0: no limit. */
	uint32_t depth;
	enum inv_syntax syntax;
};

/*
 * Appends the next term of c to out, and moves c past it. Returns 0, INV_ENOMEM
 * or the codes of inv_cursor_next. After an error, out has the text before the
 * error. If the innermost open container has no more elements, reads its END
 * and returns INV_END.
 */
int inv_term_print(struct inv_cursor *c, struct inv_buf *out,
		   const struct inv_print_opts *o);

/*
 * Like inv_term_print, for the term whose first token, tok, was just read. Does
 * not print the separator before the term (tok->sep).
 */
int inv_term_print_token(struct inv_cursor *c, const struct inv_token *tok,
			 struct inv_buf *out, const struct inv_print_opts *o);

/*
 * Returns the definition with which a tuple with this tag and `arity' elements
 * is printed as a record, or NULL if it is printed as a tuple.
 */
const struct inv_fields_def *inv_print_record(const struct inv_print_opts *o,
					      const uint8_t *tag, size_t len,
					      uint32_t arity);

/* Appends an atom, with quotes if Erlang needs them. name is valid UTF-8. */
void inv_term_print_atom(const uint8_t *name, size_t len, struct inv_buf *out,
			 const struct inv_print_opts *o);

/* These two functions append the names in a call such as m:f(1) or
 * Shop.Cart.add(1): the first appends the module and the separator, the second
 * the function. */
void inv_term_print_module(const uint8_t *name, size_t len, struct inv_buf *out,
			   const struct inv_print_opts *o);
void inv_term_print_function(const uint8_t *name, size_t len,
			     struct inv_buf *out,
			     const struct inv_print_opts *o);

/* A process whose own name is not known can have the name of its parent, after
 * this text. */
#define INV_CHILD_OF "child of "

/* Translates a text from Erlang's to Elixir's syntax and appends it. `text'
 * must be an atom, or a function m:f/1. INV_CHILD_OF can be before it. If it is
 * another text, appends nothing and returns false. */
bool inv_term_print_translated(const char *text, size_t len,
			       struct inv_buf *out);

/* Appends a finite float. */
void inv_term_print_float(double f, struct inv_buf *out);

#endif
