/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_LIKELY_H
#define INV_BASE_LIKELY_H

/*
 * Tells the compiler whether x is nearly always true (or false), so that the
 * code of the frequent case runs without a jump.
 */
#define inv_likely(x) __builtin_expect(!!(x), 1)
#define inv_unlikely(x) __builtin_expect(!!(x), 0)

/* Mark a variable of the NIF with this if a header declares the variable. The
 * code of the NIF then computes its address without the global offset table. */
#define INV_HIDDEN __attribute__((visibility("hidden")))

/*
 * Mark a small function with this if a program calls it many times for each
 * event. In a large program gcc by itself inlines only some of these functions.
 * The attribute forces gcc to inline all of them. In the NIF, INV_HOT has no
 * such attribute: the NIF calls these functions rarely, and must be small,
 * because the command sends it to nodes.
 */
#ifdef INV_IN_VM
#define INV_HOT static inline
#else
#define INV_HOT static inline __attribute__((always_inline))
#endif

#endif
