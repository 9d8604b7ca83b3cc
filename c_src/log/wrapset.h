/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_WRAPSET_H
#define INV_LOG_WRAPSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Wrap sets of OTP's trace port: files Name ++ N ++ Tail. N runs from 0 to a
 * maximum, and then starts again at 0. After a wrap, at least one number is
 * always missing. The files after the first missing number are the oldest.
 */

/*
 * The number in a file name: the last run of digits after the last '/'.
 * inv_wrap_name_parse returns false if the name has no number, or if the number
 * is too large.
 */
struct inv_wrap_name {
	const char *name; /* borrowed */
	size_t digits;	  /* index of the first digit in name */
	size_t n_digits;
	uint64_t number;
};
bool inv_wrap_name_parse(struct inv_wrap_name *w, const char *name);

/* Returns true if the names differ only in their numbers. */
bool inv_wrap_name_alike(const struct inv_wrap_name *a,
			 const struct inv_wrap_name *b);

/*
 * Sorts index[0 .. n), indexes into names, in the order in which the files were
 * written. A set without the number 0 is not a wrapped set, and is sorted by
 * number.
 */
void inv_wrap_sort(const struct inv_wrap_name *names, uint32_t *index,
		   uint32_t n);

#endif
