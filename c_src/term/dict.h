/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_DICT_H
#define INV_TERM_DICT_H

#include <stddef.h>
#include <stdint.h>

#include "abi/term.h"
#include "base/err.h"

/*
 * A packet's dictionary (abi/term.h): what the numbers in its terms stand for.
 *
 * One is used for packet after packet and keeps its memory.  Its entries point
 * into the bytes it was parsed from, which have to stay where they are for as
 * long as it, and any cursor that uses it, is in use.  Not to be shared by
 * threads while it is parsed; afterwards it is only read.
 *
 * All zero is an empty one.
 */
struct inv_dict_entry {
	uint8_t kind;  /* enum inv_def */
	uint8_t plain; /* ATOM: printed without quotes, whatever the options */
	uint16_t len;  /* of bytes */
	const uint8_t *bytes; /* ATOM, NODE: the name, valid UTF-8 */
	uint64_t number; /* PID, PORT: its number; NODE: as it is printed */
	uint64_t serial; /* PID: serial; NODE: creation */
};

struct inv_dict {
	uint32_t n;
	/* private */
	uint32_t cap;
	struct inv_dict_entry *entries; /* the newest first, as they lie */
};

/*
 * Takes the definitions [p, p + len) of a packet in place of what was there.
 * INV_EDAMAGED when they make no sense: the dictionary is empty then;
 * INV_ENOMEM.
 */
int inv_dict_parse(struct inv_dict *d, const uint8_t *p, size_t len,
		   struct inv_err *err);

/* Empty; keeps the memory. */
void inv_dict_reset(struct inv_dict *d);

/* Frees the memory.  NULL is let be. */
void inv_dict_release(struct inv_dict *d);

/* The entry of that number, or NULL. */
static inline const struct inv_dict_entry *inv_dict_get(
	const struct inv_dict *d, uint64_t number)
{
	return number < d->n ? &d->entries[d->n - 1 - number] : 0;
}

/*
 * The NODE entry of the node that the recording node prints as `printed` (the
 * X of <X.1.0>), or NULL.  Looks through all entries: not for hot use.
 */
const struct inv_dict_entry *inv_dict_node(const struct inv_dict *d,
					   uint64_t printed);

#endif
