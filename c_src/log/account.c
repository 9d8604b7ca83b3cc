/* SPDX-License-Identifier: Apache-2.0 */
#include "log/account.h"

static void add_loss(struct inv_loss_list *out, uint64_t n, unsigned reason)
{
	if (!n)
		return;
	for (unsigned i = 0; i < out->n; i++)
		if (out->at[i].reason == reason) {
			out->at[i].n += n;
			return;
		}
	out->at[out->n].n = n;
	out->at[out->n++].reason = reason;
}

/* Returns true if events that are lost for this reason were numbered before
 * they were lost, so that the loss leaves a gap in the numbers. */
static bool numbered(unsigned reason)
{
	return reason == INV_LOSS_OVERWRITTEN || reason == INV_LOSS_UNWRITTEN ||
	       reason == INV_LOSS_DAMAGED;
}

static void counters(struct inv_account *a, const uint64_t *dropped,
		     struct inv_loss_list *out)
{
	for (unsigned i = 0; i < INV_LOSS_COUNT; i++) {
		uint64_t grown;

		if (dropped[i] <= a->known[i])
			continue;
		grown = dropped[i] - a->known[i];
		a->known[i] = dropped[i];
		if (numbered(i))
			a->credit += grown;
		add_loss(out, grown, i);
	}
}

/* Accounts for n events that were recorded but are missing in the log: they are
 * unreadable, or were in files that rotation deleted. */
static void absent(struct inv_account *a, uint64_t n, bool rotated,
		   struct inv_loss_list *out)
{
	a->recorded += n;
	if (rotated && !a->begun) {
		a->rotated += n;
	} else {
		a->unreadable += n;
		add_loss(out, n, INV_LOST_UNREADABLE);
	}
}

void inv_account_packet(struct inv_account *a, const struct inv_log_packet *h,
			bool rotated, struct inv_loss_list *out, uint32_t *skip)
{
	uint64_t gap, explained;

	*skip = 0;
	counters(a, h->dropped, out);
	if (h->first_event < a->next_event) {
		uint64_t twice = a->next_event - h->first_event;

		*skip = twice < h->n_events ? (uint32_t)twice : h->n_events;
	} else {
		gap = h->first_event - a->next_event;
		explained = gap < a->credit ? gap : a->credit;
		a->credit -= explained;
		absent(a, gap - explained, rotated, out);
		a->next_event = h->first_event;
	}
	a->begun = true;
}

void inv_account_unreadable(struct inv_account *a, uint64_t n,
			    struct inv_loss_list *out)
{
	a->next_event += n;
	a->recorded += n;
	a->unreadable += n;
	add_loss(out, n, INV_LOST_UNREADABLE);
}

void inv_account_totals(struct inv_account *a, const struct inv_log_totals *t,
			bool rotated, struct inv_loss_list *out)
{
	counters(a, t->dropped, out);
	if (t->recorded > a->recorded) {
		uint64_t n = t->recorded - a->recorded;

		a->next_event += n;
		absent(a, n, rotated, out);
	}
}
