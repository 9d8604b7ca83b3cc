/* SPDX-License-Identifier: Apache-2.0 */
#include "log/wrapset.h"

#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool inv_wrap_name_parse(struct inv_wrap_name *w, const char *name)
{
	const char *slash = strrchr(name, '/');
	size_t base = slash ? (size_t)(slash + 1 - name) : 0;
	size_t end = strlen(name);

	w->name = name;
	w->number = 0;
	while (end > base && !is_digit(name[end - 1]))
		end--;
	w->digits = end;
	while (w->digits > base && is_digit(name[w->digits - 1]))
		w->digits--;
	w->n_digits = end - w->digits;
	for (size_t i = w->digits; i < end; i++)
		if (__builtin_mul_overflow(w->number, 10u, &w->number) ||
		    __builtin_add_overflow(w->number, (unsigned)(name[i] - '0'),
					   &w->number))
			return false;
	return w->n_digits > 0;
}

bool inv_wrap_name_alike(const struct inv_wrap_name *a,
			 const struct inv_wrap_name *b)
{
	return a->digits == b->digits &&
	       !strncmp(a->name, b->name, a->digits) &&
	       !strcmp(a->name + a->digits + a->n_digits,
		       b->name + b->digits + b->n_digits);
}

/* An insertion sort, because sets are small. */
static void sort_by_number(const struct inv_wrap_name *names, uint32_t *index,
			   uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint32_t x = index[i];
		uint32_t k = i;

		for (; k && names[index[k - 1]].number > names[x].number; k--)
			index[k] = index[k - 1];
		index[k] = x;
	}
}

static void reverse(uint32_t *index, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t x = index[i];

		index[i] = index[n - 1 - i];
		index[n - 1 - i] = x;
	}
}

void inv_wrap_sort(const struct inv_wrap_name *names, uint32_t *index,
		   uint32_t n)
{
	uint32_t gap = 0;

	sort_by_number(names, index, n);
	while (gap < n && names[index[gap]].number == gap)
		gap++;
	if (!gap || gap == n)
		return;
	/* Three reversals rotate the array left by `gap' places. */
	reverse(index, gap);
	reverse(index + gap, n - gap);
	reverse(index, n);
}
