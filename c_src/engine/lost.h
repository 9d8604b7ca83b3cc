/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_LOST_H
#define INV_ENGINE_LOST_H

#include <stdint.h>

/*
 * What the engine's tables had no room for, and what that has cost.  The server
 * looks at it, and tells.
 */
enum inv_shortage {
	INV_SHORTAGE_PROFILE, /* flags that a process should have got */
	INV_SHORTAGE_FRAME,   /* calls whose ends are for nobody */
	INV_SHORTAGE_PLACE,   /* two threads wanted a process' place at once */
	INV_SHORTAGE_NOTE,    /* counters that a server may leave behind */
	INV_SHORTAGES
};

void inv_shortage(enum inv_shortage what);

/* How often, since the engine was started. */
uint64_t inv_shortage_count(enum inv_shortage what);
void inv_shortage_clear(void);

#endif
