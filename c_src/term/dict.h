/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_DICT_H
#define INV_TERM_DICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/term.h"
#include "base/err.h"

/*
 * A packet's dictionary (abi/term.h): maps the dictionary numbers in its terms
 * to atoms, pids, ports, functions and nodes.
 *
 * One struct is used for packet after packet and keeps its memory. Its entries
 * point into the parsed bytes, which must stay valid as long as the dictionary,
 * or a cursor that uses it, is in use. Only inv_dict_parse changes it, so
 * several threads may read it.
 *
 * All zero is an empty dictionary.
 */
struct inv_dict_entry {
	uint8_t kind;  /* enum inv_def */
	uint8_t plain; /* ATOM: printed without quotes in every release */
	uint8_t arity; /* FUNCTION: the arity */
	uint16_t len;  /* length of bytes */
	const uint8_t *bytes; /* ATOM, NODE: the name, valid UTF-8 */
	uint64_t number;      /* PID, PORT: number; NODE: X of <X.1.0>;
				 FUNCTION: entry of the module */
	uint64_t serial;      /* PID: serial; NODE: creation; FUNCTION: entry of
				 the function's name */
	uint64_t hash; /* FUNCTION: inv_function_hash of it; ATOM: only for
				 inv_dict_parse */
};

/* A function of the dictionary. */
struct inv_dict_function {
	const struct inv_dict_entry *module; /* ATOM */
	const struct inv_dict_entry *function;
	uint32_t arity; /* 0..255 */
	uint64_t hash;	/* hash of the function, as inv_function_hash makes
			   it */
};

/* Returns a hash of a function, which is never 0. The names are UTF-8. */
uint64_t inv_function_hash(const uint8_t *module, size_t module_len,
			   const uint8_t *function, size_t function_len,
			   uint32_t arity);

struct inv_dict {
	uint32_t n;
	/* private */
	uint32_t cap;
	struct inv_dict_entry *entries; /* newest first, as in the packet */
	uint32_t *nodes; /* indices of the NODE entries, in the order of the
			  * nodes' numbers; if a number occurs twice, the newest
			  * entry comes first */
	uint32_t n_nodes;
	uint32_t cap_nodes;
	uint32_t *set; /* numbers of the entries that inv_dict_set has set */
	uint32_t n_set;
	uint32_t cap_set;
};

/*
 * Replaces the contents by the definitions in [p, p + len). Returns 0 or
 * INV_ENOMEM. INV_EDAMAGED: a definition is invalid; the dictionary is then
 * empty.
 */
int inv_dict_parse(struct inv_dict *d, const uint8_t *p, size_t len,
		   struct inv_err *err);

/*
 * These functions make a dictionary of single entries, in a struct that
 * inv_dict_parse does not use. inv_dict_clear removes all entries, and makes room
 * for entries with numbers below n; it takes no time for entries that
 * were not set. inv_dict_set sets one entry, which was not set before. Call
 * inv_dict_sort after the last one. They return 0 or INV_ENOMEM.
 */
int inv_dict_clear(struct inv_dict *d, uint32_t n);
int inv_dict_set(struct inv_dict *d, uint32_t number,
		 const struct inv_dict_entry *e);
void inv_dict_sort(struct inv_dict *d);

/* Frees the memory. NULL is allowed. */
void inv_dict_release(struct inv_dict *d);

/* Returns entry `number', or NULL if it does not exist. */
static inline const struct inv_dict_entry *inv_dict_get(
	const struct inv_dict *d, uint64_t number)
{
	return number < d->n ? &d->entries[d->n - 1 - number] : 0;
}

/* Returns the number of an entry of d. */
static inline uint32_t inv_dict_number(const struct inv_dict *d,
				       const struct inv_dict_entry *e)
{
	return d->n - 1 - (uint32_t)(e - d->entries);
}

/* Sets *f to the function with this number. Returns false if there is none, or
 * its atoms do not exist. */
static inline bool inv_dict_function(const struct inv_dict *d, uint64_t number,
				     struct inv_dict_function *f)
{
	const struct inv_dict_entry *e = inv_dict_get(d, number);

	if (!e || e->kind != INV_DEF_FUNCTION)
		return false;
	f->module = inv_dict_get(d, e->number);
	f->function = inv_dict_get(d, e->serial);
	f->arity = e->arity;
	f->hash = e->hash;
	return f->module && f->module->kind == INV_DEF_ATOM && f->function &&
	       f->function->kind == INV_DEF_ATOM;
}

/*
 * Returns the NODE entry of the node that the recording node prints as
 * `printed' (the X of <X.1.0>). Returns NULL if there is none.
 */
const struct inv_dict_entry *inv_dict_node(const struct inv_dict *d,
					   uint64_t printed);

#endif
