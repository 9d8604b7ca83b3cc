/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_GLOB_H
#define INV_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns true if the text of len bytes matches the wildcard `glob'. In
 * `glob', a star stands for any number of characters, including none. Takes at
 * most len * strlen(glob) steps: after a mismatch, only the last star is tried
 * again, and then stands for one character more.
 */
static inline bool inv_glob(const char *glob, const char *text, size_t len)
{
	const char *end = text + len, *star = NULL, *from = text;

	while (text < end) {
		if (*glob == '*') {
			star = ++glob;
			from = text;
		} else if (*glob && *glob == *text) {
			glob++;
			text++;
		} else if (star) {
			glob = star;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

#endif
