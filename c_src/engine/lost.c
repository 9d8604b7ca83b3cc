/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lost.h"

#include <stdatomic.h>

static _Atomic uint64_t counts[INV_SHORTAGES];

void inv_shortage(enum inv_shortage what)
{
	atomic_fetch_add_explicit(&counts[what], 1, memory_order_relaxed);
}

uint64_t inv_shortage_count(enum inv_shortage what)
{
	return atomic_load_explicit(&counts[what], memory_order_relaxed);
}

void inv_shortage_clear(void)
{
	unsigned i;

	for (i = 0; i < INV_SHORTAGES; i++)
		atomic_store(&counts[i], 0);
}
