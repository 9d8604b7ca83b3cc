/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_WRAPSET_H
#define INV_LOG_WRAPSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Wrap sets of OTP's trace port: files with names Name ++ N ++ Tail. The
 * numbers N run from 0 to a maximum, and then start again at 0. From then on,
 * at least one number is always missing. The files after the first missing
 * number are the oldest.
 */

/*
 * A file name with its number, which is the last run of digits after the last
 * '/'. inv_wrap_name_parse returns false if the name has no number, or if the
 * number is too large.
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
 * index[0 .. n) are indexes into `names'. Sorts them in the order in which the
 * files were written. If no file has the number 0, sorts them by number.
 */
void inv_wrap_sort(const struct inv_wrap_name *names, uint32_t *index,
		   uint32_t n);

#endif
