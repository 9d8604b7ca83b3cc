/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_LIKELY_H
#define INV_BASE_LIKELY_H

/* What nearly every event takes, for the compiler to lay out straight. */
#define inv_likely(x) __builtin_expect(!!(x), 1)
#define inv_unlikely(x) __builtin_expect(!!(x), 0)

#endif
