/* SPDX-License-Identifier: Apache-2.0 */
/* The processes in terms. */
#include <string.h>

#include "log/names.h"
#include "table/rows_int.h"

/* A name from a ti file has precedence over a name from events. */
static struct inv_process_name name_at(const struct inv_node *node,
				       uint64_t number, uint64_t serial,
				       int64_t ts_ns,
				       struct inv_process_name known)
{
	const struct inv_name *n = inv_names_find(node->names, number, serial);

	for (; n; n = n->next)
		if (inv_name_holds(n, ts_ns))
			return (struct inv_process_name){ n->text, n->len, true,
							  false };
	return known;
}

static uint32_t add(struct inv_rows *r, const struct inv_row_process *process,
		    const void *name, size_t len)
{
	uint32_t n = inv_cast_add(&r->cast, process, name, len);

	if (!n)
		r->rc = INV_ENOMEM;
	return n;
}

uint32_t inv__rows_tracee(struct inv_rows *r, const struct inv_item *it,
			  const struct inv_token *tok)
{
	const struct inv_rows_node *node;
	struct inv_process_name name = { 0 };
	struct inv_row_process process;

	if (tok->node || tok->len || !it->facts ||
	    (tok->kind != INV_TOK_PID && tok->kind != INV_TOK_PORT))
		return inv__rows_process(r, it, tok);
	node = inv__rows_node(r, it->node);
	if (!node)
		return 0;
	process = (struct inv_row_process){ .number = tok->id[0],
					    .serial = tok->kind == INV_TOK_PID ?
							      tok->id[1] :
							      0,
					    .node = node->word,
					    .kind = tok->kind };
	name = it->facts->name;
	if (it->node->names && tok->kind == INV_TOK_PID)
		name = name_at(it->node, process.number, process.serial,
			       it->ts_ns, name);
	return add(r, &process, name.text, name.len);
}

uint32_t inv__rows_process(struct inv_rows *r, const struct inv_item *it,
			   const struct inv_token *tok)
{
	struct inv_identity id;
	struct inv_row_process process;

	if (!it->facts || !inv_flow_identify(it->facts->flow, it->node,
					     it->ev.dict, tok, &id))
		return 0;
	process = (struct inv_row_process){ .number = id.number,
					    .serial = id.serial,
					    .kind = id.kind };
	process.node = inv_words_add(&r->cast.words, id.node ? id.node : "",
				     id.node_len);
	if (!process.node) {
		r->rc = INV_ENOMEM;
		return 0;
	}
	if (id.at && id.at->names && id.kind == INV_TOK_PID)
		id.name = name_at(id.at, id.number, id.serial, it->ts_ns,
				  id.name);
	return add(r, &process, id.name.text, id.name.len);
}

/* Returns the number of a process of which only the registered name is
 * known. */
static uint32_t named(struct inv_rows *r, const struct inv_token *tok,
		      const void *node, size_t node_len)
{
	const struct inv_print_opts w = { .unicode = true };
	struct inv_row_process process = { .kind = INV_TOK_ATOM };
	size_t off = r->text.len;
	uint32_t n = 0;

	/* The name is printed in Erlang's syntax, as all names of processes
	 * are. */
	inv_term_print_atom(tok->bytes, tok->len, &r->text, &w);
	process.node = inv_words_add(&r->cast.words, node, node_len);
	if (!r->text.error && process.node) {
		const uint8_t *name = r->text.data + off;
		size_t len = r->text.len - off;

		process.number = inv_words_add(&r->cast.words, name, len);
		if (process.number)
			n = add(r, &process, name, len);
	}
	if (!n)
		r->rc = INV_ENOMEM;
	r->text.len = off;
	return n;
}

/* Reads the elements of {Name,Node}, whose TUPLE token was just read. */
static int elsewhere(struct inv_rows *r, uint32_t *process)
{
	uint8_t name[2 * INV_ATOM_CHARS * 2];
	struct inv_token tok, node;
	int rc = inv__rows_must(inv_cursor_next(r->cursor, &tok));

	if (rc)
		return rc;
	if (tok.kind != INV_TOK_ATOM || tok.len > sizeof(name)) {
		rc = inv_cursor_skip_rest(r->cursor, &tok);
		return rc ? rc : inv__rows_must(inv_cursor_skip(r->cursor));
	}
	/* The token is valid only until the next token is read. */
	memcpy(name, tok.bytes, tok.len);
	tok.bytes = name;
	rc = inv__rows_must(inv_cursor_next(r->cursor, &node));
	if (rc)
		return rc;
	if (node.kind != INV_TOK_ATOM)
		return inv_cursor_skip_rest(r->cursor, &node);
	*process = named(r, &tok, node.bytes, node.len);
	return 0;
}

int inv__rows_receiver(struct inv_rows *r, const struct inv_item *it,
		       uint32_t *process)
{
	struct inv_token tok;
	uint32_t depth = inv_cursor_depth(r->cursor);
	int rc = inv__rows_must(inv_cursor_next(r->cursor, &tok));

	*process = 0;
	if (rc)
		return rc;
	switch (tok.kind) {
	case INV_TOK_PID:
	case INV_TOK_PORT:
		*process = inv__rows_process(r, it, &tok);
		return 0;
	case INV_TOK_ATOM:
		*process =
			named(r, &tok, it->node->name, strlen(it->node->name));
		return 0;
	case INV_TOK_TUPLE:
		if (tok.count != 2)
			return inv_cursor_skip_rest(r->cursor, &tok);
		rc = elsewhere(r, process);
		return rc ? rc :
			    inv__rows_must(inv_cursor_leave(r->cursor, depth));
	default:
		/* The receiver can be an alias. An alias is a reference, and
		 * does not contain the pid of its process. */
		return inv_cursor_skip_rest(r->cursor, &tok);
	}
}
