/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_ETF_H
#define INV_TERM_ETF_H

#include "base/buf.h"
#include "term/cursor.h"

/*
 * Terms, however they lie, in Erlang's external term format, for
 * binary_to_term/1.
 *
 * What a budget has left out stands there as the atom '...': for the term
 * that is missing, or for all that are missing at the end of a tuple, list or
 * map (as key and value).  A binary that was cut just ends.  What is known only
 * as the VM prints it (a fun) is a binary with that text.
 */
struct inv_etf_home {
	const char *node;  /* that recorded it: UTF-8 */
	uint32_t creation; /* 0: not known */
};

/*
 * Appends the next term, without the leading 131.  Errors as inv_cursor_next;
 * what was appended then makes no sense.  inv_term_etf_token: the term that tok,
 * which was just taken, begins.
 */
int inv_term_etf(struct inv_cursor *c, const struct inv_etf_home *home,
		 struct inv_buf *out);
int inv_term_etf_token(struct inv_cursor *c, const struct inv_token *tok,
		       const struct inv_etf_home *home, struct inv_buf *out);

/* Parts of terms that are put together by hand. */
#define INV_ETF_VERSION 131
void inv_etf_tuple(struct inv_buf *out, uint32_t arity);
void inv_etf_int(struct inv_buf *out, int64_t v);
/* UTF-8, at most 255 characters */
void inv_etf_atom(struct inv_buf *out, const void *name, size_t len);
void inv_etf_binary(struct inv_buf *out, const void *p, size_t len);
void inv_etf_list(struct inv_buf *out, uint32_t n); /* then elements, nil */
void inv_etf_nil(struct inv_buf *out);

#endif
