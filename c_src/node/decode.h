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
 * Decodes answers of nodes; their bytes are not trusted. Each function reads
 * the next term. If the term is not of the kind that the function expects, this
 * call and all later calls return INV_EDAMAGED, or the error of the cursor.
 *
 * The struct is large (80 KB), because it contains a cursor.
 */
struct inv_decode {
	struct inv_cursor c;
	const char *term;
	size_t len;
};

/* Borrows the `len' bytes at `term', such as those of a struct inv_mail. */
void inv_decode_init(struct inv_decode *d, const char *term, size_t len);

/* A list of texts.  A struct of zeros is the empty list. */
struct inv_texts {
	char **v;
	size_t n;
};
void inv_texts_release(struct inv_texts *t);

/*
 * Reads a binary, a string or an atom as a text that can be shown, cut to size
 * - 1 bytes. Replaces invalid UTF-8 and control characters, which could control
 * a terminal, by '?'.
 */
int inv_decode_text(struct inv_decode *d, char *buf, size_t size);

/* Like inv_decode_text, for the token `tok', which the caller has just read. */
int inv_token_text(struct inv_decode *d, const struct inv_token *tok, char *buf,
		   size_t size);

/*
 * Reads a list of texts.  Keeps at most the first `max' texts, each cut to 4095
 * bytes.
 */
int inv_decode_texts(struct inv_decode *d, struct inv_texts *out, size_t max);

int inv_decode_i64(struct inv_decode *d, int64_t *v);
int inv_decode_u64(struct inv_decode *d, uint64_t *v);
/*
 * Reads an integer.  If the term is an atom such as none or infinity, sets `*v'
 * to `other'.
 */
int inv_decode_number(struct inv_decode *d, int64_t other, int64_t *v);
int inv_decode_pid(struct inv_decode *d, erlang_pid *pid);

/* Reads a binary. It is not copied: *p then points into the bytes that are
 * decoded. */
int inv_decode_bytes(struct inv_decode *d, const uint8_t **p, size_t *len);

/*
 * Reads the start of a list of at most max elements, and sets *n to their
 * number. If *n is not 0, the caller reads the elements, and then calls
 * inv_cursor_end.
 */
int inv_decode_list(struct inv_decode *d, size_t max, size_t *n);

/* Reads the start of a map, and sets *pairs to the number of its pairs, which
 * the caller reads next. */
int inv_decode_map(struct inv_decode *d, uint32_t *pairs);

/*
 * Describes one key of a map that is decoded into a struct. The function `read'
 * stores the value of `key' at offset `at' of the struct. If `read' is NULL,
 * the value is stored as text, in `size' bytes. If `fields' is not NULL, the
 * value is a map itself, and `fields' describes its keys, whose values are
 * stored in the same struct. Keys without a description are skipped, because
 * the node may be newer than the command. If a key is missing, its part of the
 * struct does not change. A table of keys ends with { 0 }.
 */
struct inv_field {
	const char *key;
	size_t at, size;
	int (*read)(struct inv_decode *d, void *at);
	const struct inv_field *fields;
};
#define INV_FIELD(name, how, type, member)                       \
	{                                                        \
		.key = (name), .at = offsetof(type, member),     \
		.size = sizeof(((type *)0)->member), .read = how \
	}
#define INV_FIELD_TEXT(name, type, member) INV_FIELD(name, NULL, type, member)
int inv_decode_fields(struct inv_decode *d, const struct inv_field *fields,
		      void *out);

/*
 * Functions for `read' in struct inv_field. What they store:
 *
 *	inv_field_number   an int64_t; -1 if the term is an atom
 *	inv_field_limit    an int64_t; 0 if the term is an atom
 *	inv_field_count    a uint64_t
 *	inv_field_texts    a struct inv_texts, of at most 1024 texts
 *	inv_field_bool     a bool
 *	inv_field_pid      an erlang_pid
 */
int inv_field_number(struct inv_decode *d, void *at);
int inv_field_limit(struct inv_decode *d, void *at);
int inv_field_count(struct inv_decode *d, void *at);
int inv_field_texts(struct inv_decode *d, void *at);
int inv_field_bool(struct inv_decode *d, void *at);
int inv_field_pid(struct inv_decode *d, void *at);

/* Reads an atom. Sets `*word' to the atom's index in `names', or to -1 if
 * `names' does not have it. */
int inv_decode_word(struct inv_decode *d, const char *const *names, int *word);

/* Returns the index in `names' of the atom in `tok', or -1. */
int inv_token_word(const struct inv_token *tok, const char *const *names);

/* Reads the atom true or false. */
int inv_decode_bool(struct inv_decode *d, bool *v);

/* Skips one term. */
int inv_decode_skip(struct inv_decode *d);

/*
 * Call it for an unexpected term. Returns INV_EDAMAGED. From then on, all
 * functions return INV_EDAMAGED for `d'.
 */
int inv_decode_bad(struct inv_decode *d);

/*
 * Reads the start of an answer. If it is a tuple {ok, …} of `arity' elements,
 * returns 0; the caller then reads the element after ok. If it is {error,
 * Class, Text}, stores Text in `err' and returns the code of Class (INV_EBUSY
 * for `again'). If it is {badrpc, Reason}, returns INV_EREMOTE.
 */
int inv_decode_ok(struct inv_decode *d, uint32_t arity, struct inv_err *err);

/*
 * Reads the class of an error, which is an atom, and sets `*code' to the enum
 * inv_code for this class. If the atom is `none', sets it to 0.
 */
int inv_decode_class(struct inv_decode *d, int *code);

/*
 * Reads a whole answer. Returns 0 for the atom ok; handles other answers as
 * inv_decode_ok does.
 */
int inv_decode_answer_ok(struct inv_decode *d, struct inv_err *err);

/* For an answer that has none of the expected forms: returns INV_EDAMAGED, with
 * the answer as text in `err'. */
int inv_decode_strange(const struct inv_decode *d, struct inv_err *err);

#endif
