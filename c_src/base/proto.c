/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proto.h"

void inv_proto_bytes(struct inv_buf *b, uint32_t field, const void *p, size_t n)
{
	uint8_t *w;

	if (n > INV_PROTO_MAX) {
		if (!b->error)
			b->error = INV_ETOOBIG;
		return;
	}
	w = inv_buf_reserve(b, INV_PROTO_TAG_MAX + INV_VARINT_MAX + n);
	if (!w)
		return;
	w = inv_proto_tag(w, field, INV_PROTO_BYTES);
	w = inv_varint_put(w, n);
	if (n)
		memcpy(w, p, n);
	b->len = (size_t)(w - b->data) + n;
}
