/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_FIELDS_H
#define INV_TERM_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "term/cursor.h"

/*
 * The names of the fields of records: {order,7,[]} is #order{id = 7,items =
 * []}. A tuple does not show which module defines its record, so several
 * modules can have records with this tag and this number of elements.
 *
 * A struct of zeros has no definitions. Memory is bounded: a definition for
 * which there is no room is ignored.
 */
#define INV_FIELDS_BUCKETS 256u
#define INV_FIELDS_MEMORY ((size_t)8 << 20)

struct inv_fields_def;

struct inv_fields {
	uint64_t maybe; /* a bit for each tag; see inv_fields_maybe */
	size_t size;
	struct inv_fields_def *bucket[INV_FIELDS_BUCKETS];
};

void inv_fields_release(struct inv_fields *f);

/*
 * Adds a record: the module that defines it (module_len 0: any module), the
 * record's name, and the names of its n fields. `names' has these names one
 * after the other, each after a byte with its length. Replaces a record of the
 * same module with the same name and number of fields. All names are UTF-8.
 * Returns 0 or INV_ENOMEM.
 */
int inv_fields_add(struct inv_fields *f, const uint8_t *module,
		   size_t module_len, const uint8_t *name, size_t name_len,
		   uint32_t n, const uint8_t *names, size_t names_len);

/*
 * Reads a definition from c: an atom or [] (any module), an atom, and a list of
 * atoms, and adds it. Returns 0 or INV_ENOMEM; terms of another form, and
 * incomplete ones, are ignored.
 */
int inv_fields_read(struct inv_fields *f, struct inv_cursor *c);

/* Returns false if no record has this tag; it is fast. */
static inline bool inv_fields_maybe(const struct inv_fields *f,
				    const uint8_t *tag, size_t len)
{
	return f && len && f->maybe >> ((tag[0] * 7u + len) & 63) & 1;
}

/*
 * Returns the record with this tag and `arity' elements, including the tag. If
 * `module' defines such a record, returns that; otherwise the definition for
 * any module; otherwise a definition in which all modules agree. Returns NULL
 * if there is no definition, or if modules define the record differently.
 */
const struct inv_fields_def *inv_fields_find(const struct inv_fields *f,
					     const uint8_t *module,
					     size_t module_len,
					     const uint8_t *tag, size_t len,
					     uint32_t arity);

/* Returns the name of field i, from 0; *len becomes its length in bytes. The
 * name has quotes if Erlang needs them. */
const uint8_t *inv_fields_name(const struct inv_fields_def *def, uint32_t i,
			       size_t *len);

#endif
