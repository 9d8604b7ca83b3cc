/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_ETF_H
#define INV_TERM_ETF_H

#include "base/buf.h"
#include "term/cursor.h"

/*
 * Reads terms from a cursor and writes them in Erlang's external term format,
 * for binary_to_term/1. For trees use inv_tree_etf (term/tree.h).
 *
 * The atom '...' replaces a term that was left out. If terms are missing at the
 * end of a tuple, list or map, one '...' replaces all of them (in a map, one
 * pair whose key and value are '...'). A binary that was cut becomes a shorter
 * binary. A redacted value becomes {'$redacted',Type}, where Type is an atom
 * (INV_REDACTED). A redacted key of a map becomes {'$redacted',Type,N}, with a
 * different N for each key of the map. If only the VM's text of a fun is known,
 * the fun becomes a binary with this text.
 */
struct inv_etf_home {
	const char *node;  /* name of the recording node, UTF-8 */
	uint32_t creation; /* 0: unknown */
};

/*
 * inv_term_etf appends the next term, without the leading byte 131.
 * inv_term_etf_token appends the term whose first token, tok, was just read.
 * Both return 0 or the codes of inv_cursor_next. After an error the appended
 * bytes are incomplete.
 */
int inv_term_etf(struct inv_cursor *c, const struct inv_etf_home *home,
		 struct inv_buf *out);
int inv_term_etf_token(struct inv_cursor *c, const struct inv_token *tok,
		       const struct inv_etf_home *home, struct inv_buf *out);

/* Functions with which a caller writes a term piece by piece. Each appends one
 * piece. */
#define INV_ETF_VERSION 131
void inv_etf_tuple(struct inv_buf *out, uint32_t arity);
void inv_etf_int(struct inv_buf *out, int64_t v);
/* `name' is UTF-8, of at most 255 characters. */
void inv_etf_atom(struct inv_buf *out, const void *name, size_t len);
void inv_etf_binary(struct inv_buf *out, const void *p, size_t len);
void inv_etf_map(struct inv_buf *out, size_t pairs);
void inv_etf_list(struct inv_buf *out, size_t n); /* must be followed by n
						     elements and inv_etf_nil */
void inv_etf_nil(struct inv_buf *out);

#endif
