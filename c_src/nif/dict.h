/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_DICT_H
#define INV_NIF_DICT_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * The dictionary of the packet that a thread is writing: atoms, pids, ports,
 * nodes and functions that the packet defines, with their numbers. Each ring
 * has one such dictionary, used only by the ring's thread.
 *
 * The dictionary is a table with one entry for each hash. If two keys have the
 * same hash, the later key replaces the earlier one. If the earlier key occurs
 * again, it is defined again, under another number, which only costs bytes.
 * Each packet starts with an empty table. To empty the table takes little time,
 * compared with the time for recording the packet's events.
 */
#define INV_DICT_SLOTS 1024u

#define INV_DICT_FUNCTIONS 256u

struct inv_packet_dict {
	uint32_t n; /* how many definitions the packet has */
	struct {
		uint64_t key; /* 0: the entry is empty (no key is 0) */
		uint64_t number;
	} slots[INV_DICT_SLOTS];
	/* The functions, in a hash table of the same kind. */
	struct inv_known_function {
		uint64_t module; /* 0: an empty entry */
		uint64_t function;
		uint32_t arity;
		uint32_t number;
	} functions[INV_DICT_FUNCTIONS];
};

static inline void inv_packet_dict_clear(struct inv_packet_dict *d)
{
	d->n = 0;
	memset(d->slots, 0, sizeof(d->slots));
	memset(d->functions, 0, sizeof(d->functions));
}

static inline unsigned inv_packet_dict_slot(uint64_t key)
{
	return (unsigned)(key * 0x9e3779b97f4a7c15u >> 54);
}

/* Stores the key's number in *number. Returns false if the key has no
 * number. */
static inline bool inv_packet_dict_find(const struct inv_packet_dict *d,
					uint64_t key, uint32_t *number)
{
	unsigned i = inv_packet_dict_slot(key);

	*number = (uint32_t)d->slots[i].number;
	return d->slots[i].key == key;
}

/* Gives the key the next number, and returns it. */
static inline uint32_t inv_packet_dict_add(struct inv_packet_dict *d,
					   uint64_t key)
{
	unsigned i = inv_packet_dict_slot(key);

	d->slots[i].key = key;
	d->slots[i].number = d->n;
	return d->n++;
}

/* Returns the entry of the function's hash. The caller checks whether the entry
 * is empty, has this function, or has another function with the same hash. */
static inline struct inv_known_function *inv_packet_dict_function(
	struct inv_packet_dict *d, uint64_t module, uint64_t function,
	uint32_t arity)
{
	uint64_t key = (module + arity) * 31 + function;

	return &d->functions[key * 0x9e3779b97f4a7c15u >> 56];
}

#endif
