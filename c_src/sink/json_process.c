/* SPDX-License-Identifier: Apache-2.0 */
/* Processes as JSON objects: {"pid":"<0.88.0>","node":"a@h","name":"shop"}. */
#include "sink/json_int.h"

#include "log/names.h"

static void text(struct inv_json_sink *j, const char *key, const void *p,
		 size_t n)
{
	if (n)
		inv_json_bytes(&j->w, key, p, n);
	else
		inv_json_null(&j->w, key);
}

/* Writes the process's name from a ti file. If there is none, writes the name
 * that earlier events showed. */
static void name(struct inv_json_sink *j, const struct inv_item *it,
		 const struct inv_identity *id)
{
	const struct inv_name *n = NULL;

	if (id->at && id->at->names && id->kind == INV_TOK_PID)
		n = inv_names_find(id->at->names, id->number, id->serial);
	while (n && !inv_name_holds(n, it->ts_ns))
		n = n->next;
	if (n)
		text(j, "name", n->text, n->len);
	else
		text(j, "name", id->name.text, id->name.len);
}

/* Writes the pid or port identifier as the process's own node prints it. */
static void pid(struct inv_json_sink *j, const struct inv_identity *id)
{
	bool is_pid = id->kind == INV_TOK_PID;

	inv_json_begin(&j->w, "pid");
	inv_buf_puts(j->w.out, is_pid ? "<0." : "#Port<0.");
	inv_buf_u64(j->w.out, id->number);
	if (is_pid) {
		inv_buf_putc(j->w.out, '.');
		inv_buf_u64(j->w.out, id->serial);
	}
	inv_buf_puts(j->w.out, ">\"");
	j->w.more = true;
}

void inv_json_process(struct inv_json_sink *j, const char *key,
		      const struct inv_item *it, const struct inv_token *tok,
		      const struct inv_process_name *known)
{
	struct inv_identity id;

	if (!it->facts || !inv_flow_identify(it->facts->flow, it->node,
					     it->ev.dict, tok, &id))
		return;
	if (known)
		id.name = *known;
	inv_json_open(&j->w, key, '{');
	pid(j, &id);
	text(j, "node", id.node, id.node_len);
	name(j, it, &id);
	inv_json_close(&j->w, '}');
}

/* Writes the registered name in tok. Like all names of processes, it is written
 * as Erlang prints it. */
static int put_name(struct inv_json_sink *j, struct inv_token *tok)
{
	tok->sep = INV_SEP_NONE;
	return inv_json_term(j, "name", tok);
}

/* Writes a registered name as a receiver. */
static int registered(struct inv_json_sink *j, struct inv_token *tok,
		      const struct inv_node *node)
{
	int rc;

	inv_json_open(&j->w, "to", '{');
	inv_json_null(&j->w, "pid");
	text(j, "node", node->name, strlen(node->name));
	rc = put_name(j, tok);
	inv_json_close(&j->w, '}');
	return rc;
}

/* Writes {Name,Node} as a receiver. */
static int elsewhere(struct inv_json_sink *j, struct inv_cursor *c)
{
	struct inv_token tok;
	int rc;

	inv_json_open(&j->w, "to", '{');
	inv_json_null(&j->w, "pid");
	rc = inv_json_must(inv_cursor_next(c, &tok));
	if (!rc && tok.kind == INV_TOK_ATOM)
		rc = put_name(j, &tok);
	else if (!rc)
		rc = inv_json_must(inv_cursor_skip_rest(c, &tok));
	if (!rc)
		rc = inv_json_must(inv_cursor_next(c, &tok));
	if (!rc && tok.kind == INV_TOK_ATOM)
		text(j, "node", tok.bytes, tok.len);
	inv_json_close(&j->w, '}');
	return rc;
}

int inv_json_receiver(struct inv_json_sink *j, const struct inv_item *it)
{
	struct inv_cursor *c = j->sink.cursor;
	struct inv_token tok;
	int rc = inv_json_must(inv_cursor_next(c, &tok));

	if (rc)
		return rc;
	switch (tok.kind) {
	case INV_TOK_PID:
	case INV_TOK_PORT:
		inv_json_process(j, "to", it, &tok, NULL);
		return 0;
	case INV_TOK_ATOM:
		return registered(j, &tok, it->node);
	case INV_TOK_TUPLE:
		return tok.count == 2 ? elsewhere(j, c) : 0;
	default:
		/* An alias: the reference does not show to which process it
		 * belongs. */
		return 0;
	}
}

int inv_json_seq(struct inv_json_sink *j, const struct inv_item *it)
{
	struct inv_cursor *c = j->sink.cursor;
	struct inv_token tok;

	/* Reads {Kind, Serial, From, To, Message}. A payload of another form
	 * was already written, as "payload". */
	if (inv_event_tracee(&it->ev, c, &tok) ||
	    inv_event_payload(&it->ev, c) || inv_cursor_next(c, &tok) ||
	    tok.kind != INV_TOK_TUPLE || tok.count != 5 || inv_cursor_skip(c) ||
	    inv_cursor_skip(c) || inv_cursor_next(c, &tok))
		return 0;
	inv_json_process(j, "from", it, &tok, NULL);
	if (inv_cursor_skip_rest(c, &tok))
		return 0;
	return inv_json_receiver(j, it);
}
