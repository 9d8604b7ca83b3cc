/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/atoms.h"

#include <stdint.h>

#define DEFINE(name, text) ERL_NIF_TERM inv_am_##name;
INV_ATOMS(DEFINE)
#undef DEFINE

/* A hash table with open addressing. At most a quarter of its slots are used,
 * so a look-up takes one or two probes. */
#define TAG_SLOTS 128u

static struct {
	ERL_NIF_TERM atom; /* 0: the slot is free (no atom is the word 0) */
	enum inv_tag tag;
} tags[TAG_SLOTS];

static unsigned tag_slot(ERL_NIF_TERM atom)
{
	return (unsigned)((uint64_t)atom * 0x9e3779b97f4a7c15u >> 57);
}

static void add_tag(ErlNifEnv *env, const char *text, enum inv_tag tag)
{
	ERL_NIF_TERM atom = enif_make_atom(env, text);
	unsigned i = tag_slot(atom);

	while (tags[i].atom && tags[i].atom != atom)
		i = (i + 1) % TAG_SLOTS;
	tags[i].atom = atom;
	tags[i].tag = tag;
}

void inv_atoms_init(ErlNifEnv *env)
{
#define MAKE(name, text) inv_am_##name = enif_make_atom(env, text);
	INV_ATOMS(MAKE)
#undef MAKE
#define ADD(name, number, text) add_tag(env, text, INV_TAG_##name);
	INV_TAGS(ADD)
#undef ADD
}

enum inv_tag inv_atoms_find(ERL_NIF_TERM atom)
{
	unsigned i = tag_slot(atom);

	for (; tags[i].atom; i = (i + 1) % TAG_SLOTS)
		if (tags[i].atom == atom)
			return tags[i].tag;
	return INV_TAG_OTHER;
}
