/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/json_cache.h"

#include <stdlib.h>

void inv_json_cache_release(struct inv_json_cache *c)
{
	free(c->parts);
	c->parts = NULL;
}

bool inv_json_cache_put(const struct inv_json_cache *c, const void *key,
			size_t key_len, uint64_t hash, struct inv_buf *out)
{
	const struct inv_json_part *p;

	if (!c->parts)
		return false;
	p = &c->parts[hash % INV_JSON_PARTS];
	if (p->key_len != key_len || memcmp(p->key, key, key_len) != 0)
		return false;
	inv_buf_put(out, p->text, p->len);
	return true;
}

void inv_json_cache_add(struct inv_json_cache *c, const void *key,
			size_t key_len, uint64_t hash,
			const struct inv_buf *out, size_t begin)
{
	size_t len = out->len - begin;
	struct inv_json_part *p;

	if (out->error || !key_len || key_len > INV_JSON_KEY_MAX ||
	    len > INV_JSON_PART_MAX)
		return;
	if (!c->parts)
		c->parts = calloc(INV_JSON_PARTS, sizeof(*c->parts));
	if (!c->parts)
		return;
	p = &c->parts[hash % INV_JSON_PARTS];
	p->key_len = (uint16_t)key_len;
	p->len = (uint16_t)len;
	memcpy(p->key, key, key_len);
	memcpy(p->text, out->data + begin, len);
}
