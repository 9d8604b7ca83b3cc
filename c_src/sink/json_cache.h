/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_JSON_CACHE_H
#define INV_SINK_JSON_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Parts of lines that occur in many lines, such as a process and its name. A
 * part is found by a key, which is compared byte by byte. A later part with the
 * same hash replaces an earlier one.
 *
 *	hit = inv_json_cache_put(&cache, key, key_len, hash, out);
 *	if (!hit) {
 *		begin = out->len;
 *		... append the part ...
 *		inv_json_cache_add(&cache, key, key_len, hash, out, begin);
 *	}
 */
#define INV_JSON_PARTS 256u
/* Longer keys and parts are not stored. */
#define INV_JSON_KEY_MAX 320u
#define INV_JSON_PART_MAX 1024u

struct inv_json_part {
	uint16_t key_len;
	uint16_t len;
	uint8_t key[INV_JSON_KEY_MAX];
	uint8_t text[INV_JSON_PART_MAX];
};

/* A struct of zeros is an empty cache. */
struct inv_json_cache {
	struct inv_json_part *parts; /* INV_JSON_PARTS parts, by hash; NULL
					until a part is added */
};

void inv_json_cache_release(struct inv_json_cache *c);

/* Appends the part with this key. Returns false if it is not stored. */
bool inv_json_cache_put(const struct inv_json_cache *c, const void *key,
			size_t key_len, uint64_t hash, struct inv_buf *out);
/* Stores the part from `begin' to the end of `out'. */
void inv_json_cache_add(struct inv_json_cache *c, const void *key,
			size_t key_len, uint64_t hash,
			const struct inv_buf *out, size_t begin);

#endif
