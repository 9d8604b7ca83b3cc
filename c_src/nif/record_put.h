/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_RECORD_PUT_H
#define INV_NIF_RECORD_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include "nif/encode.h"
#include "nif/record.h"

/*
 * Writes the record of an event (abi/event.h): its head and its terms. Returns
 * false if the record does not fit into the packet. `last_ns' is the time of
 * the packet's previous record. inv_record_put_large writes a record that is
 * alone in its packet.
 */
bool inv_record_put(struct inv_encoder *e, const struct inv_recording *ev,
		    uint64_t last_ns);
bool inv_record_put_large(struct inv_encoder *e,
			  const struct inv_recording *ev);

#endif
