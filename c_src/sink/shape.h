/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_SHAPE_H
#define INV_SINK_SHAPE_H

#include <stddef.h>

#include "base/buf.h"

/*
 * Appends the kind of a message. `text' is the message as a printed term. The
 * kind is the tag of a tuple, without the values in the tuple: the kind of
 * {order,7,[jam]} is "order".
 *
 * A tuple that has a pid or a reference among its first two elements, or whose
 * tag begins with $, is an envelope: the kind of its last element is appended,
 * too. {'$gen_call',{<0.88.0>,#Ref<0.1.2.3>},{order,7}} is "'$gen_call' order".
 */
void inv_shape_put(const char *text, size_t len, struct inv_buf *out);

#endif
