/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/open_keys.h"

#include "nif/tracer.h"
#include "nif/value_key.h"

bool inv_open_keys_number(struct inv_tracer *t, struct inv_tally *keys,
			  uint32_t part, const struct inv_tracer_event *te,
			  uint32_t *number)
{
	struct inv_tally_part *p = &keys->parts[part];
	struct inv_tally_cell *c;
	struct inv_tally_key key;

	if (!inv_value_key(t, part, te, &key))
		return false;
	c = inv_value_cell(t->values, keys, part, &key);
	inv_tally_add(p, c);
	*number = c ? 1 + part * INV_TALLY_CELLS + (uint32_t)(c - p->cells) :
		      INV_OPEN_KEYS_OTHERS;
	return true;
}

const struct inv_tally_key *inv_open_keys_get(const struct inv_tally *keys,
					      uint32_t number)
{
	const struct inv_tally_part *p =
		&keys->parts[(number - 1) / INV_TALLY_CELLS];

	return &p->cells[(number - 1) % INV_TALLY_CELLS].key;
}
