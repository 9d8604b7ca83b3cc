/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/values.h"

#include "vm/pages.h"

#define CELLS_BYTES (INV_TALLY_CELLS * sizeof(struct inv_value))

struct inv_values *inv_values_make(uint32_t n_parts)
{
	size_t head = sizeof(struct inv_values) +
		      n_parts * sizeof(struct inv_value_part);
	size_t bytes = head + n_parts * CELLS_BYTES;
	struct inv_values *v = inv_pages_map(bytes);

	if (!v)
		return NULL;
	v->bytes = bytes;
	v->n_parts = n_parts;
	for (uint32_t i = 0; i < n_parts; i++)
		v->parts[i].cells = (struct inv_value *)((uint8_t *)v + head +
							 i * CELLS_BYTES);
	return v;
}

void inv_values_free(struct inv_values *v)
{
	if (v)
		inv_pages_unmap(v, v->bytes);
}

void inv_values_keep(struct inv_values *v, uint32_t part,
		     const struct inv_tally_part *keys,
		     const struct inv_tally_cell *c)
{
	v->parts[part].cells[c - keys->cells] = v->parts[part].now;
}

const struct inv_value *inv_values_of(const struct inv_values *v,
				      const struct inv_tally *keys,
				      const struct inv_tally_key *k)
{
	for (uint32_t i = 0; i < v->n_parts; i++) {
		const struct inv_tally_part *p = &keys->parts[i];
		const struct inv_tally_cell *c = inv_tally_find(p, k);

		if (c)
			return &v->parts[i].cells[c - p->cells];
	}
	return NULL;
}
