/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FUZZ_LOG_REPAIR_H
#define INV_FUZZ_LOG_REPAIR_H

#include <stdint.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "abi/log.h"

/* Corrects the checksums of a log wherever its lengths permit this, so that
 * a reader does not skip everything that a fuzzer has changed. */
static inline uint64_t repair_head(uint8_t *p, uint64_t size)
{
	struct inv_log_head h;
	uint64_t sum;

	if (size < sizeof(h) + 8)
		return 0;
	memcpy(&h, p, sizeof(h));
	if (h.head_len < sizeof(h) + 8 || h.head_len > size)
		return 0;
	sum = XXH64(p, h.head_len - 8, 0);
	memcpy(p + h.head_len - 8, &sum, 8);
	return h.head_len;
}

static inline void repair(uint8_t *p, uint64_t size)
{
	uint64_t off = repair_head(p, size);
	struct inv_log_packet h;

	while (off && off <= size && size - off >= sizeof(h)) {
		memcpy(&h, p + off, sizeof(h));
		if (h.sync != INV_LOG_SYNC || h.head_len < sizeof(h) ||
		    h.head_len > size - off ||
		    h.body_len > size - off - h.head_len)
			return;
		h.body_sum = XXH64(p + off + h.head_len, h.body_len, 0);
		h.head_sum =
			XXH64(&h, offsetof(struct inv_log_packet, head_sum), 0);
		memcpy(p + off, &h, sizeof(h));
		off += (uint64_t)h.head_len + h.body_len;
	}
}

#endif
