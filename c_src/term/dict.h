/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_DICT_H
#define INV_TERM_DICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/term.h"
#include "base/err.h"

/*
 * A packet's dictionary (abi/term.h): maps the dictionary numbers in the
 * packet's terms to atoms, pids, ports, functions and nodes.
 *
 * One struct can be used for one packet after another, and keeps its memory.
 * The entries point into the parsed bytes. So these bytes must stay valid while
 * the dictionary, or a cursor with this dictionary, is in use. Several threads
 * may read a dictionary at a time; only inv_dict_parse, _clear, _set and _sort
 * change it.
 *
 * A struct of zeros is an empty dictionary.
 */
struct inv_dict_entry {
	uint8_t kind;	      /* enum inv_def */
	uint8_t plain;	      /* ATOM: every release prints it without quotes */
	uint8_t arity;	      /* FUNCTION: the arity */
	uint16_t len;	      /* length of bytes */
	const uint8_t *bytes; /* ATOM, NODE: the name, valid UTF-8 */
	uint64_t number;      /* PID, PORT: number; NODE: X of <X.1.0>;
				 FUNCTION: dictionary number of the module */
	uint64_t serial;      /* PID: serial; NODE: creation; FUNCTION:
				 dictionary number of the function's name */
	uint64_t hash; /* FUNCTION: the result of inv_function_hash; ATOM:
				 private to inv_dict_parse */
};

/* A function of the dictionary. */
struct inv_dict_function {
	const struct inv_dict_entry *module; /* ATOM */
	const struct inv_dict_entry *function;
	uint32_t arity; /* 0..255 */
	uint64_t hash;	/* the result of inv_function_hash */
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
	uint32_t *nodes; /* indices of the NODE entries, sorted by their
			  * `number'; if two have the same number, the newer
			  * entry comes first */
	uint32_t n_nodes;
	uint32_t cap_nodes;
	uint32_t *set; /* numbers of the entries that inv_dict_set has set */
	uint32_t n_set;
	uint32_t cap_set;
};

/*
 * Replaces the contents by the definitions in [p, p + len). Returns 0. On an
 * error the dictionary is empty; returns INV_ENOMEM, or INV_EDAMAGED if a
 * definition is invalid.
 */
int inv_dict_parse(struct inv_dict *d, const uint8_t *p, size_t len,
		   struct inv_err *err);

/*
 * These functions set the entries of a dictionary one by one. The struct must
 * not also be used with inv_dict_parse. inv_dict_clear removes all entries, and
 * makes room for entries with numbers below n; its time depends on how many
 * entries were set, not on n. inv_dict_set sets an entry that was not set since
 * inv_dict_clear. Call inv_dict_sort after the last entry was set. The first
 * two functions return 0 or INV_ENOMEM.
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

/* Returns the dictionary number of an entry of d. */
static inline uint32_t inv_dict_number(const struct inv_dict *d,
				       const struct inv_dict_entry *e)
{
	return d->n - 1 - (uint32_t)(e - d->entries);
}

/* Sets *f to the function with this dictionary number. Returns false if there
 * is no such function, or if its atoms are not in the dictionary. */
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
