/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_FIELDS_H
#define INV_TERM_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "term/cursor.h"

/*
 * The names of the fields of Erlang's records, with which a tuple such as
 * {order,7,[]} is printed as #order{id = 7,items = []}. A tuple does not show
 * which module defines its record. Several modules can define records with the
 * same name and the same number of fields.
 *
 * A struct of zeros has no definitions. When the definitions take
 * INV_FIELDS_MEMORY bytes, further definitions are ignored.
 */
#define INV_FIELDS_BUCKETS 256u
#define INV_FIELDS_MEMORY ((size_t)8 << 20)

struct inv_fields_def;

struct inv_fields {
	uint64_t maybe; /* for each record's name, one bit is set: see
			 * inv_fields_maybe */
	size_t size;	/* bytes of all definitions */
	struct inv_fields_def *bucket[INV_FIELDS_BUCKETS];
};

void inv_fields_release(struct inv_fields *f);

/*
 * Adds a definition: the module that defines the record, the record's name, and
 * the names of its n fields. If module_len is 0, the definition is for all
 * modules. `names' has the fields' names one after the other, each after a byte
 * with its length. If there is already a definition of this module, with the
 * same name and number of fields, the new one replaces it. All names are UTF-8.
 * Returns 0 or INV_ENOMEM.
 */
int inv_fields_add(struct inv_fields *f, const uint8_t *module,
		   size_t module_len, const uint8_t *name, size_t name_len,
		   uint32_t n, const uint8_t *names, size_t names_len);

/*
 * Reads the three terms of a definition (INV_NOTE_RECORD) from c, and adds the
 * definition: the module, or [] for all modules; the name; and a list of the
 * fields' names. Ignores terms of another form, and incomplete terms. Returns 0
 * or INV_ENOMEM.
 */
int inv_fields_read(struct inv_fields *f, struct inv_cursor *c);

/* A fast test before inv_fields_find. If it returns false, no defined record
 * has this tag. If it returns true, a defined record may have this tag. */
static inline bool inv_fields_maybe(const struct inv_fields *f,
				    const uint8_t *tag, size_t len)
{
	return f && len && f->maybe >> ((tag[0] * 7u + len) & 63) & 1;
}

/*
 * Returns a definition of the record with this tag and `arity' elements,
 * counting the tag. If `module' defines the record, returns its definition.
 * Otherwise, if there is a definition for all modules, returns that. Otherwise,
 * if all modules that define the record give its fields the same names, returns
 * one of their definitions. Otherwise returns NULL.
 */
const struct inv_fields_def *inv_fields_find(const struct inv_fields *f,
					     const uint8_t *module,
					     size_t module_len,
					     const uint8_t *tag, size_t len,
					     uint32_t arity);

/* Returns the name of field i, counted from 0, and sets *len to its length in
 * bytes. The name is in quotes if Erlang needs them. */
const uint8_t *inv_fields_name(const struct inv_fields_def *def, uint32_t i,
			       size_t *len);

#endif
