/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_LOST_H
#define INV_ENGINE_LOST_H

#include <stdint.h>

/*
 * What the engine's tables had no room for, and what that has cost.  The server
 * looks at it, and tells.
 */
enum inv_lost {
	INV_LOST_PROFILE, /* flags that a process should have got */
	INV_LOST_FRAME,	  /* calls whose ends are for nobody */
	INV_LOST_PLACE,	  /* two threads wanted a process' place at once */
	INV_LOST_NOTE,	  /* counters that a server may leave behind */
	INV_LOSTS
};

void inv_lost(enum inv_lost what);

/* How often, since the engine was started. */
uint64_t inv_lost_count(enum inv_lost what);
void inv_lost_clear(void);

#endif
