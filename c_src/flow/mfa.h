/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_MFA_H
#define INV_FLOW_MFA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log/event.h"

/* An atom's name in UTF-8. The bytes are in the event's memory, or in the field
 * `converted' of struct inv_mfa. `plain' has the same meaning as in struct
 * inv_token. */
struct inv_mfa_atom {
	const uint8_t *bytes;
	size_t len;
	bool plain;
};

/* A function, from {M,F,Arity} or {M,F,Args}. Do not copy the struct: it can
 * point into itself. */
struct inv_mfa {
	struct inv_mfa_atom module;
	struct inv_mfa_atom function;
	uint32_t arity;
	bool has_args; /* the third element is the list of arguments */
	/* Offset of the third element in the event's terms. The encoding does
	 * not mark the end of a tuple, so the next term of the event begins
	 * directly after this element. */
	size_t third;
	bool is_entry; /* the function is an entry of the packet's dictionary,
			  so the term is no tuple; `third' is then the offset
			  after the term */
	struct inv_dict_function entry;
	uint64_t hash; /* inv_function_hash of the function */
	uint8_t converted[2][2 * INV_ATOM_CHARS];
};

/*
 * Reads the next term of c, which reads ev's terms. Returns 1 if the term is
 * {M,F,Arity} or {M,F,Args}, 0 if it is another term, or an error of
 * inv_cursor_next. Afterwards the position of the cursor is undefined.
 * Arguments are read only as far as is needed to count them, so they may be
 * invalid.
 */
int inv_mfa_read(struct inv_mfa *m, struct inv_cursor *c,
		 const struct inv_event *ev);

/* Starts c at the third element of m. */
static inline void inv_mfa_third(const struct inv_mfa *m, struct inv_cursor *c,
				 const struct inv_event *ev)
{
	inv_cursor_init(c, (enum inv_enc)ev->enc, ev->dict,
			ev->terms + m->third, ev->len - m->third);
	if (m->is_entry)
		inv_cursor_third(c, &m->entry, m->has_args);
}

#endif
