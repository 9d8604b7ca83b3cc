/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_ENCODE_H
#define INV_NODE_ENCODE_H

#include <ei.h>
#include <stddef.h>

#include "base/buf.h"
#include "term/etf.h"

/*
 * Each of these functions appends a term to a request, in the external format
 * without the version byte. term/etf.h has functions for other types.
 */
void inv_put_atom(struct inv_buf *out, const char *name);
void inv_put_text(struct inv_buf *out, const char *s); /* a binary */
/* a list of binaries */
void inv_put_texts(struct inv_buf *out, const char *const *v, size_t n);
void inv_put_pid(struct inv_buf *out, const erlang_pid *pid);
void inv_put_ref(struct inv_buf *out, const erlang_ref *ref);

#endif
