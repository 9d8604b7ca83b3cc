/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_RECORDS_H
#define INV_MATCH_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Definitions of Erlang's records. A selector can contain a record such as
 * #order{id = 7}; the definition says which element of the tuple is `id'. A
 * struct of zeros has no definitions.
 */
struct inv_record_field {
	char *name; /* UTF-8 */
	bool has_default;
};

struct inv_record_def {
	struct inv_record_def *next;
	char *module; /* the module that defines the record; NULL: it is defined
			 in a header file */
	char *name;
	struct inv_record_field *fields;
	size_t n;
};

struct inv_records {
	struct inv_record_def *first;
};

void inv_records_release(struct inv_records *rs);

/*
 * inv_records_add adds a record without fields; inv_record_add_field adds a
 * field to a record. The names have `len' bytes. Both functions return NULL if
 * there is no memory.
 */
struct inv_record_def *inv_records_add(struct inv_records *rs,
				       const char *module, const char *name,
				       size_t len);
struct inv_record_field *inv_record_add_field(struct inv_record_def *r,
					      const char *name, size_t len);

/*
 * Adds the records that the text of a header file defines.  Conditions such as
 * -ifdef are ignored, and macros are not expanded.  Returns 0, INV_ENOMEM, or
 * INV_EINVAL with a message about the record and the reason.
 */
int inv_records_parse(struct inv_records *rs, const char *text,
		      struct inv_err *err);

/*
 * Finds the definition of the record `name' in `module' or in a header file. If
 * `any' is true, and neither defines the record, searches all other modules,
 * too. Returns NULL if there is no definition. If there are different
 * definitions, sets *twice to true and returns NULL.
 */
const struct inv_record_def *inv_records_find(const struct inv_records *rs,
					      const char *module,
					      const char *name, bool any,
					      bool *twice);

#endif
