/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges several inputs into rows of tables.
 *
 *	byte 0    bit 0: the checksums of logs are corrected first;
 *	          bit 1: there is little memory for rows that are incomplete
 *	the rest  files, each a u16 length (little-endian) and bytes; the last
 *	          file has the remaining bytes
 *
 * The target checks that events and losses together have the ids 1, 2, 3, ...,
 * that all numbers in cells are valid, and that the bytes of each text can be
 * read. Each call event must have one row in the table `calls'. No other event
 * has a row there, except the end of a call whose beginning was not recorded.
 */
#include <stdlib.h>
#include <string.h>

#include "flow/flow.h"
#include "log/merge.h"
#include "log_files.h"
#include "table/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	struct inv_row_writer writer;
	int64_t id;
	bool decided;	/* this item ends a call that has no call event */
	uint8_t *calls; /* for each id: 0: no call event; 1: a call event; 2: an
			   event whose row is in the table `calls' */
	size_t n;
	uint32_t call; /* number of the word `call' */
	unsigned sum;  /* over all texts, so that each byte is read */
};

static void check_cell(struct seen *s, const struct inv_cast *cast,
		       const struct inv_column *column,
		       const struct inv_cell *c)
{
	switch (c->kind) {
	case INV_CELL_WORD:
		CHECK(column->kind == INV_COLUMN_WORD);
		CHECK(c->number && c->number <= cast->words.n);
		break;
	case INV_CELL_PROCESS:
		CHECK(column->kind == INV_COLUMN_PROCESS);
		CHECK(c->number && c->number <= cast->n);
		CHECK(cast->v[c->number - 1].node);
		break;
	case INV_CELL_FUNCTION:
		CHECK(column->kind == INV_COLUMN_FUNCTION);
		CHECK(c->number && c->number <= cast->n_functions);
		break;
	case INV_CELL_TEXT:
		CHECK(column->kind == INV_COLUMN_TEXT);
		for (size_t i = 0; i < c->text.n; i++)
			s->sum += c->text.p[i];
		break;
	case INV_CELL_INT:
		CHECK(column->kind == INV_COLUMN_INT ||
		      column->kind == INV_COLUMN_TIME ||
		      column->kind == INV_COLUMN_BOOL);
		CHECK(column->kind != INV_COLUMN_BOOL || !(c->i & ~1));
		break;
	default:
		CHECK(c->kind == INV_CELL_NULL);
	}
}

static void take_id(struct seen *s, int64_t id, bool is_call)
{
	CHECK(id == ++s->id);
	if ((size_t)id >= s->n) {
		size_t n = (size_t)id * 2 + 64;

		s->calls = realloc(s->calls, n);
		CHECK(s->calls);
		memset(s->calls + s->n, 0, n - s->n);
		s->n = n;
	}
	s->calls[id] = is_call;
}

static int put(struct inv_row_writer *w, const struct inv_cast *cast,
	       enum inv_table_id table, const struct inv_cell *cells)
{
	struct seen *s = (struct seen *)w;
	size_t len;

	for (unsigned i = 0; i < inv_tables[table].n; i++)
		check_cell(s, cast, &inv_tables[table].columns[i], &cells[i]);
	if (table == INV_TABLE_EVENTS) {
		const struct inv_cell *tag = &cells[INV_EVENTS_TAG];
		const uint8_t *text = tag->kind == INV_CELL_WORD ?
					      inv_words_text(&cast->words,
							     tag->number,
							     &len) :
					      NULL;

		take_id(s, cells[INV_EVENTS_ID].i,
			text && len == 4 && !memcmp(text, "call", 4));
	} else if (table == INV_TABLE_LOSSES) {
		take_id(s, cells[INV_LOSSES_ID].i, false);
	} else if (table == INV_TABLE_CALLS) {
		int64_t id = cells[INV_CALLS_ID].i;

		CHECK(id > 0 && id <= s->id);
		CHECK(s->calls[id] == 1 || (s->decided && id == s->id));
		s->calls[id] = 2;
	}
	return 0;
}

static void run(struct inv_inputs *in, bool little, struct seen *s)
{
	struct inv_flow_opts flow_opts = { .keep = true, .memory = 1 << 16 };
	struct inv_print_opts print = { .style = INV_PRINT_P, .unicode = true };
	struct inv_cursor *cursor = malloc(sizeof(*cursor));
	struct inv_item *item;
	struct inv_rows rows;
	struct inv_flow flow;
	struct inv_merge m;

	CHECK(cursor);
	s->writer.put = put;
	CHECK(!inv_merge_init(&m, in->feeds, in->n_feeds));
	CHECK(!inv_flow_init(&flow, &flow_opts));
	CHECK(!inv_rows_init(&rows, &s->writer, cursor, &print));
	if (little)
		rows.memory = 512;
	while (!inv_merge_next(&m, &item)) {
		item = inv_flow_item(&flow, item);
		CHECK(item);
		s->decided = item->facts && item->facts->call &&
			     item->facts->call->decided;
		if (item->kind == INV_ITEM_EVENT)
			(void)inv_rows_event(&rows, item);
		else if (item->kind == INV_ITEM_LOSS)
			inv_rows_loss(&rows, item);
		inv_flow_show(&flow, item);
		CHECK(!rows.rc);
	}
	inv_rows_end(&rows);
	CHECK(!rows.rc);
	inv_rows_release(&rows);
	inv_flow_release(&flow);
	inv_merge_release(&m);
	free(cursor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inv_notices ns = { 0 };
	struct seen s = { .id = 0 };
	struct inv_inputs in;
	uint8_t *copy;

	if (size < 2)
		return 0;
	copy = malloc(size - 1);
	CHECK(copy);
	memcpy(copy, data + 1, size - 1);
	inv_inputs_init(&in, &ns);
	add_files(&in, copy, size - 1, data[0] & 1);
	if (!inv_inputs_open(&in, NULL))
		run(&in, data[0] & 2, &s);
	inv_inputs_release(&in);
	for (int64_t id = 1; id <= s.id; id++)
		CHECK(s.calls[id] != 1);
	free(s.calls);
	free(copy);
	return 0;
}
