/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_LIKELY_H
#define INV_BASE_LIKELY_H

/*
 * Tells the compiler whether x is nearly always true (or false), so that the
 * code of the frequent case runs without a jump.
 */
#define inv_likely(x) __builtin_expect(!!(x), 1)
#define inv_unlikely(x) __builtin_expect(!!(x), 0)

/* For variables of the NIF that a header declares. The code of the NIF can then
 * compute their addresses without the global offset table. */
#define INV_HIDDEN __attribute__((visibility("hidden")))

/*
 * For small functions that a program calls many times for each event. In a
 * large program gcc inlines only some of them, so the attribute forces it to
 * inline all. The NIF does without the attribute: it calls these functions
 * rarely, and must be small, because the command sends it to nodes.
 */
#ifdef INV_IN_VM
#define INV_HOT static inline
#else
#define INV_HOT static inline __attribute__((always_inline))
#endif

#endif
