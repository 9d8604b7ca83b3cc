/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_LOST_H
#define INV_ENGINE_LOST_H

#include <stdint.h>

/*
 * Counts events and calls that were lost because a table of the engine was
 * full, or because another thread used an entry of the table. The server reads
 * the counts and logs them.
 */
enum inv_shortage {
	INV_SHORTAGE_PROFILE, /* a process did not get flags, because there were
				 too many profiles */
	INV_SHORTAGE_FRAME,   /* the end of a call is not reported, because the
				 shadow stack had no room for the call */
	INV_SHORTAGE_PLACE,   /* a process got no entry, because another thread
				 was changing that entry */
	INV_SHORTAGE_NOTE,    /* a counter has no note, so it stays in the VM if
				 the server is killed */
	INV_SHORTAGES
};

void inv_shortage(enum inv_shortage what);

/* Returns how often `what' has happened since the last
 * inv_shortage_clear(), which the start of a server calls. */
uint64_t inv_shortage_count(enum inv_shortage what);
void inv_shortage_clear(void);

#endif
