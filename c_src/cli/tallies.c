/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tallies.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define HASH_FUNCTION(key, len, hash) \
	((hash) = (unsigned)XXH3_64bits((key), (len)))
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(elt) ((elt)->stored = false)
#include <uthash.h>

#include "base/likely.h"
#include "flow/mfa.h"
#include "term/print.h"

/* A key of a node. The hash table's key is the number of the node, what is
 * counted, and the text. */
struct inv_tally_key_of {
	UT_hash_handle hh;
	bool stored;
	const struct inv_node *node;
	uint64_t n;
	uint8_t kind; /* of a process: INV_TOK_PID or _PORT */
	uint64_t number, serial;
	size_t id_len;
	/* The number of the node (4 bytes), enum inv_count_of (1), and the key
	 * as Erlang prints it, with a 0. */
	char id[];
};

#define ID_HEAD 5u

static const char *text_of(const struct inv_tally_key_of *k)
{
	return k->id + ID_HEAD;
}

static enum inv_count_of of(const struct inv_tally_key_of *k)
{
	return (enum inv_count_of)k->id[ID_HEAD - 1];
}

int inv_tallies_init(struct inv_tallies *t)
{
	t->cursor = malloc(sizeof(*t->cursor));
	return t->cursor ? 0 : INV_ENOMEM;
}

void inv_tallies_release(struct inv_tallies *t)
{
	struct inv_tally_key_of *k;
	struct inv_tally_key_of *next;

	HASH_ITER (hh, t->keys, k, next) {
		HASH_DEL(t->keys, k);
		free(k);
	}
	free(t->cursor);
	t->cursor = NULL;
}

/* --- reading ----------------------------------------------------------------- */

/* Reads the key of a note, and appends it as Erlang prints it. */
static bool read_key(struct inv_tallies *t, const struct inv_item *it,
		     enum inv_count_of what, struct inv_tally_key_of *k,
		     struct inv_buf *b)
{
	const struct inv_print_opts w = { .style = INV_PRINT_W,
					  .otp = it->node->otp_release };
	struct inv_token tok;
	struct inv_mfa m;

	if (what == INV_COUNT_FUNCTION) {
		if (inv_mfa_read(&m, t->cursor, &it->ev) != 1)
			return false;
		inv_term_print_module(m.module.bytes, m.module.len, b, &w);
		inv_term_print_function(m.function.bytes, m.function.len, b,
					&w);
		inv_buf_printf(b, "/%" PRIu32, m.arity);
		inv_mfa_third(&m, t->cursor, &it->ev);
		return !inv_cursor_next(t->cursor, &tok);
	}
	if (inv_cursor_next(t->cursor, &tok))
		return false;
	k->kind = tok.kind;
	if (tok.kind == INV_TOK_PID || tok.kind == INV_TOK_PORT) {
		k->number = tok.id[0];
		k->serial = tok.kind == INV_TOK_PID ? tok.id[1] : 0;
	}
	return what == INV_COUNT_TOTAL || what == INV_COUNT_OTHERS ?
		       tok.kind == INV_TOK_NIL :
		       !inv_term_print_token(t->cursor, &tok, b, &w);
}

static int put(struct inv_tallies *t, const struct inv_tally_key_of *from,
	       const struct inv_buf *id)
{
	struct inv_tally_key_of *k;

	HASH_FIND(hh, t->keys, id->data, id->len, k);
	if (!k) {
		k = malloc(sizeof(*k) + id->len);
		if (!k)
			return INV_ENOMEM;
		*k = *from;
		k->n = 0;
		k->id_len = id->len;
		k->stored = true;
		memcpy(k->id, id->data, id->len);
		HASH_ADD_KEYPTR(hh, t->keys, k->id, k->id_len, k);
		if (!k->stored) {
			free(k);
			return INV_ENOMEM;
		}
	}
	/* Notes of several threads can come in another order. */
	if (k->n < from->n)
		k->n = from->n;
	return 0;
}

int inv_tallies_item(struct inv_tallies *t, const struct inv_item *it)
{
	struct inv_tally_key_of k = { .node = it->node };
	struct inv_buf id = { 0 };
	struct inv_token tok;
	uint8_t what;
	int rc = 0;

	if (it->kind != INV_ITEM_NOTE || it->ev.note != INV_NOTE_COUNT)
		return 0;
	inv_cursor_init(t->cursor, INV_ENC_PACKED, it->ev.dict, it->ev.terms,
			it->ev.len);
	if (inv_cursor_next(t->cursor, &tok) || tok.kind != INV_TOK_INT ||
	    tok.i < 0 || tok.i > INV_COUNT_OTHERS)
		return 0;
	what = (uint8_t)tok.i;
	inv_buf_put(&id, &it->node->number, sizeof(it->node->number));
	inv_buf_put(&id, &what, 1);
	if (read_key(t, it, (enum inv_count_of)what, &k, &id) &&
	    !inv_cursor_next(t->cursor, &tok) && tok.kind == INV_TOK_INT &&
	    tok.i >= 0) {
		inv_buf_putc(&id, 0);
		k.n = (uint64_t)tok.i;
		rc = id.error ? INV_ENOMEM : put(t, &k, &id);
	}
	inv_buf_release(&id);
	return rc;
}

bool inv_tallies_any(const struct inv_tallies *t)
{
	return t->keys;
}

void inv_tallies_sum(const struct inv_tallies *t, const char *node,
		     struct inv_tallies_sum *sum)
{
	const struct inv_tally_key_of *k;

	*sum = (struct inv_tallies_sum){ 0 };
	for (k = t->keys; k; k = k->hh.next) {
		if (node && strcmp(k->node->name, node) != 0)
			continue;
		if (of(k) == INV_COUNT_TOTAL)
			sum->total += k->n;
		else if (of(k) == INV_COUNT_OTHERS)
			sum->others += k->n;
		else
			sum->keyed += k->n;
	}
}

/* --- rows -------------------------------------------------------------------- */

/* A row of the output: a key, summed over nodes unless it is one node's. */
struct row {
	const struct inv_tally_key_of *key;
	bool one_node;
	uint64_t n;
};

static int order(const struct row *a, const struct row *b)
{
	int rc = (int)of(a->key) - (int)of(b->key);

	if (!rc)
		rc = strcmp(text_of(a->key), text_of(b->key));
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

static bool is_row(const struct inv_tallies *t,
		   const struct inv_tally_key_of *k)
{
	if (t->nodes_only)
		return of(k) == INV_COUNT_TOTAL;
	return of(k) != INV_COUNT_TOTAL &&
	       (of(k) != INV_COUNT_OTHERS || k->n > 0);
}

/* Makes the sorted rows. Returns NULL if there is no memory. */
static struct row *make_rows(const struct inv_tallies *t, size_t *n)
{
	struct row *rows = calloc(HASH_COUNT(t->keys) + 1, sizeof(*rows));
	const struct inv_tally_key_of *k;
	size_t all = 0;

	*n = 0;
	if (!rows)
		return NULL;
	for (k = t->keys; k; k = k->hh.next)
		if (is_row(t, k))
			rows[all++] = (struct row){
				.key = k,
				.one_node = t->by_node || t->nodes_only ||
					    of(k) == INV_COUNT_PROCESS,
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
				       const struct inv_tally_key_of *k)
{
	struct inv_token tok = { .kind = k->kind,
				 .id = { k->number, k->serial } };
	struct inv_identity id;

	if (of(k) != INV_COUNT_PROCESS ||
	    !inv_flow_identify(flow, k->node, NULL, &tok, &id))
		return (struct inv_process_name){ 0 };
	return id.name;
}

static const char *key_text(const struct inv_tallies *t, const struct row *r)
{
	if (t->nodes_only)
		return r->key->node->name;
	return of(r->key) == INV_COUNT_OTHERS ? "others" : text_of(r->key);
}

/* --- text -------------------------------------------------------------------- */

static bool is_elixir(const struct inv_flow *flow, const struct row *r)
{
	uint32_t n = r->key->node->number;

	return n < flow->n_nodes && flow->nodes[n].manner.elixir;
}

static void put_row(const struct inv_tallies *t, struct inv_flow *flow,
		    const struct inv_tallies_opts *o, const struct row *r,
		    uint64_t total, struct inv_buf *b)
{
	const char *key = key_text(t, r);
	struct inv_process_name name = name_of(flow, r->key);
	double share = total ? 100.0 * (double)r->n / (double)total : 0;

	inv_buf_printf(b, "%14" PRIu64, r->n);
	if (o->ms)
		inv_buf_printf(b, " %12.1f",
			       (double)r->n * 1000 / (double)o->ms);
	inv_buf_printf(b, " %6.1f%%  ", share);
	if (of(r->key) == INV_COUNT_OTHERS)
		inv_buf_puts(b, "(others, beyond the bound)");
	else if (t->nodes_only || !is_elixir(flow, r) ||
		 !inv_term_print_translated(key, strlen(key), b))
		inv_buf_puts(b, key);
	if (name.len) {
		inv_buf_putc(b, ' ');
		inv_buf_put(b, name.text, name.len);
	}
	if (r->one_node && !t->nodes_only)
		inv_buf_printf(b, "  %s", r->key->node->name);
	inv_buf_putc(b, '\n');
}

size_t inv_tallies_text(const struct inv_tallies *t, struct inv_flow *flow,
			const struct inv_tallies_opts *o, struct inv_buf *b)
{
	struct inv_tallies_sum sum;
	size_t n, shown;
	struct row *rows = make_rows(t, &n);

	if (!rows) {
		b->error = INV_ENOMEM;
		return 0;
	}
	inv_tallies_sum(t, NULL, &sum);
	shown = o->top && o->top < n ? (size_t)o->top : n;
	if (n)
		inv_buf_printf(b, "%14s%s %7s  %s\n", "count",
			       o->ms ? "     a second" : "", "share",
			       t->nodes_only ? "node" : "key");
	for (size_t i = 0; i < shown; i++)
		put_row(t, flow, o, &rows[i], sum.total, b);
	if (shown < n)
		inv_buf_printf(b, "... and %zu more (--top 0 shows all)\n",
			       n - shown);
	free(rows);
	return n;
}

/* --- JSON -------------------------------------------------------------------- */

static const char *kind_text(const struct inv_tallies *t, const struct row *r)
{
	static const char *const texts[] = {
		[INV_COUNT_TOTAL] = "node",
		[INV_COUNT_FUNCTION] = "function",
		[INV_COUNT_TAG] = "event",
		[INV_COUNT_PROCESS] = "process",
		[INV_COUNT_OTHERS] = "others",
	};

	(void)t;
	return texts[of(r->key)];
}

static void put_object(const struct inv_tallies *t, struct inv_flow *flow,
		       const struct inv_tallies_opts *o, const struct row *r,
		       struct inv_json *j)
{
	struct inv_process_name name = name_of(flow, r->key);

	inv_json_open(j, NULL, '{');
	inv_json_text(j, "key", key_text(t, r));
	inv_json_text(j, "kind", kind_text(t, r));
	if (r->one_node)
		inv_json_text(j, "node", r->key->node->name);
	if (name.len)
		inv_json_bytes(j, "name", name.text, name.len);
	inv_json_uint(j, "count", r->n);
	inv_json_bool(j, "final", o->final);
	inv_json_close(j, '}');
	inv_json_line(j);
}

size_t inv_tallies_json(const struct inv_tallies *t, struct inv_flow *flow,
			const struct inv_tallies_opts *o, struct inv_buf *b)
{
	struct inv_json j = { .out = b };
	size_t n, shown;
	struct row *rows = make_rows(t, &n);

	if (!rows) {
		b->error = INV_ENOMEM;
		return 0;
	}
	shown = o->top && o->top < n ? (size_t)o->top : n;
	for (size_t i = 0; i < shown; i++)
		put_object(t, flow, o, &rows[i], &j);
	free(rows);
	return n;
}
