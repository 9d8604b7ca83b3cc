/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TABLE_ROWS_H
#define INV_TABLE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "flow/tallies.h"
#include "log/item.h"
#include "table/cast.h"
#include "table/row_set.h"
#include "table/schema.h"
#include "term/cursor.h"
#include "term/print.h"

/*
 * Makes rows of tables (table/schema.h) from items that went through the flow.
 * A writer gets the rows, and writes them into a database or into files.
 *
 * 	inv_rows_init(&r, &writer, cursor, &print);
 * 	while (...)
 * 		inv_rows_event(&r, item) or inv_rows_loss(&r, item);
 * 	inv_rows_end(&r);
 * 	inv_rows_release(&r);
 *
 * Events and losses are numbered, from 1, in the order of the merge. A row is
 * written when all its values are known:
 *
 *	event, garbage collection, loss	at once
 *	call				when the call has ended
 *	message				when the message was received
 *	process				when the process has exited
 *	others				at the end
 *
 * Until then the row is in memory. If the rows of a table take more than
 * INV_ROWS_MEMORY, the oldest rows of this table are written incomplete, and
 * counted.
 */
#define INV_ROWS_MEMORY ((size_t)128 << 20)

enum inv_cell_kind {
	INV_CELL_NULL = 0,
	INV_CELL_INT,
	INV_CELL_WORD,	   /* `number' is the number of a text in inv_words */
	INV_CELL_TEXT,	   /* UTF-8 */
	INV_CELL_PROCESS,  /* `number' is the number of a process in inv_cast */
	INV_CELL_FUNCTION, /* `number' is the number of a function in
			      inv_cast */
};

struct inv_cell {
	uint8_t kind;
	union {
		int64_t i; /* INT; BOOL: 0 or 1; TIME: ns since the epoch */
		uint32_t number;
		struct {
			const uint8_t *p;
			size_t n;
		} text;
	};
};

struct inv_row_writer {
	/* Writes a row. `cells' has a cell for each column of the schema.
	 * `cast' has all words, processes and functions to which the cells
	 * refer. Returns 0 or a negative code. After a negative code the
	 * function is not called again. */
	int (*put)(struct inv_row_writer *w, const struct inv_cast *cast,
		   enum inv_table_id table, const struct inv_cell *cells);
};

struct inv_rows_node;

struct inv_rows {
	int rc; /* what the writer returned, or INV_ENOMEM */
	struct inv_cast cast;
	uint64_t n[INV_TABLE_COUNT]; /* how many rows each table has so far */
	/* How many rows were written before they were complete, because the
	 * rows in memory had reached the limit. */
	uint64_t forgotten;
	size_t memory; /* INV_ROWS_MEMORY; tests change it */
	/* private */
	struct inv_row_writer *writer;
	struct inv_cursor *cursor;
	const struct inv_print_opts *print;
	uint64_t id; /* id of the last event or loss */
	struct inv_buf text;
	uint32_t tags[INV_TAG_COUNT]; /* the names of the tags: numbers in
					 inv_words */
	struct inv_rows_node *nodes;  /* nodes[i] is the node with the number
					 i */
	uint32_t n_nodes;
	struct inv_row_set calls, messages, lives, requests;
};

/* Borrows writer, cursor and print. `print' says how terms are printed, and
 * the caller may change it between items. Returns 0 or INV_ENOMEM. Call
 * inv_rows_release in both cases. */
int inv_rows_init(struct inv_rows *r, struct inv_row_writer *writer,
		  struct inv_cursor *cursor,
		  const struct inv_print_opts *print);
void inv_rows_release(struct inv_rows *r);

/* Writes an event. If the terms of the event are invalid, writes nothing and
 * returns a negative code. Other errors are in r->rc. */
int inv_rows_event(struct inv_rows *r, const struct inv_item *it);
void inv_rows_loss(struct inv_rows *r, const struct inv_item *it);
/* Writes a row for each count of sessions of `inviso count' or `hist'. */
void inv_rows_counts(struct inv_rows *r, const struct inv_tallies *t);
/* Returns the text that the column `counted' has for this kind of key. */
const char *inv_rows_counted(enum inv_count_of of);
/* Writes the rows that are still in memory, because they were not complete. */
void inv_rows_end(struct inv_rows *r);

#endif
