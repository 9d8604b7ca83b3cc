/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines: how long a program waits before it gives up. A test can shorten
 * them with INVISO_TEST_DEADLINES='only in tests: 1/5';
 * src/base/inviso_deadline.erl reads the same variable on nodes.
 */
#ifndef INV_BASE_DEADLINE_H
#define INV_BASE_DEADLINE_H

#include <stdint.h>

/* Returns time, in any unit, shortened if a test set INVISO_TEST_DEADLINES. */
uint64_t inv_deadline(uint64_t time);

#endif
