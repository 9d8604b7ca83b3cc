/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/gc.h"

uint64_t inv_gc_words(const struct inv_event *ev, struct inv_cursor *c)
{
	struct inv_token tok;
	uint64_t sum = 0;
	uint32_t arity;
	int64_t n;

	if (inv_event_payload(ev, c) || inv_cursor_next(c, &tok) ||
	    tok.kind != INV_TOK_LIST)
		return 0;
	for (;;) {
		bool counts;

		if (inv_cursor_next(c, &tok))
			return 0;
		if (tok.kind == INV_TOK_END)
			return sum;
		arity = tok.count;
		if (tok.kind != INV_TOK_TUPLE || arity != 2 ||
		    inv_cursor_next(c, &tok))
			return 0;
		counts = inv_token_is(&tok, "heap_size") ||
			 inv_token_is(&tok, "old_heap_size") ||
			 inv_token_is(&tok, "mbuf_size");
		if (inv_cursor_next(c, &tok) || !inv_token_i64(&tok, &n) ||
		    inv_cursor_end(c))
			return 0;
		if (counts && n > 0 && n < INT64_C(1) << 56)
			sum += (uint64_t)n;
	}
}
