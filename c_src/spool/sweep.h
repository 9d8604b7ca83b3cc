/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_SWEEP_H
#define INV_SPOOL_SWEEP_H

#include <stddef.h>

/*
 * Removes from the directories what nodes of this user left that have died
 * (spool/place.h), within two seconds; recordings stay.  Also places that are
 * empty and older than a minute: their VM died while it made them.
 */
void inv_sweep(const char *const *parents, size_t n);

#endif
