/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_KEPT_H
#define INV_NIF_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "nif/encode.h"

/*
 * Kept terms are packed terms (abi/term.h) that are not in a packet yet. An
 * encoder without a dictionary (struct inv_encoder) writes them. Where a packed
 * term contains a number of the packet's dictionary, a kept term contains the
 * VM's term itself, or the definition of the node (nif/put.h). So a kept term
 * is valid for each packet: the process can move to another thread before the
 * term is written into a packet of that thread.
 */

/* Appends n bytes of kept terms as packed terms. Returns false if they do not
 * fit into the packet. */
bool inv_kept_terms(struct inv_encoder *e, const uint8_t *p, uint32_t n);

#endif
