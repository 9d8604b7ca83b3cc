/* SPDX-License-Identifier: Apache-2.0 */
#include "cnode/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/varint.h"

/* A message has at most INV_PACK_BYTES / 3 definitions, because each definition
 * takes at least 3 of the INV_PACK_BYTES bytes that a message may have. Besides
 * its message, an event has only a few small terms. */
#define DEFS_MAX (2 * INV_PACK_DEFS_FULL)
#define SLOTS (2 * DEFS_MAX)
_Static_assert(INV_PACK_BYTES / 3 + 64 < INV_PACK_DEFS_FULL, "room for a term");

/* If there are more nodes than this, all nodes get new numbers. The old numbers
 * are not used again. */
#define NODES_MAX 1024u
#define NODE_SLOTS (2 * NODES_MAX)

struct inv_pack_def {
	uint32_t off; /* offset of the entry's bytes in def_bytes */
	uint32_t len;
	uint64_t hash;
};

struct inv_pack_node {
	uint64_t hash; /* hash of the node's name and creation; 0: the entry
			  is empty */
	uint32_t number;
};

int inv_pack_init(struct inv_pack *p, const char *home, uint32_t creation)
{
	memset(p, 0, offsetof(struct inv_pack, cursor));
	p->home = home;
	p->creation = creation;
	p->defs = calloc(DEFS_MAX, sizeof(*p->defs));
	p->slots = calloc(SLOTS, sizeof(*p->slots));
	p->nodes = calloc(NODE_SLOTS, sizeof(*p->nodes));
	if (p->defs && p->slots && p->nodes)
		return 0;
	inv_pack_release(p);
	return INV_ENOMEM;
}

void inv_pack_release(struct inv_pack *p)
{
	inv_buf_release(&p->terms);
	inv_buf_release(&p->def_bytes);
	free(p->defs);
	free(p->slots);
	free(p->nodes);
	p->defs = NULL;
	p->slots = NULL;
	p->nodes = NULL;
}

void inv_pack_clear(struct inv_pack *p)
{
	inv_buf_reset(&p->terms);
	inv_buf_reset(&p->def_bytes);
	if (p->n_defs > 0)
		memset(p->slots, 0, SLOTS * sizeof(*p->slots));
	p->n_defs = 0;
	p->def_len = 0;
}

/* --- bytes ---------------------------------------------------------------- */

static void put_byte(struct inv_pack *p, unsigned byte)
{
	inv_buf_putc(&p->terms, (char)byte);
}

static void put_varint(struct inv_buf *b, uint64_t v)
{
	uint8_t *w = inv_buf_reserve(b, INV_VARINT_MAX);

	if (w)
		inv_buf_commit(b, (size_t)(inv_varint_put(w, v) - w));
}

static void put_code(struct inv_pack *p, unsigned code, uint64_t v)
{
	put_byte(p, code);
	put_varint(&p->terms, v);
}

/* Writes a term that is a code, a length, and bytes. */
static void put_sized(struct inv_pack *p, unsigned code, const void *bytes,
		      size_t n)
{
	put_code(p, code, n);
	inv_buf_put(&p->terms, bytes, n);
}

static void put_missing(struct inv_pack *p, unsigned code, enum inv_cut kind,
			uint64_t n)
{
	put_byte(p, code);
	put_byte(p, kind);
	put_varint(&p->terms, n);
	p->cut = true;
}

static size_t used(const struct inv_pack *p)
{
	return p->terms.len + p->def_len;
}

/* Returns the remaining budget of the current term. */
static size_t left(const struct inv_pack *p)
{
	return p->limit > used(p) ? p->limit - used(p) : 0;
}

static bool is_spent(const struct inv_pack *p)
{
	return used(p) >= p->limit;
}

/* --- the dictionary ------------------------------------------------------- */

/*
 * Returns the number of the definition whose bytes were just appended to
 * def_bytes, from `off' on: the number of an equal definition, or a new number.
 * Returns UINT32_MAX if there is no memory.
 */
static uint32_t number_of(struct inv_pack *p, size_t off)
{
	const uint8_t *bytes = p->def_bytes.data + off;
	size_t len = p->def_bytes.len - off;
	const struct inv_pack_def *d;
	uint64_t hash;
	uint32_t i;

	if (p->def_bytes.error || p->n_defs == DEFS_MAX) {
		p->terms.error = INV_ENOMEM;
		return UINT32_MAX;
	}
	hash = XXH3_64bits(bytes, len);
	for (i = hash % SLOTS; p->slots[i]; i = (i + 1) % SLOTS) {
		d = &p->defs[p->slots[i] - 1];
		if (d->hash == hash && d->len == len &&
		    memcmp(p->def_bytes.data + d->off, bytes, len) == 0) {
			p->def_bytes.len = off;
			return p->slots[i] - 1;
		}
	}
	p->defs[p->n_defs] =
		(struct inv_pack_def){ (uint32_t)off, (uint32_t)len, hash };
	p->slots[i] = ++p->n_defs;
	p->def_len += len;
	return p->n_defs - 1;
}

/* Returns the number of the entry, and defines it if it is not defined yet. */
static uint32_t define(struct inv_pack *p, enum inv_def kind,
		       const struct inv_buf *numbers, const void *name,
		       size_t len)
{
	size_t off = p->def_bytes.len;
	size_t n = numbers ? numbers->len : 0;

	inv_buf_putc(&p->def_bytes, (char)kind);
	put_varint(&p->def_bytes, n + len);
	if (numbers)
		inv_buf_put(&p->def_bytes, numbers->data, n);
	inv_buf_put(&p->def_bytes, name, len);
	return number_of(p, off);
}

/* Writes two numbers to `room', and makes *b a buffer of these bytes. The
 * buffer needs no release. */
static void two_numbers(struct inv_buf *b, uint8_t room[2 * INV_VARINT_MAX],
			uint64_t first, const uint64_t *second)
{
	uint8_t *w = inv_varint_put(room, first);

	if (second)
		w = inv_varint_put(w, *second);
	*b = (struct inv_buf){ .data = room, .len = (size_t)(w - room) };
}

static void put_entry(struct inv_pack *p, uint32_t number)
{
	if (number < 64)
		put_byte(p, INV_T_DICT_SMALL + number);
	else
		put_code(p, INV_T_DICT, number);
}

static void put_atom(struct inv_pack *p, const void *name, size_t len)
{
	put_entry(p, define(p, INV_DEF_ATOM, NULL, name, len));
}

void inv_pack_put_defs(const struct inv_pack *p, struct inv_buf *out)
{
	for (uint32_t i = p->n_defs; i > 0; i--)
		inv_buf_put(out, p->def_bytes.data + p->defs[i - 1].off,
			    p->defs[i - 1].len);
}

/* --- identifiers ---------------------------------------------------------- */

static struct inv_pack_node *find_node(struct inv_pack *p, uint64_t hash)
{
	uint32_t i = hash % NODE_SLOTS;

	while (p->nodes[i].hash && p->nodes[i].hash != hash)
		i = (i + 1) % NODE_SLOTS;
	return &p->nodes[i];
}

/*
 * Returns the number of a node in pids, the X in <X.1.0>: 0 for this node.
 * Another node gets a number, which it keeps in the whole log (but see
 * NODES_MAX). Also defines the number in this packet.
 */
static uint64_t node_number(struct inv_pack *p, const void *name, size_t len,
			    uint32_t creation)
{
	uint8_t room[2 * INV_VARINT_MAX];
	const uint64_t second = creation;
	struct inv_pack_node *n;
	struct inv_buf numbers;
	uint64_t hash;

	if (len == 0 ||
	    (len == strlen(p->home) && !memcmp(name, p->home, len) &&
	     (creation == p->creation || creation == 0)))
		return 0;
	hash = XXH3_64bits_withSeed(name, len, creation) | 1;
	n = find_node(p, hash);
	if (!n->hash) {
		if (p->n_nodes == NODES_MAX) {
			memset(p->nodes, 0, NODE_SLOTS * sizeof(*p->nodes));
			p->n_nodes = 0;
			n = find_node(p, hash);
		}
		*n = (struct inv_pack_node){ hash, ++p->last_node };
		p->n_nodes++;
	}
	two_numbers(&numbers, room, n->number, &second);
	define(p, INV_DEF_NODE, &numbers, name, len);
	return n->number;
}

static void put_pid(struct inv_pack *p, uint64_t node, uint64_t number,
		    uint64_t serial)
{
	uint8_t room[2 * INV_VARINT_MAX];
	struct inv_buf numbers;

	if (node) {
		put_code(p, INV_T_XPID, node);
		put_varint(&p->terms, number);
		put_varint(&p->terms, serial);
		return;
	}
	two_numbers(&numbers, room, number, &serial);
	put_entry(p, define(p, INV_DEF_PID, &numbers, NULL, 0));
}

static void put_port(struct inv_pack *p, uint64_t node, uint64_t number)
{
	uint8_t room[2 * INV_VARINT_MAX];
	struct inv_buf numbers;

	if (node) {
		put_code(p, INV_T_XPORT, node);
		put_varint(&p->terms, number);
		return;
	}
	two_numbers(&numbers, room, number, NULL);
	put_entry(p, define(p, INV_DEF_PORT, &numbers, NULL, 0));
}

static void put_ref(struct inv_pack *p, const struct inv_token *tok)
{
	put_code(p, INV_T_REF,
		 node_number(p, tok->bytes, tok->len, tok->creation));
	put_varint(&p->terms, tok->n_ids);
	for (unsigned i = 0; i < tok->n_ids; i++)
		put_varint(&p->terms, tok->id[i]);
}

/* --- terms ---------------------------------------------------------------- */

void inv_pack_int(struct inv_pack *p, int64_t v)
{
	if (v >= 0 && v < 64)
		put_byte(p, (unsigned)v);
	else
		put_code(p, INV_T_INT, inv_zigzag(v));
}

void inv_pack_tuple(struct inv_pack *p, uint32_t arity)
{
	if (arity < 16)
		put_byte(p, INV_T_TUPLE_SMALL + arity);
	else
		put_code(p, INV_T_TUPLE, arity);
}

void inv_pack_nil(struct inv_pack *p)
{
	put_byte(p, INV_T_NIL);
}

void inv_pack_atom(struct inv_pack *p, const char *name)
{
	put_atom(p, name, strlen(name));
}

void inv_pack_pid(struct inv_pack *p, const erlang_pid *pid)
{
	put_pid(p, node_number(p, pid->node, strlen(pid->node), pid->creation),
		pid->num, pid->serial);
}

static void put_big(struct inv_pack *p, const struct inv_token *tok)
{
	int64_t v;

	if (inv_token_i64(tok, &v)) {
		inv_pack_int(p, v);
	} else if (tok->len > left(p)) {
		put_missing(p, INV_T_HOLE, INV_CUT_INT, tok->len);
	} else {
		put_byte(p, INV_T_BIG);
		put_byte(p, tok->negative);
		put_varint(&p->terms, tok->len);
		inv_buf_put(&p->terms, tok->bytes, tok->len);
	}
}

static void put_binary(struct inv_pack *p, const struct inv_token *tok)
{
	uint64_t bits = tok->len ? 8 * (uint64_t)tok->len - 8 + tok->last_bits :
				   0;
	size_t n = left(p);

	if (tok->len > n) {
		put_code(p, INV_T_BINARY_CUT, bits);
		put_varint(&p->terms, n);
		inv_buf_put(&p->terms, tok->bytes, n);
		p->cut = true;
	} else if (bits % 8) {
		put_code(p, INV_T_BITS, bits);
		inv_buf_put(&p->terms, tok->bytes, tok->len);
	} else if (tok->len < 32) {
		put_byte(p, INV_T_BINARY_SMALL + (unsigned)tok->len);
		inv_buf_put(&p->terms, tok->bytes, tok->len);
	} else {
		put_sized(p, INV_T_BINARY, tok->bytes, tok->len);
	}
}

static void put_string(struct inv_pack *p, const struct inv_token *tok)
{
	size_t n = left(p);

	if (tok->len > n) {
		put_sized(p, INV_T_STRING_CUT, tok->bytes, n);
		put_byte(p, INV_CUT_LIST);
		put_varint(&p->terms, tok->len - n);
		p->cut = true;
	} else if (tok->len <= 16) {
		put_byte(p, INV_T_STRING_SMALL + (unsigned)tok->len - 1);
		inv_buf_put(&p->terms, tok->bytes, tok->len);
	} else {
		put_sized(p, INV_T_STRING, tok->bytes, tok->len);
	}
}

/* Writes a local fun as text, as the VM prints it. */
static void put_fun(struct inv_pack *p, const struct inv_token *tok)
{
	char ids[64];
	int n = snprintf(ids, sizeof(ids), ".%lld.%lld>",
			 (long long)(int64_t)tok->id[0],
			 (long long)(int64_t)tok->id[1]);

	put_code(p, INV_T_TEXT, 5 + tok->len + (size_t)n);
	inv_buf_put(&p->terms, "#Fun<", 5);
	inv_buf_put(&p->terms, tok->bytes, tok->len);
	inv_buf_put(&p->terms, ids, (size_t)n);
}

static void put_float(struct inv_pack *p, double f)
{
	put_byte(p, INV_T_FLOAT);
	inv_buf_put(&p->terms, &f, sizeof(f));
}

static int put_token(struct inv_pack *p, const struct inv_token *tok,
		     uint32_t depth);

static int put_next(struct inv_pack *p, uint32_t depth)
{
	struct inv_token tok;
	int r = inv_cursor_next(&p->cursor, &tok);

	return r ? r : put_token(p, &tok, depth);
}

/* Skips n elements of the innermost list and ends it. */
static int cut_list(struct inv_pack *p, uint32_t n)
{
	struct inv_token tok;
	uint32_t i;
	int r = 0;

	for (i = 0; i < n && r == 0; i++)
		r = inv_cursor_skip(&p->cursor);
	if (r == 0)
		r = inv_cursor_next(&p->cursor, &tok);
	if (r)
		return r;
	if (tok.kind == INV_TOK_END) {
		put_missing(p, INV_T_CUT, INV_CUT_LIST, n);
		return 0;
	}
	put_missing(p, INV_T_CUT, INV_CUT_LIST_MIN, n);
	r = inv_cursor_skip_rest(&p->cursor, &tok);
	return r ? r : inv_cursor_end(&p->cursor);
}

static int put_list(struct inv_pack *p, uint32_t n, uint32_t depth)
{
	struct inv_token tok;
	int r;

	put_byte(p, INV_T_LIST);
	for (uint32_t i = 0; i < n; i++) {
		if (is_spent(p))
			return cut_list(p, n - i);
		r = put_next(p, depth + 1);
		if (r)
			return r;
	}
	r = inv_cursor_next(&p->cursor, &tok);
	if (r)
		return r;
	if (tok.kind == INV_TOK_END) {
		put_byte(p, INV_T_END);
		return 0;
	}
	put_byte(p, INV_T_TAIL);
	r = put_token(p, &tok, depth + 1);
	return r ? r : inv_cursor_end(&p->cursor);
}

static int put_tuple(struct inv_pack *p, uint32_t n, uint32_t depth)
{
	uint32_t outside = inv_cursor_depth(&p->cursor) - 1;
	int r = 0;

	inv_pack_tuple(p, n);
	for (uint32_t i = 0; i < n && r == 0; i++) {
		if (is_spent(p)) {
			put_missing(p, INV_T_CUT, INV_CUT_TUPLE, n - i);
			break;
		}
		r = put_next(p, depth + 1);
	}
	return r ? r : inv_cursor_leave(&p->cursor, outside);
}

static int put_map(struct inv_pack *p, uint32_t n, uint32_t depth)
{
	uint32_t outside = inv_cursor_depth(&p->cursor) - 1;
	int r = 0;

	put_code(p, INV_T_MAP, n);
	for (uint32_t i = 0; i < n && r == 0; i++) {
		if (is_spent(p)) {
			put_missing(p, INV_T_CUT, INV_CUT_MAP, n - i);
			break;
		}
		r = put_next(p, depth + 1);
		if (r)
			return r;
		if (is_spent(p)) {
			put_missing(p, INV_T_HOLE, INV_CUT_OTHER, 0);
			r = inv_cursor_skip(&p->cursor);
		} else {
			r = put_next(p, depth + 1);
		}
	}
	return r ? r : inv_cursor_leave(&p->cursor, outside);
}

static int put_container(struct inv_pack *p, const struct inv_token *tok,
			 uint32_t depth)
{
	static const uint8_t cuts[] = { [INV_TOK_TUPLE] = INV_CUT_TUPLE,
					[INV_TOK_LIST] = INV_CUT_LIST_MIN,
					[INV_TOK_MAP] = INV_CUT_MAP };

	if (tok->count > 0 && depth >= INV_PACK_DEPTH) {
		put_missing(p, INV_T_HOLE, cuts[tok->kind], tok->count);
		return inv_cursor_skip_rest(&p->cursor, tok);
	}
	switch (tok->kind) {
	case INV_TOK_TUPLE:
		return put_tuple(p, tok->count, depth);
	case INV_TOK_LIST:
		return put_list(p, tok->count, depth);
	default:
		return put_map(p, tok->count, depth);
	}
}

static void put_export(struct inv_pack *p, const struct inv_token *tok)
{
	put_byte(p, INV_T_EXPORT);
	put_atom(p, tok->bytes, tok->len);
	put_atom(p, tok->bytes2, tok->len2);
	inv_pack_int(p, tok->count);
}

/* Writes the term that begins with this token. Recurses for at most
 * INV_PACK_DEPTH levels. */
static int put_token(struct inv_pack *p, const struct inv_token *tok,
		     uint32_t depth)
{
	switch (tok->kind) {
	case INV_TOK_INT:
		inv_pack_int(p, tok->i);
		return 0;
	case INV_TOK_BIG:
		put_big(p, tok);
		return 0;
	case INV_TOK_FLOAT:
		put_float(p, tok->f);
		return 0;
	case INV_TOK_ATOM:
		put_atom(p, tok->bytes, tok->len);
		return 0;
	case INV_TOK_PID:
		put_pid(p, node_number(p, tok->bytes, tok->len, tok->creation),
			tok->id[0], tok->id[1]);
		return 0;
	case INV_TOK_PORT:
		put_port(p, node_number(p, tok->bytes, tok->len, tok->creation),
			 tok->id[0]);
		return 0;
	case INV_TOK_REF:
		put_ref(p, tok);
		return 0;
	case INV_TOK_BINARY:
		put_binary(p, tok);
		return 0;
	case INV_TOK_STRING:
		put_string(p, tok);
		return 0;
	case INV_TOK_NIL:
		inv_pack_nil(p);
		return 0;
	case INV_TOK_TUPLE:
	case INV_TOK_LIST:
	case INV_TOK_MAP:
		return put_container(p, tok, depth);
	case INV_TOK_EXPORT:
		put_export(p, tok);
		return 0;
	case INV_TOK_FUN:
		put_fun(p, tok);
		return 0;
	default:
		return INV_EDAMAGED;
	}
}

void inv_pack_etf(struct inv_pack *p, const char *bytes, size_t len)
{
	size_t begin = p->terms.len;

	p->limit = used(p) + INV_PACK_BYTES;
	inv_cursor_init(&p->cursor, INV_ENC_ETF, NULL, bytes, len);
	if (put_next(p, 0) == 0)
		return;
	/* The definitions remain in the packet, which does no harm. */
	p->terms.len = begin;
	put_missing(p, INV_T_HOLE, INV_CUT_OTHER, 0);
}
