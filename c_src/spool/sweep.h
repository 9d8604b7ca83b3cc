/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_SWEEP_H
#define INV_SPOOL_SWEEP_H

#include <stddef.h>

/*
 * Removes from the n directories `parents' the places of dead nodes of this
 * user (spool/place.h). Takes at most two seconds. Recordings stay. Also
 * removes unfinished places that are older than a minute, because their VM died
 * while it created them.
 */
void inv_sweep(const char *const *parents, size_t n);

#endif
