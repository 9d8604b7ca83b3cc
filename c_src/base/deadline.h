/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines: how long a program waits before it gives up. A test can shorten
 * them with an environment variable: if INVISO_TEST_DEADLINES has the value
 * "only in tests: 1/5", each deadline is a fifth of its usual time.
 * src/base/inviso_deadline.erl reads the same variable on nodes.
 */
#ifndef INV_BASE_DEADLINE_H
#define INV_BASE_DEADLINE_H

#include <stdint.h>

/* Returns `time', which can have any unit. If a test has set
 * INVISO_TEST_DEADLINES, returns the shortened time. */
uint64_t inv_deadline(uint64_t time);

#endif
