/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/tallies.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/uthash.h"
#include "flow/mfa.h"
#include "log/utf8.h"
#include "term/print.h"

/* An entry of the hash table. */
struct inv_tally_entry {
	struct inv_tallied row; /* must be the first member, because
				   inv_tallies_next casts a row to its entry */
	UT_hash_handle hh;
	bool stored;
	size_t id_len;
	/* The key of the hash table: the number of the node (4 bytes), enum
	 * inv_count_of (1 byte), the counted key as Erlang prints it, a byte 0,
	 * and the measure unless it is NULL. */
	char id[];
};

#define ID_HEAD 5u

/* The expression of one log (INV_NOTE_MEASURE): its values are what the log's
 * histograms contain. */
struct inv_tally_measure {
	struct inv_tally_measure *next;
	uint32_t feed;
	char *text;
};

static void forget(struct inv_tally_entry *k)
{
	if (k->row.times)
		inv_histogram_release(k->row.times);
	free(k->row.times);
	free(k);
}

int inv_tallies_init(struct inv_tallies *t)
{
	t->cursor = malloc(sizeof(*t->cursor));
	return t->cursor ? 0 : INV_ENOMEM;
}

void inv_tallies_release(struct inv_tallies *t)
{
	struct inv_tally_entry *k;
	struct inv_tally_entry *next;

	HASH_ITER (hh, t->entries, k, next) {
		HASH_DEL(t->entries, k);
		forget(k);
	}
	while (t->measures) {
		struct inv_tally_measure *m = t->measures;

		t->measures = m->next;
		free(m->text);
		free(m);
	}
	free(t->cursor);
	t->cursor = NULL;
}

/* --- reading -------------------------------------------------------------- */

/* Reads the key of a note, and appends it as Erlang prints it. */
static bool read_key(struct inv_tallies *t, const struct inv_item *it,
		     struct inv_tallied *k, struct inv_buf *b)
{
	/* Counted values are often strings, which are printed as text. */
	const struct inv_print_opts w = {
		.style = k->of == INV_COUNT_VALUE ||
					 k->of == INV_COUNT_EXCEPTION ?
				 INV_PRINT_P :
				 INV_PRINT_W,
		.otp = it->node->otp_release,
	};
	struct inv_token tok;
	struct inv_mfa m;

	if (k->of == INV_COUNT_FUNCTION || k->of == INV_COUNT_CALLER) {
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
	return k->of == INV_COUNT_TOTAL || k->of == INV_COUNT_OTHERS ||
			       k->of == INV_COUNT_FAILED ?
		       tok.kind == INV_TOK_NIL :
		       !inv_term_print_token(t->cursor, &tok, b, &w);
}

/* Returns the entry of a key, or NULL if there is no memory. */
static struct inv_tally_entry *entry_of(struct inv_tallies *t,
					const struct inv_tallied *row,
					const struct inv_buf *id)
{
	struct inv_tally_entry *k;

	HASH_FIND(hh, t->entries, id->data, id->len, k);
	if (k)
		return k;
	k = malloc(sizeof(*k) + id->len);
	if (!k)
		return NULL;
	k->row = *row;
	k->row.key = k->id + ID_HEAD;
	k->id_len = id->len;
	k->stored = true;
	memcpy(k->id, id->data, id->len);
	HASH_ADD_KEYPTR(hh, t->entries, k->id, k->id_len, k);
	if (k->stored)
		return k;
	free(k);
	return NULL;
}

/* Reads a number that is not negative. */
static bool get(struct inv_tallies *t, uint64_t *n)
{
	struct inv_token tok;

	if (inv_cursor_next(t->cursor, &tok) || tok.kind != INV_TOK_INT ||
	    tok.i < 0)
		return false;
	*n = (uint64_t)tok.i;
	return true;
}

static int set_count(struct inv_tallies *t, struct inv_tallied *k)
{
	uint64_t n;

	/* Notes of several threads can come out of order. A count only grows,
	 * so the larger count is the later one. */
	if (get(t, &n) && k->n < n)
		k->n = n;
	return 0;
}

static int set_times(struct inv_tallies *t, struct inv_tallied *k)
{
	struct inv_histogram h = { 0 };
	struct inv_token tok;

	if (!get(t, &h.unpaired) || inv_cursor_next(t->cursor, &tok))
		return 0;
	if (tok.kind == INV_TOK_INT && tok.i >= 0)
		h.min = (uint64_t)tok.i;
	else if (tok.kind != INV_TOK_NIL)
		return 0;
	if (!get(t, &h.max) || !get(t, &h.sum) || h.sum < k->times->sum ||
	    h.unpaired < k->times->unpaired)
		return 0;
	k->times->unpaired = h.unpaired;
	k->times->min = h.min;
	k->times->max = h.max;
	k->times->sum = h.sum;
	return 0;
}

/* Reads a list of numbers, at most INV_BUCKETS. */
static bool get_numbers(struct inv_tallies *t, uint64_t *v, size_t *n)
{
	struct inv_token tok;

	*n = 0;
	if (inv_cursor_next(t->cursor, &tok) || tok.cut)
		return false;
	if (tok.kind == INV_TOK_STRING) {
		for (; *n < tok.len && *n < INV_BUCKETS; ++*n)
			v[*n] = tok.bytes[*n];
		return true;
	}
	if (tok.kind != INV_TOK_LIST)
		return false;
	while (*n < INV_BUCKETS && get(t, &v[*n]))
		++*n;
	return true;
}

static int set_block(struct inv_tallies *t, const struct inv_tallied *k)
{
	uint64_t v[INV_BUCKETS];
	uint64_t block;
	size_t n;

	if (!get(t, &block) || !get_numbers(t, v, &n))
		return 0;
	return inv_histogram_set(k->times, block, v, n) == INV_ENOMEM ?
		       INV_ENOMEM :
		       0;
}

static const char *measure_of(const struct inv_tallies *t, uint32_t feed)
{
	const struct inv_tally_measure *m = t->measures;

	while (m && m->feed != feed)
		m = m->next;
	return m ? m->text : NULL;
}

static int set_measure(struct inv_tallies *t, const struct inv_item *it)
{
	struct inv_tally_measure *m;
	struct inv_token tok;

	if (measure_of(t, it->feed) || inv_cursor_next(t->cursor, &tok) ||
	    tok.kind != INV_TOK_BINARY)
		return 0;
	m = malloc(sizeof(*m));
	if (!m)
		return INV_ENOMEM;
	m->feed = it->feed;
	m->text = inv_utf8_sanitized((const char *)tok.bytes, tok.len);
	if (!m->text) {
		free(m);
		return INV_ENOMEM;
	}
	m->next = t->measures;
	t->measures = m;
	return 0;
}

/* Reads the rest of a note into the entry of its key. */
static int put(struct inv_tallies *t, const struct inv_item *it,
	       const struct inv_tallied *row, const struct inv_buf *id)
{
	struct inv_tally_entry *e = entry_of(t, row, id);
	struct inv_tallied *k = e ? &e->row : NULL;

	if (!k)
		return INV_ENOMEM;
	if (k->first_ns > row->first_ns)
		k->first_ns = row->first_ns;
	if (k->last_ns < row->last_ns)
		k->last_ns = row->last_ns;
	if (it->ev.note == INV_NOTE_COUNT)
		return set_count(t, k);
	if (!k->times)
		k->times = calloc(1, sizeof(*k->times));
	if (!k->times)
		return INV_ENOMEM;
	t->timed = true;
	return it->ev.note == INV_NOTE_TIMES ? set_times(t, k) :
					       set_block(t, k);
}

static bool is_ours(const struct inv_item *it)
{
	return it->kind == INV_ITEM_NOTE &&
	       ((it->ev.note >= INV_NOTE_COUNT &&
		 it->ev.note <= INV_NOTE_BUCKETS) ||
		it->ev.note == INV_NOTE_MEASURE);
}

int inv_tallies_item(struct inv_tallies *t, const struct inv_item *it)
{
	struct inv_tallied row = { .node = it->node,
				   .measure = measure_of(t, it->feed),
				   .first_ns = it->erl_ns,
				   .last_ns = it->erl_ns };
	struct inv_buf id = { 0 };
	uint64_t of;
	uint8_t what;
	int rc = 0;

	if (!is_ours(it))
		return 0;
	inv_cursor_init(t->cursor, INV_ENC_PACKED, it->ev.dict, it->ev.terms,
			it->ev.len);
	if (it->ev.note == INV_NOTE_MEASURE)
		return set_measure(t, it);
	if (!get(t, &of) || of > INV_COUNT_EXCEPTION)
		return 0;
	what = (uint8_t)of;
	row.of = (enum inv_count_of)what;
	inv_buf_put(&id, &it->node->number, sizeof(it->node->number));
	inv_buf_put(&id, &what, 1);
	if (read_key(t, it, &row, &id)) {
		inv_buf_putc(&id, 0);
		if (row.measure)
			inv_buf_puts(&id, row.measure);
		rc = id.error ? INV_ENOMEM : put(t, it, &row, &id);
	}
	inv_buf_release(&id);
	return rc;
}

size_t inv_tallies_n(const struct inv_tallies *t)
{
	return HASH_COUNT(t->entries);
}

bool inv_tallies_timed(const struct inv_tallies *t)
{
	return t->timed;
}

const struct inv_tallied *inv_tallies_next(const struct inv_tallies *t,
					   const struct inv_tallied *row)
{
	const struct inv_tally_entry *k = t->entries;

	if (row)
		k = ((const struct inv_tally_entry *)(const void *)row)
			    ->hh.next;
	return k ? &k->row : NULL;
}

uint64_t inv_tallies_ms(const struct inv_tallies *t, const char *node)
{
	const struct inv_tallied *r = NULL;

	while ((r = inv_tallies_next(t, r)))
		if (r->of == INV_COUNT_TOTAL && !strcmp(r->node->name, node))
			return (uint64_t)(r->last_ns - r->first_ns) / 1000000;
	return 0;
}

void inv_tallies_sum(const struct inv_tallies *t, const char *node,
		     struct inv_tallies_sum *sum)
{
	const struct inv_tallied *r = NULL;

	*sum = (struct inv_tallies_sum){ 0 };
	while ((r = inv_tallies_next(t, r))) {
		if (node && strcmp(r->node->name, node) != 0)
			continue;
		if (r->times)
			sum->unpaired += r->times->unpaired;
		if (r->of == INV_COUNT_TOTAL)
			sum->total += r->n;
		else if (r->of == INV_COUNT_OTHERS)
			sum->others += r->n;
		else
			sum->keyed += r->n;
	}
}
