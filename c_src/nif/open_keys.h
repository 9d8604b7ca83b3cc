/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_OPEN_KEYS_H
#define INV_NIF_OPEN_KEYS_H

#include <stdint.h>

#include "abi/tracer_call.h"
#include "vm/tally.h"

/*
 * Keys of open calls that are values of an expression (nif/value_key.h). A value
 * is known when a call begins, and needed when the call ends, perhaps in another
 * thread. So the thread in which the call begins keeps the key and the bytes of
 * the value, and the stack of open calls (vm/spans.h) has the key's number.
 *
 * The keys are those of a tally (vm/tally.h), which counts the beginnings of
 * calls. Keys beyond its bound have the number INV_OPEN_KEYS_OTHERS.
 */
#define INV_OPEN_KEYS_OTHERS 0u

struct inv_tracer;

/* Returns the number of an event's key in the thread `part'. Returns false if the
 * event has no value. Only this thread may call it. */
bool inv_open_keys_number(struct inv_tracer *t, struct inv_tally *keys,
			  uint32_t part, const struct inv_tracer_event *te,
			  uint32_t *number);

/* Returns the key with this number, which is not INV_OPEN_KEYS_OTHERS. */
const struct inv_tally_key *inv_open_keys_get(const struct inv_tally *keys,
					      uint32_t number);

#endif
