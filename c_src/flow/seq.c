/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/seq.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "flow/seq_int.h"

uint64_t inv_seq_node(const char *name, size_t len)
{
	return inv_node_key(name, len);
}

uint64_t inv_seq_home(const struct inv_node *node)
{
	return node->key ? node->key :
			   inv_seq_node(node->name, strlen(node->name));
}

/* --- pids ----------------------------------------------------------------- */

/* Returns the hash of the name of a node: the node of tok, where tok is a pid,
 * a port or a reference. */
static uint64_t node_of(const struct inv_item *it, const struct inv_token *tok)
{
	const struct inv_dict_entry *e;

	if (tok->len)
		return inv_seq_node((const char *)tok->bytes, tok->len);
	if (!tok->node)
		return inv_seq_home(it->node);
	e = it->ev.dict ? inv_dict_node(it->ev.dict, tok->node) : NULL;
	/* The node is unknown, but it is not this node. */
	if (!e)
		return inv__seq_mix(it->node->number, tok->node);
	return inv_seq_node((const char *)e->bytes, e->len);
}

static uint64_t hash_pid(const struct inv_token *tok, uint64_t node)
{
	uint64_t h = inv__seq_mix(inv__seq_mix(node, tok->id[0]), tok->id[1]);

	return h ? h : 1; /* 0 means that there is no process */
}

uint64_t inv_seq_pid(const struct inv_item *it, const struct inv_token *tok)
{
	return hash_pid(tok, node_of(it, tok));
}

/* --- labels --------------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t h, const uint8_t *p, size_t len)
{
	return inv__seq_mix(h, len ? XXH3_64bits(p, len) : 0);
}

static uint64_t hash_ref(uint64_t h, const struct inv_item *it,
			 const struct inv_token *tok)
{
	h = inv__seq_mix(h, node_of(it, tok));
	for (unsigned i = 0; i < tok->n_ids; i++)
		h = inv__seq_mix(h, tok->id[i]);
	return h;
}

uint64_t inv__seq_token(const struct inv_item *it, const struct inv_token *tok)
{
	uint64_t h = tok->kind;

	switch (tok->kind) {
	case INV_TOK_PID:
		return inv__seq_mix(h, hash_pid(tok, node_of(it, tok)));
	case INV_TOK_PORT:
		return inv__seq_mix(inv__seq_mix(h, tok->id[0]),
				    node_of(it, tok));
	case INV_TOK_REF:
		return hash_ref(h, it, tok);
	case INV_TOK_INT:
		return inv__seq_mix(h, (uint64_t)tok->i);
	case INV_TOK_BIG:
		return hash_bytes(inv__seq_mix(h, tok->negative), tok->bytes,
				  tok->len);
	case INV_TOK_FLOAT:
		return inv__seq_mix(h, tok->id[0]);
	case INV_TOK_ATOM:
	case INV_TOK_STRING:
	case INV_TOK_TEXT:
		return hash_bytes(h, tok->bytes, tok->len);
	case INV_TOK_BINARY:
		return hash_bytes(inv__seq_mix(h,
					       tok->cut ? 0 : tok->last_bits),
				  tok->bytes, tok->len);
	case INV_TOK_EXPORT:
		h = hash_bytes(inv__seq_mix(h, tok->count), tok->bytes,
			       tok->len);
		return hash_bytes(h, tok->bytes2, tok->len2);
	case INV_TOK_FUN:
		h = inv__seq_mix(inv__seq_mix(h, tok->id[0]), tok->id[1]);
		return hash_bytes(h, tok->bytes, tok->len);
	case INV_TOK_TUPLE:
	case INV_TOK_MAP:
		return inv__seq_mix(h, tok->count);
	case INV_TOK_END:
		return inv__seq_mix(h, tok->of);
	default:
		/* Of a list only the kind is hashed, because its length can be
		 * unknown. */
		return inv__seq_mix(h, 0);
	}
}

/* Hashes the term whose first token is tok. Reads it to its end. */
static bool hash_term(struct inv_cursor *c, const struct inv_item *it,
		      struct inv_token *tok, uint64_t *hash)
{
	uint64_t h = inv__seq_token(it, tok);

	while (inv_cursor_depth(c)) {
		if (inv_cursor_next(c, tok))
			return false;
		h = inv__seq_mix(h, inv__seq_token(it, tok));
	}
	*hash = h;
	return true;
}

/* --- the message ---------------------------------------------------------- */

/* Returns the kind of the message, which is the next term. Does not read the
 * term to its end. */
static enum inv_seq_signal classify(struct inv_cursor *c,
				    const struct inv_item *it,
				    const struct inv_seq *s)
{
	struct inv_token tok;
	uint32_t arity;

	if (inv_cursor_next(c, &tok) || tok.kind == INV_TOK_HOLE ||
	    tok.kind == INV_TOK_CUT)
		return INV_SIGNAL_UNKNOWN;
	arity = tok.count;
	if (tok.kind != INV_TOK_TUPLE || inv_cursor_next(c, &tok) ||
	    tok.kind != INV_TOK_ATOM)
		return INV_SIGNAL_MESSAGE;
	if (inv_token_is(&tok, "spawn_request") && arity >= 6)
		return INV_SIGNAL_SPAWN;
	if (inv_token_is(&tok, "spawn_reply") && arity == 4)
		return INV_SIGNAL_SPAWN_REPLY;
	if (!inv_token_is(&tok, "EXIT") || arity != 3 ||
	    inv_cursor_next(c, &tok))
		return INV_SIGNAL_MESSAGE;
	/* An exit signal is {'EXIT', Sender, Reason}. A process can also send
	 * an ordinary message {'EXIT', Pid, Reason}, where Pid is another
	 * process. */
	return tok.kind == INV_TOK_PID &&
			       hash_pid(&tok, node_of(it, &tok)) == s->from ?
		       INV_SIGNAL_EXIT :
		       INV_SIGNAL_MESSAGE;
}

bool inv__seq_kind(struct inv_seq *s, const struct inv_token *tok)
{
	if (inv_token_is(tok, "send"))
		s->kind = INV_SEQ_SEND;
	else if (inv_token_is(tok, "receive"))
		s->kind = INV_SEQ_RECEIVE;
	else if (inv_token_is(tok, "print"))
		s->kind = INV_SEQ_PRINT;
	else
		return false;
	return true;
}

static bool read_kind(struct inv_cursor *c, struct inv_seq *s)
{
	struct inv_token tok;

	return !inv_cursor_next(c, &tok) && tok.kind == INV_TOK_TUPLE &&
	       tok.count == 5 && !inv_cursor_next(c, &tok) &&
	       inv__seq_kind(s, &tok);
}

static bool read_serial(struct inv_cursor *c, struct inv_seq *s)
{
	struct inv_token tok;
	int64_t prev, cur;

	if (inv_cursor_next(c, &tok) || tok.kind != INV_TOK_TUPLE ||
	    tok.count != 2 || inv_cursor_int(c, &prev) ||
	    inv_cursor_int(c, &cur) || inv_cursor_end(c))
		return false;
	s->prev = (uint64_t)prev;
	s->cur = (uint64_t)cur;
	return true;
}

bool inv__seq_from(struct inv_seq *s, const struct inv_item *it,
		   const struct inv_token *tok)
{
	/* The sender of an exit signal can be a port. */
	if (tok->kind != INV_TOK_PID && tok->kind != INV_TOK_PORT)
		return false;
	s->from_node = node_of(it, tok);
	s->from = hash_pid(tok, s->from_node);
	return true;
}

static bool read_from(struct inv_cursor *c, struct inv_seq *s,
		      const struct inv_item *it)
{
	struct inv_token tok;

	return !inv_cursor_next(c, &tok) && inv__seq_from(s, it, &tok);
}

bool inv__seq_to(struct inv_seq *s, const struct inv_item *it,
		 const struct inv_token *tok)
{
	if (tok->kind == INV_TOK_PID) {
		uint64_t node = node_of(it, tok);

		s->to = hash_pid(tok, node);
		s->within = node == s->from_node;
	} else if (tok->kind == INV_TOK_PORT && s->kind == INV_SEQ_SEND)
		s->signal = INV_SIGNAL_PORT;
	/* In a spawn on another node, the receiver is the node's name. */
	else if (tok->kind == INV_TOK_ATOM && s->kind == INV_SEQ_SEND &&
		 memchr(tok->bytes, '@', tok->len))
		s->signal = INV_SIGNAL_SPAWN_ARGS;
	return s->to || s->kind != INV_SEQ_RECEIVE;
}

static bool read_to(struct inv_cursor *c, struct inv_seq *s,
		    const struct inv_item *it)
{
	struct inv_token tok;

	if (inv_cursor_next(c, &tok))
		return false;
	if (tok.kind == INV_TOK_TUPLE || tok.kind == INV_TOK_LIST ||
	    tok.kind == INV_TOK_MAP)
		return !inv_cursor_skip_rest(c, &tok);
	return inv__seq_to(s, it, &tok);
}

bool inv__seq_terms(struct inv_seq *s, struct inv_cursor *c,
		    const struct inv_item *it)
{
	enum inv_seq_signal signal;
	struct inv_token tok;

	memset(s, 0, sizeof(*s));
	if (inv_event_tracee(&it->ev, c, &tok) ||
	    !hash_term(c, it, &tok, &s->label) || !read_kind(c, s) ||
	    !read_serial(c, s) || !read_from(c, s, it) || !read_to(c, s, it))
		return false;
	if (s->kind == INV_SEQ_PRINT || s->signal == INV_SIGNAL_PORT)
		return true;
	signal = classify(c, it, s);
	if (s->signal != INV_SIGNAL_SPAWN_ARGS || signal == INV_SIGNAL_SPAWN)
		s->signal = signal;
	return true;
}

bool inv_seq_read(struct inv_seq *s, struct inv_cursor *c,
		  const struct inv_item *it)
{
	return !it->ev.bare &&
	       (inv__seq_packed(s, it) || inv__seq_terms(s, c, it));
}

const char *inv_signal_text(enum inv_seq_signal signal)
{
	switch (signal) {
	case INV_SIGNAL_SPAWN:
		return "spawn_request";
	case INV_SIGNAL_SPAWN_ARGS:
		return "spawn_arguments";
	case INV_SIGNAL_SPAWN_REPLY:
		return "spawn_reply";
	case INV_SIGNAL_EXIT:
		return "exit";
	case INV_SIGNAL_PORT:
		return "port";
	default:
		return NULL;
	}
}
