/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_SHAPE_H
#define INV_SINK_SHAPE_H

#include <stddef.h>

#include "base/buf.h"

/*
 * Appends what kind of message a printed term is: the tag of a tuple, without the
 * values in it. {order,7,[jam]} is "order".
 *
 * A tuple that has a pid or a reference among its first two elements, or whose tag
 * begins with $, is an envelope: what is in it, its last element, counts too.
 * {'$gen_call',{<0.88.0>,#Ref<0.1.2.3>},{order,7}} is "'$gen_call' order".
 */
void inv_shape_put(const char *text, size_t len, struct inv_buf *out);

#endif
