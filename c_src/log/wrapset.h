/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_WRAPSET_H
#define INV_LOG_WRAPSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Wrap sets of OTP's trace port: files Name ++ N ++ Tail, where N runs from 0
 * to a maximum and then again; at least one number is always missing once it
 * has wrapped.  The files after the first missing number are the oldest.
 */

/*
 * A name's number: the last run of digits of what is after the last '/'.  false
 * when there is none, or when it is too large for a number.
 */
struct inv_wrap_name {
	const char *name; /* borrowed */
	size_t digits;	  /* where they begin in it */
	size_t n_digits;
	uint64_t number;
};
bool inv_wrap_name_parse(struct inv_wrap_name *w, const char *name);

/* Whether the two differ in their numbers only. */
bool inv_wrap_name_alike(const struct inv_wrap_name *a,
			 const struct inv_wrap_name *b);

/*
 * Puts index[0 .. n), which number names, into the order of writing.  A set
 * that does not begin with 0 has not wrapped: the order is that of the
 * numbers.
 */
void inv_wrap_sort(const struct inv_wrap_name *names, uint32_t *index,
		   uint32_t n);

#endif
