/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_ANCHOR_H
#define INV_NIF_ANCHOR_H

#include "abi/log.h"

/* Reads the VM's and the system's clocks at (nearly) one instant. */
struct inv_anchor inv_anchor_take(void);

#endif
