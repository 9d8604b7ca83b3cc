/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/pairs.h"

#include <stdlib.h>

#include "base/err.h"

int inv_pairs_init(struct inv_pairs *p)
{
	p->table = calloc(INV_PAIRS_PROCESSES, sizeof(*p->table));
	return p->table ? 0 : INV_ENOMEM;
}

void inv_pairs_release(struct inv_pairs *p)
{
	free(p->table);
	p->table = NULL;
}

void inv_pairs_call(struct inv_pairs *p, uint64_t pid, uint64_t mfa,
		    int64_t ts_ns)
{
	struct inv_pairs_process *x = &p->table[pid % INV_PAIRS_PROCESSES];
	struct inv_pairs_call *c;

	if (x->pid != pid) {
		x->pid = pid;
		x->kept = 0;
	}
	if (x->kept < INV_PAIRS_DEPTH)
		x->kept++;
	c = &x->calls[x->top++ % INV_PAIRS_DEPTH];
	c->mfa = mfa;
	c->ts_ns = ts_ns;
}

bool inv_pairs_return(struct inv_pairs *p, uint64_t pid, uint64_t mfa,
		      int64_t ts_ns, int64_t *took_ns)
{
	struct inv_pairs_process *x = &p->table[pid % INV_PAIRS_PROCESSES];

	if (x->pid != pid)
		return false;
	for (uint32_t i = 0; i < x->kept; i++) {
		const struct inv_pairs_call *c =
			&x->calls[(x->top - 1 - i) % INV_PAIRS_DEPTH];

		if (c->mfa != mfa)
			continue;
		x->top -= i + 1;
		x->kept -= i + 1;
		*took_ns = ts_ns - c->ts_ns;
		return true;
	}
	return false;
}
