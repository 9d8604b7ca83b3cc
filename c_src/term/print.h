/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_PRINT_H
#define INV_TERM_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "term/cursor.h"

/*
 * Prints terms as io_lib:format does on the node that recorded them.
 *
 * The text is UTF-8: of the characters that io_lib:format returns, so that
 * under ~w the atom 'é' gives the two bytes of é, and "é" under ~p too.
 *
 * The pairs of a map come in the order that io_lib:format gives them.
 *
 * What a recording left out is shown where it was, as "..." and how much is
 * missing, within brackets that say of what:
 *
 *	[1,2,3,...(12 more)]		a list's 12 remaining elements
 *	[1,2,3,...(>=12 more)]		at least 12, and perhaps a tail
 *	"abc"...(12 more)		the same of a string
 *	{a,b,...(3 more)}		elements of a tuple
 *	#{a => 1,...(2 more)}		pairs of a map
 *	<<1,2,3,...(997 more bytes)>>	of a binary ("more bits" if it is not
 *					of whole bytes)
 *	<<"abc"...(997 more bytes)>>
 *	{...(3 more)}			a tuple of 3 of which nothing was kept;
 *					lists, maps and binaries likewise
 *	...(integer of >=300 bytes)	a big integer that was too big to keep
 *	...				anything else
 *
 * A BIG of more than INV_BIG_PRINT_MAX bytes is printed as one too big to
 * keep: it takes time in the square of its length.
 */
#define INV_BIG_PRINT_MAX 16384

enum inv_print_style {
	INV_PRINT_W = 0, /* ~w */
	INV_PRINT_P = 1, /* ~0p: strings as strings, all on one line */
};

/*
 * All zero is "~w" of OTP 25.  What depends on the release: from 27 on 'maybe'
 * and 'else' are quoted; under ~0tp 29 looks at binaries in another way.
 */
struct inv_print_opts {
	enum inv_print_style style;
	bool unicode;	 /* ~tw, ~0tp: characters above 255 as they are, but
			    for those that are hidden (term/chars.h) */
	bool wide_range; /* the node ran with +pc unicode: strings of characters
			    above 255 are strings, to ~0tp */
	unsigned otp; /* the recording node's release: 25, 26, ...; 0: not known
			 and taken for 25 */
};

/*
 * Appends the next term of c to out and leaves c after it.  Returns 0; INV_END
 * as inv_cursor_next, and in a container that has no more elements, whose END
 * it takes; the cursor's errors, out then has what was printed up to there;
 * INV_ENOMEM.
 */
int inv_term_print(struct inv_cursor *c, struct inv_buf *out,
		   const struct inv_print_opts *o);

/*
 * The same for the term that tok, the token that was taken from c last, begins.
 * What stands before it (tok->sep) is not printed.
 */
int inv_term_print_token(struct inv_cursor *c, const struct inv_token *tok,
			 struct inv_buf *out, const struct inv_print_opts *o);

/* One atom, quoted where Erlang quotes it; name is valid UTF-8. */
void inv_term_print_atom(const uint8_t *name, size_t len, struct inv_buf *out,
			 const struct inv_print_opts *o);

/* A finite float. */
void inv_term_print_float(double f, struct inv_buf *out);

#endif
