/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_LIKELY_H
#define INV_BASE_LIKELY_H

/*
 * Marks the branch that nearly every event takes, so that the compiler puts it
 * where no jump is needed.
 */
#define inv_likely(x) __builtin_expect(!!(x), 1)
#define inv_unlikely(x) __builtin_expect(!!(x), 0)

/* For variables of the NIF in headers: an access needs no table of addresses. */
#define INV_HIDDEN __attribute__((visibility("hidden")))

/*
 * A small function that an event calls many times. gcc inlines fewer such
 * functions when a program is large, so it must be told to. The NIF calls them
 * rarely and has to be small, because it is pushed.
 */
#ifdef INV_IN_VM
#define INV_HOT static inline
#else
#define INV_HOT static inline __attribute__((always_inline))
#endif

#endif
