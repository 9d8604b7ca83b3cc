/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_RECORD_PUT_H
#define INV_NIF_RECORD_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include "nif/encode.h"
#include "nif/record.h"

/*
 * Writes the record of an event (abi/event.h): its head and its terms. Returns
 * false in the same cases as inv_encode_term. `last_ns' is the time of the
 * record before it in the packet. A large record is alone in its packet.
 */
bool inv_record_put(struct inv_encoder *e, const struct inv_recording *ev,
		    uint64_t last_ns);
bool inv_record_put_large(struct inv_encoder *e,
			  const struct inv_recording *ev);

#endif
