/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/rank.h"

#include <inttypes.h>
#include <string.h>

#include "term/print.h"

static bool is_kind(const struct inv_ranking_opts *o, const struct inv_rank *r)
{
	return o->kinds && r->key->of == INV_COUNT_PROCESS;
}

static const char *key_of(const struct inv_ranking_opts *o,
			  const struct inv_rank *r)
{
	if (o->nodes_only)
		return r->key->node->name;
	if (is_kind(o, r))
		return *r->name ? r->name : "unknown";
	if (r->key->of == INV_COUNT_FAILED)
		return "failed";
	return r->key->of == INV_COUNT_OTHERS ? "others" : r->key->key;
}

static bool is_elixir(const struct inv_flow *flow, const struct inv_rank *r)
{
	uint32_t n = r->key->node->number;

	return n < flow->n_nodes && flow->nodes[n].manner.elixir;
}

static void put_key(const struct inv_ranking_opts *o,
		    const struct inv_flow *flow, const struct inv_rank *r,
		    struct inv_buf *b)
{
	const char *key = key_of(o, r);

	if (r->key->of == INV_COUNT_EXCEPTION && !o->nodes_only)
		inv_buf_puts(b, "exception ");
	if (o->nodes_only || !is_elixir(flow, r) ||
	    !inv_term_print_translated(key, strlen(key), b))
		inv_buf_puts(b, key);
}

void inv_rank_text(const struct inv_ranking_opts *o,
		   const struct inv_flow *flow, const struct inv_rank *r,
		   struct inv_buf *b)
{
	if (r->key->of == INV_COUNT_OTHERS && !o->nodes_only)
		inv_buf_puts(b, "(others, beyond the bound)");
	else if (r->key->of == INV_COUNT_FAILED && !o->nodes_only)
		inv_buf_puts(b, "(failed: the expression has no value)");
	else
		put_key(o, flow, r, b);
	if (!is_kind(o, r) && *r->name)
		inv_buf_printf(b, " %s", r->name);
	if (r->key->measure)
		inv_buf_printf(b, ", %s", r->key->measure);
	if (is_kind(o, r))
		inv_buf_printf(b, "  (%" PRIu64 " process%s)", r->processes,
			       r->processes == 1 ? "" : "es");
	if (r->one_node && !o->nodes_only)
		inv_buf_printf(b, "  %s", r->key->node->name);
}

static const char *kind_of(const struct inv_ranking_opts *o,
			   const struct inv_rank *r)
{
	static const char *const texts[] = {
		[INV_COUNT_TOTAL] = "node",
		[INV_COUNT_FUNCTION] = "function",
		[INV_COUNT_TAG] = "event",
		[INV_COUNT_PROCESS] = "process",
		[INV_COUNT_OTHERS] = "others",
		[INV_COUNT_CALLER] = "caller",
		[INV_COUNT_VALUE] = "value",
		[INV_COUNT_FAILED] = "failed",
		[INV_COUNT_EXCEPTION] = "exception",
	};

	if (is_kind(o, r))
		return "kind";
	return texts[o->nodes_only ? INV_COUNT_TOTAL : r->key->of];
}

void inv_rank_json(const struct inv_ranking_opts *o, const struct inv_rank *r,
		   struct inv_json *j)
{
	inv_json_text(j, "key", key_of(o, r));
	inv_json_text(j, "kind", kind_of(o, r));
	if (r->one_node)
		inv_json_text(j, "node", r->key->node->name);
	if (is_kind(o, r))
		inv_json_uint(j, "processes", r->processes);
	else if (*r->name)
		inv_json_text(j, "name", r->name);
}

void inv_rank_more(size_t shown, size_t all, struct inv_buf *b)
{
	if (shown < all)
		inv_buf_printf(b, "... and %zu more (--top 0 shows all)\n",
			       all - shown);
}
