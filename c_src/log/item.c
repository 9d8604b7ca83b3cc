/* SPDX-License-Identifier: Apache-2.0 */
#include "log/item.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t inv_node_key(const char *name, size_t len)
{
	return XXH3_64bits(name, len);
}

const char *inv_lost_text(unsigned reason)
{
	static const char *const texts[INV_LOST_COUNT] = {
#define LOSS_TEXT(name, number, text) [number] = text,
		INV_LOSSES(LOSS_TEXT)
#undef LOSS_TEXT
			[INV_LOST_UNREADABLE] = "unreadable",
		[INV_LOST_TRACER] = "tracer",
	};

	return reason < INV_LOST_COUNT ? texts[reason] : "unknown";
}
