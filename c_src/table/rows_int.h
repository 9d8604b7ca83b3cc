/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TABLE_ROWS_INT_H
#define INV_TABLE_ROWS_INT_H

#include "flow/flow.h"
#include "table/rows.h"

/* A part of r->text, the buffer for printed terms. */
struct inv_span {
	size_t off;
	size_t len;
	bool there;
};

/* What the rows of all tables need to know about an event. */
struct inv_seen {
	const struct inv_item *it;
	uint64_t id;
	uint32_t process;  /* number of the process in inv_cast; 0: none */
	uint32_t peer;	   /* number of the event's other process, such as the
			     receiver of a message; 0: none */
	uint32_t function; /* number of the function in inv_cast; 0: none */
	struct inv_span payload;
	struct inv_span result;
	/* The kind and the message of a seq_trace event. */
	uint8_t seq_kind; /* enum inv_seq_kind; 0: not a seq_trace event */
	struct inv_span message;
};

struct inv_rows_node {
	const struct inv_node *node;
	uint32_t word;
	int64_t first_ns, last_ns;
	uint64_t events, lost;
};

static inline void inv__cell_int(struct inv_cell *c, int64_t i)
{
	c->kind = INV_CELL_INT;
	c->i = i;
}

static inline void inv__cell_number(struct inv_cell *c, enum inv_cell_kind kind,
				    uint32_t number)
{
	c->kind = number ? kind : INV_CELL_NULL;
	c->number = number;
}

static inline void inv__cell_text(struct inv_cell *c, const void *p, size_t n)
{
	c->kind = INV_CELL_TEXT;
	c->text.p = p;
	c->text.n = n;
}

static inline void inv__cell_span(struct inv_cell *c, const struct inv_rows *r,
				  const struct inv_span *s)
{
	if (s->there)
		inv__cell_text(c, r->text.data + s->off, s->len);
}

/* Writes a row. */
void inv__rows_put(struct inv_rows *r, enum inv_table_id table,
		   const struct inv_cell *cells);
/* Sets a cell to a text, and adds the text to inv_words if it is new. */
void inv__rows_word(struct inv_rows *r, struct inv_cell *c, const char *text);
/* Prints the next term of the cursor, and sets *s to the text. Returns the
 * errors of the cursor. */
int inv__rows_term(struct inv_rows *r, struct inv_span *s);
/* Returns the entry of a node in r->nodes, and fills it in if the node is new.
 * Returns NULL if memory is exhausted. */
struct inv_rows_node *inv__rows_node(struct inv_rows *r,
				     const struct inv_node *node);

/* Calls and their ends. */
void inv__rows_call(struct inv_rows *r, const struct inv_seen *s);
void inv__rows_calls_end(struct inv_rows *r);
/* Messages. */
void inv__rows_message(struct inv_rows *r, const struct inv_seen *s);
void inv__rows_messages_end(struct inv_rows *r);
/* Processes, requests and nodes. */
void inv__rows_live(struct inv_rows *r, const struct inv_seen *s);
void inv__rows_lives_end(struct inv_rows *r);

/* Prints the arguments of m as a list in brackets. */
int inv__rows_args(struct inv_rows *r, const struct inv_event *ev,
		   const struct inv_mfa *m, struct inv_span *s);

/*
 * Finds the process that a term names (table/rows_process.c). Returns the
 * process's number in r->cast, or 0 if the process is not known. If memory is
 * exhausted, sets r->rc and returns 0.
 */
uint32_t inv__rows_tracee(struct inv_rows *r, const struct inv_item *it,
			  const struct inv_token *tok);
uint32_t inv__rows_process(struct inv_rows *r, const struct inv_item *it,
			   const struct inv_token *tok);
/* Reads the next term: a pid, a port, a name or {Name,Node}. Sets *process to
 * the process's number in r->cast, or to 0. Returns the cursor's errors. */
int inv__rows_receiver(struct inv_rows *r, const struct inv_item *it,
		       uint32_t *process);

static inline int inv__rows_must(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

#endif
