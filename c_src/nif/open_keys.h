/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_OPEN_KEYS_H
#define INV_NIF_OPEN_KEYS_H

#include <stdint.h>

#include "abi/tracer_call.h"
#include "vm/tally.h"

/*
 * Keys of open calls. They are used if calls are timed, and the key of a call
 * in the tally is the value of an expression (nif/value_key.h). The match spec
 * computes the value when a call begins, and the tracer needs it when the call
 * ends, perhaps in another thread. So the thread in which the call begins
 * stores the key with the bytes of the value, and the stack of open calls
 * (vm/spans.h) contains the key's number.
 *
 * The keys are in a second tally (vm/tally.h), which counts the beginnings of
 * calls. If this tally has no room for a key, the key's number is
 * INV_OPEN_KEYS_OTHERS.
 */
#define INV_OPEN_KEYS_OTHERS 0u

struct inv_tracer;

/* Sets *number to the number of the event's key. `part' is the index of the
 * calling thread. Returns false if the event has no value. */
bool inv_open_keys_number(struct inv_tracer *t, struct inv_tally *keys,
			  uint32_t part, const struct inv_tracer_event *te,
			  uint32_t *number);

/* Returns the key with this number. The number must not be
 * INV_OPEN_KEYS_OTHERS. */
const struct inv_tally_key *inv_open_keys_get(const struct inv_tally *keys,
					      uint32_t number);

#endif
