/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_JSONTEXT_H
#define INV_SINK_JSONTEXT_H

#include "base/buf.h"

/*
 * What is in out from `from` on, UTF-8, becomes the inside of a JSON string.
 * scratch is the caller's, to be used again; no memory shows in out->error.
 */
void inv_json_escape(struct inv_buf *out, size_t from, struct inv_buf *scratch);

#endif
