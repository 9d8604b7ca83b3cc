/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/tally_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "term/print.h"

/* --- rows -------------------------------------------------------------------- */

/* A row of the output: a key, summed over nodes unless it is one node's. */
struct row {
	const struct inv_tallied *key;
	bool one_node;
	uint64_t n;
};

static int order(const struct row *a, const struct row *b)
{
	int rc = (int)a->key->of - (int)b->key->of;

	if (!rc)
		rc = strcmp(a->key->key, b->key->key);
	return rc;
}

static int by_key(const void *a, const void *b)
{
	const struct row *ra = a;
	const struct row *rb = b;
	int rc = order(ra, rb);

	return rc ? rc : strcmp(ra->key->node->name, rb->key->node->name);
}

static int by_count(const void *a, const void *b)
{
	const struct row *ra = a;
	const struct row *rb = b;

	if (ra->n != rb->n)
		return ra->n < rb->n ? 1 : -1;
	return by_key(a, b);
}

static bool is_row(const struct inv_tally_table *o, const struct inv_tallied *k)
{
	if (o->nodes_only)
		return k->of == INV_COUNT_TOTAL;
	return k->of != INV_COUNT_TOTAL &&
	       (k->of != INV_COUNT_OTHERS || k->n > 0);
}

/* Makes the sorted rows. Returns NULL if there is no memory. */
static struct row *make_rows(const struct inv_tally_table *o,
			     const struct inv_tallies *t, size_t *n)
{
	struct row *rows = calloc(inv_tallies_n(t) + 1, sizeof(*rows));
	const struct inv_tallied *k = NULL;
	size_t all = 0;

	*n = 0;
	if (!rows)
		return NULL;
	while ((k = inv_tallies_next(t, k)))
		if (is_row(o, k))
			rows[all++] = (struct row){
				.key = k,
				.one_node = o->by_node || o->nodes_only ||
					    k->of == INV_COUNT_PROCESS,
				.n = k->n,
			};
	qsort(rows, all, sizeof(*rows), by_key);
	for (size_t i = 0; i < all; i++) {
		if (*n > 0 && !rows[i].one_node &&
		    !order(&rows[*n - 1], &rows[i]))
			rows[*n - 1].n += rows[i].n;
		else
			rows[(*n)++] = rows[i];
	}
	qsort(rows, *n, sizeof(*rows), by_count);
	return rows;
}

static struct inv_process_name name_of(struct inv_flow *flow,
				       const struct inv_tallied *k)
{
	struct inv_token tok = { .kind = k->kind,
				 .id = { k->number, k->serial } };
	struct inv_identity id;

	if (k->of != INV_COUNT_PROCESS ||
	    !inv_flow_identify(flow, k->node, NULL, &tok, &id))
		return (struct inv_process_name){ 0 };
	return id.name;
}

static const char *key_text(const struct inv_tally_table *o,
			    const struct row *r)
{
	if (o->nodes_only)
		return r->key->node->name;
	return r->key->of == INV_COUNT_OTHERS ? "others" : r->key->key;
}

/* --- text -------------------------------------------------------------------- */

static bool is_elixir(const struct inv_flow *flow, const struct row *r)
{
	uint32_t n = r->key->node->number;

	return n < flow->n_nodes && flow->nodes[n].manner.elixir;
}

static void put_row(const struct inv_tally_table *o, struct inv_flow *flow,
		    const struct row *r, uint64_t total, struct inv_buf *b)
{
	const char *key = key_text(o, r);
	struct inv_process_name name = name_of(flow, r->key);
	double share = total ? 100.0 * (double)r->n / (double)total : 0;

	inv_buf_printf(b, "%14" PRIu64, r->n);
	if (o->ms)
		inv_buf_printf(b, " %12.1f",
			       (double)r->n * 1000 / (double)o->ms);
	inv_buf_printf(b, " %6.1f%%  ", share);
	if (r->key->of == INV_COUNT_OTHERS)
		inv_buf_puts(b, "(others, beyond the bound)");
	else if (o->nodes_only || !is_elixir(flow, r) ||
		 !inv_term_print_translated(key, strlen(key), b))
		inv_buf_puts(b, key);
	if (name.len) {
		inv_buf_putc(b, ' ');
		inv_buf_put(b, name.text, name.len);
	}
	if (r->one_node && !o->nodes_only)
		inv_buf_printf(b, "  %s", r->key->node->name);
	inv_buf_putc(b, '\n');
}

size_t inv_tally_table_text(const struct inv_tally_table *o,
			    const struct inv_tallies *t, struct inv_flow *flow,
			    struct inv_buf *b)
{
	struct inv_tallies_sum sum;
	size_t n, shown;
	struct row *rows = make_rows(o, t, &n);

	if (!rows) {
		b->error = INV_ENOMEM;
		return 0;
	}
	inv_tallies_sum(t, NULL, &sum);
	shown = o->top && o->top < n ? (size_t)o->top : n;
	if (n)
		inv_buf_printf(b, "%14s%s %7s  %s\n", "count",
			       o->ms ? "   per second" : "", "share",
			       o->nodes_only ? "node" : "key");
	for (size_t i = 0; i < shown; i++)
		put_row(o, flow, &rows[i], sum.total, b);
	if (shown < n)
		inv_buf_printf(b, "... and %zu more (--top 0 shows all)\n",
			       n - shown);
	free(rows);
	return n;
}

/* --- JSON -------------------------------------------------------------------- */

static const char *kind_text(const struct row *r)
{
	static const char *const texts[] = {
		[INV_COUNT_TOTAL] = "node",
		[INV_COUNT_FUNCTION] = "function",
		[INV_COUNT_TAG] = "event",
		[INV_COUNT_PROCESS] = "process",
		[INV_COUNT_OTHERS] = "others",
	};

	return texts[r->key->of];
}

static void put_object(const struct inv_tally_table *o, struct inv_flow *flow,
		       const struct row *r, struct inv_json *j)
{
	struct inv_process_name name = name_of(flow, r->key);

	inv_json_open(j, NULL, '{');
	inv_json_text(j, "key", key_text(o, r));
	inv_json_text(j, "kind", kind_text(r));
	if (r->one_node)
		inv_json_text(j, "node", r->key->node->name);
	if (name.len)
		inv_json_bytes(j, "name", name.text, name.len);
	inv_json_uint(j, "count", r->n);
	if (o->ms)
		inv_json_uint(j, "ms", o->ms);
	inv_json_bool(j, "final", o->final);
	inv_json_close(j, '}');
	inv_json_line(j);
}

size_t inv_tally_table_json(const struct inv_tally_table *o,
			    const struct inv_tallies *t, struct inv_flow *flow,
			    struct inv_buf *b)
{
	struct inv_json j = { .out = b };
	size_t n, shown;
	struct row *rows = make_rows(o, t, &n);

	if (!rows) {
		b->error = INV_ENOMEM;
		return 0;
	}
	shown = o->top && o->top < n ? (size_t)o->top : n;
	for (size_t i = 0; i < shown; i++)
		put_object(o, flow, &rows[i], &j);
	free(rows);
	return n;
}
