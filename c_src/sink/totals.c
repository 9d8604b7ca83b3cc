/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/totals.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The counts of INV_SYSTEM_TAGS follow those of INV_TAGS. The last count is for
 * all unknown tags. */
#define OTHER (INV_TAG_COUNT + INV_SYSTEM_COUNT)
#define TAGS (OTHER + 1)

struct inv_totals_node {
	const struct inv_node *node; /* NULL: no event of this node yet */
	uint64_t lost;
	uint64_t tags[TAGS];
};

static int grow(struct inv_totals *t, uint32_t n)
{
	struct inv_totals_node *v = realloc(t->v, n * sizeof(*v));

	if (!v)
		return INV_ENOMEM;
	memset(v + t->n, 0, (n - t->n) * sizeof(*v));
	t->v = v;
	t->n = n;
	return 0;
}

int inv_totals_add(struct inv_totals *t, const struct inv_item *it)
{
	uint32_t at = it->node->number;
	struct inv_totals_node *node;
	size_t len;

	if (at >= t->n && grow(t, at + 1))
		return INV_ENOMEM;
	node = &t->v[at];
	node->node = it->node;
	if (it->kind == INV_ITEM_LOSS)
		node->lost += it->lost.reason == INV_LOSS_LIMIT ? 0 :
								  it->lost.n;
	else
		node->tags[inv_tag_text(it->ev.tag, &len) ?
				   it->ev.tag :
				   INV_TAG_COUNT + inv_event_system(&it->ev)]++;
	return 0;
}

/* Returns the tag with the highest count. The caller sets the count of a tag to
 * 0 when it has printed the tag. */
static unsigned most(const uint64_t *tags)
{
	unsigned best = 0;

	for (unsigned i = 1; i < TAGS; i++)
		if (tags[i] > tags[best])
			best = i;
	return best;
}

static void put_tag(struct inv_buf *out, unsigned tag)
{
	const char *text;
	size_t len;

	if (tag == OTHER) {
		inv_buf_puts(out, "other");
		return;
	}
	text = tag < INV_TAG_COUNT ? inv_tag_text(tag, &len) :
				     inv_system_text(tag - INV_TAG_COUNT, &len);
	inv_buf_put(out, text, len);
}

static void put_node(struct inv_buf *out, const struct inv_totals_node *node)
{
	uint64_t left[TAGS];
	const char *sep = ": ";
	uint64_t events = 0;

	memcpy(left, node->tags, sizeof(left));
	for (unsigned i = 0; i < TAGS; i++)
		events += left[i];
	inv_buf_printf(out, "-- %s: %" PRIu64 " event%s, %" PRIu64 " lost",
		       node->node->name, events, events == 1 ? "" : "s",
		       node->lost);
	for (unsigned tag; left[tag = most(left)]; left[tag] = 0) {
		inv_buf_printf(out, "%s%" PRIu64 " ", sep, left[tag]);
		put_tag(out, tag);
		sep = ", ";
	}
	inv_buf_putc(out, '\n');
}

void inv_totals_text(const struct inv_totals *t, struct inv_buf *out)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->v[i].node)
			put_node(out, &t->v[i]);
}

void inv_totals_release(struct inv_totals *t)
{
	free(t->v);
	memset(t, 0, sizeof(*t));
}
