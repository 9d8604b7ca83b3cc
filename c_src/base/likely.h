/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_LIKELY_H
#define INV_BASE_LIKELY_H

/*
 * inv_likely tells the compiler that x is nearly always true, inv_unlikely that
 * x is nearly always false. The code of the frequent case then runs without a
 * jump.
 */
#define inv_likely(x) __builtin_expect(!!(x), 1)
#define inv_unlikely(x) __builtin_expect(!!(x), 0)

/* Mark a variable of the NIF with INV_HIDDEN if a header declares the variable.
 * The code of the NIF then computes the variable's address without the global
 * offset table. */
#define INV_HIDDEN __attribute__((visibility("hidden")))

/*
 * Mark a small function with INV_HOT if a program calls it many times for each
 * event. In a large program gcc by itself inlines only some of these functions.
 * The attribute always_inline forces gcc to inline all of them. In the NIF,
 * INV_HOT does not have this attribute: the NIF calls these functions rarely,
 * and the NIF must be small, because the command sends it to nodes.
 */
#ifdef INV_IN_VM
#define INV_HOT static inline
#else
#define INV_HOT static inline __attribute__((always_inline))
#endif

#endif
