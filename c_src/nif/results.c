/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/results.h"

#include <stdatomic.h>

#include "abi/event.h"
#include "base/likely.h"
#include "nif/atoms.h"
#include "nif/bound_count.h"
#include "nif/tally.h"
#include "nif/tracer.h"
#include "nif/value_key.h"

static enum inv_outcome count(struct inv_tracer *t, uint32_t thread,
			      const struct inv_tracer_event *te,
			      ERL_NIF_TERM value, enum inv_count_of of)
{
	struct inv_tally_key key;

	if (!value)
		return INV_BAD;
	inv_value_key_of(t, thread, te->env, value, of, &key);
	inv_tally_value(t, thread, &key);
	return INV_TAKEN;
}

enum inv_outcome inv_results_event(struct inv_tracer *t, uint32_t thread,
				   struct inv_arrival *a)
{
	const struct inv_tracer_event *te = inv_arrival_whole(a);
	enum inv_tag tag = inv_atoms_tag(te->tag);
	struct inv_tracer_event plain;
	struct inv_bound_call call;
	/* If there is no table of open calls, all ends of calls are counted. */
	enum inv_bound bound = INV_BOUND_ENDS;

	if (tag == INV_TAG_EXIT)
		return count(t, thread, te, te->content, INV_COUNT_VALUE);
	/* Acquire: pairs with the release in inv_bound_ends(). */
	if (inv_likely(atomic_load_explicit(&t->open_calls,
					    memory_order_acquire) != NULL))
		bound = inv_bound_count(t, tag, &te, &plain, &call);
	if (bound == INV_BOUND_HOLDS)
		return INV_HELD;
	if (bound == INV_BOUND_LEAVE_OUT)
		return INV_TAKEN;
	if (tag == INV_TAG_RETURN_FROM)
		return count(t, thread, te, te->extra, INV_COUNT_VALUE);
	if (tag == INV_TAG_EXCEPTION_FROM)
		return count(t, thread, te, te->extra, INV_COUNT_EXCEPTION);
	return INV_TAKEN;
}
