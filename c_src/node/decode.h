/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_DECODE_H
#define INV_NODE_DECODE_H

#include <ei.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "term/cursor.h"

/*
 * Reading answers of nodes, which may be anything.  Every function takes the
 * next term, and fails with INV_EDAMAGED (or a code of the cursor's), which
 * sticks, when it is not what was asked for.
 *
 * It is as large as the cursor (80 KB).
 */
struct inv_decode {
	struct inv_cursor c;
	const char *term;
	size_t len;
};

/* len bytes at term are borrowed: an inv_mail's. */
void inv_decode_init(struct inv_decode *d, const char *term, size_t len);

/* A list of texts; all zero is none. */
struct inv_texts {
	char **v;
	size_t n;
};
void inv_texts_release(struct inv_texts *t);

/*
 * A binary, a string or an atom as text for people, cut to size - 1 bytes:
 * what is no UTF-8, and control characters (which could command a terminal),
 * become '?'.
 */
int inv_decode_text(struct inv_decode *d, char *buf, size_t size);

/* The same of the token that was taken last: of no other kind than above. */
int inv_token_text(struct inv_decode *d, const struct inv_token *tok, char *buf,
		   size_t size);

/* A list of texts, of which max are kept, each cut to 4095 bytes. */
int inv_decode_texts(struct inv_decode *d, struct inv_texts *out, size_t max);

int inv_decode_i64(struct inv_decode *d, int64_t *v);
int inv_decode_u64(struct inv_decode *d, uint64_t *v);
/* An integer; an atom, such as none or infinity, is `other'. */
int inv_decode_number(struct inv_decode *d, int64_t other, int64_t *v);
int inv_decode_pid(struct inv_decode *d, erlang_pid *pid);

/* A binary, borrowed. */
int inv_decode_bytes(struct inv_decode *d, const uint8_t **p, size_t *len);

/* A map's head; then so many pairs. */
int inv_decode_map(struct inv_decode *d, uint32_t *pairs);

/* A map's next key, an atom: *key is the index of it in names (NULL ends
 * them), or -1. */
int inv_decode_key(struct inv_decode *d, const char *const *names, int *key);

/* The index of an atom in names, or -1 for another. */
int inv_decode_word(struct inv_decode *d, const char *const *names, int *word);

/* The same of a token, which is an ATOM. */
int inv_token_word(const struct inv_token *tok, const char *const *names);

/* Steps over one term. */
int inv_decode_skip(struct inv_decode *d);

/* Fails: what came was not to be expected. */
int inv_decode_bad(struct inv_decode *d);

/*
 * The head of an answer, {ok, …} with `arity' elements: 0, and they come next.
 * {error, Class, Text} becomes the code of its class with its text (`again' is
 * INV_EBUSY), {badrpc, Reason} INV_EREMOTE.
 */
int inv_decode_ok(struct inv_decode *d, uint32_t arity, struct inv_err *err);

/* The class of an error, an atom: *code is that of {error, Class, _}, or 0 for
 * `none'. */
int inv_decode_class(struct inv_decode *d, int *code);

/* A whole answer, the atom ok, or a failure as above. */
int inv_decode_answer_ok(struct inv_decode *d, struct inv_err *err);

/* INV_EDAMAGED, with the answer in words. */
int inv_decode_strange(const struct inv_decode *d, struct inv_err *err);

#endif
