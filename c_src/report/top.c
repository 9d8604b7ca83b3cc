/* SPDX-License-Identifier: Apache-2.0 */
/* A heap whose root is the lowest entry. */
#include "report/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void inv_top_release(struct inv_top *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i]);
	free(t->v);
	memset(t, 0, sizeof(*t));
}

/* Returns true if a is lower than b, and so is removed before b. */
static bool is_lower(const struct inv_top_entry *a,
		     const struct inv_top_entry *b)
{
	if (a->value != b->value)
		return a->value < b->value;
	return a->order > b->order;
}

static void swap(struct inv_top *t, size_t i, size_t k)
{
	struct inv_top_entry *x = t->v[i];

	t->v[i] = t->v[k];
	t->v[k] = x;
}

static void up(struct inv_top *t, size_t i)
{
	while (i && is_lower(t->v[i], t->v[(i - 1) / 2])) {
		swap(t, i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

static void down(struct inv_top *t)
{
	size_t i = 0;

	for (;;) {
		size_t low = i, left = 2 * i + 1;

		if (left < t->n && is_lower(t->v[left], t->v[low]))
			low = left;
		if (left + 1 < t->n && is_lower(t->v[left + 1], t->v[low]))
			low = left + 1;
		if (low == i)
			return;
		swap(t, i, low);
		i = low;
	}
}

int inv_top_add(struct inv_top *t, void *entry)
{
	if (t->n == t->most) {
		free(t->v[0]);
		t->v[0] = entry;
		down(t);
		return 0;
	}
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 16;
		struct inv_top_entry **v = realloc(t->v, cap * sizeof(void *));

		if (!v)
			return INV_ENOMEM;
		t->v = v;
		t->cap = cap;
	}
	t->v[t->n++] = entry;
	up(t, t->n - 1);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct inv_top_entry *x = *(struct inv_top_entry *const *)a;
	const struct inv_top_entry *y = *(struct inv_top_entry *const *)b;

	if (is_lower(y, x))
		return -1;
	return is_lower(x, y);
}

void inv_top_sort(struct inv_top *t)
{
	if (t->n)
		qsort(t->v, t->n, sizeof(void *), compare);
}
