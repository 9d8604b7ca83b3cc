/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_LIKELY_H
#define INV_BASE_LIKELY_H

/*
 * Marks the branch that nearly every event takes, so that the compiler puts it
 * where no jump is needed.
 */
#define inv_likely(x) __builtin_expect(!!(x), 1)
#define inv_unlikely(x) __builtin_expect(!!(x), 0)

#endif
