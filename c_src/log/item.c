/* SPDX-License-Identifier: Apache-2.0 */
#include "log/item.h"

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
