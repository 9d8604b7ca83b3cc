/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_SWEEP_H
#define INV_SPOOL_SWEEP_H

#include <stddef.h>

/*
 * Removes the places (spool/place.h) of this user's dead nodes from the n
 * directories `parents', but keeps the recordings in them. Also removes
 * unfinished places that are older than a minute, because their VM died while
 * it created them. Takes at most two seconds.
 */
void inv_sweep(const char *const *parents, size_t n);

#endif
