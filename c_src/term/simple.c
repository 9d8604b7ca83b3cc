/* SPDX-License-Identifier: Apache-2.0 */
#include "term/simple.h"

#include <string.h>

#include "base/likely.h"
#include "base/varint.h"
#include "term/cursor_int.h"

/* The functions of this file recurse at most this deep: a term that is nested
 * more deeply is not simple (term/simple.h). */
#define DEPTH_MAX 16u

struct reader {
	const uint8_t *p;
	const uint8_t *end;
	const struct inv_dict *dict;
	struct inv_buf *out;
	bool text; /* true in the style ~p: strings are printed as text */
	const struct inv_print_opts *o;
};

/* Returns true if the cursor is at depth 0, or in a tuple that has at least one
 * more element. */
static bool is_before_term(const struct inv_cursor *c)
{
	const struct inv_cursor_frame *f;

	if (!c->depth)
		return true;
	f = &c->stack[c->depth - 1];
	return f->kind == INV_FRAME_TUPLE && f->left;
}

static bool can_read(const struct inv_cursor *c, const struct inv_print_opts *o)
{
	return !o->depth && !o->syntax && c->enc == INV_ENC_PACKED && c->dict &&
	       !c->error && !c->pending && is_before_term(c);
}

static bool get_varint(struct reader *r, uint64_t *v)
{
	const uint8_t *p = inv_varint_get(r->p, r->end, v);

	if (!p)
		return false;
	r->p = p;
	return true;
}

/* --- printing --------------------------------------------------------------- */

static bool put_int(struct reader *r, int64_t v)
{
	uint8_t *w = inv_buf_reserve(r->out, INV_DECIMAL_MAX);

	if (!w)
		return false;
	if (v >= 0 && v < 10)
		*w++ = (uint8_t)('0' + v);
	else
		w = inv_decimal_i64(w, v);
	r->out->len = (size_t)(w - r->out->data);
	return true;
}

/* Prints the pid <node.number.serial>. */
static bool put_pid(struct reader *r, uint64_t node, uint64_t number,
		    uint64_t serial)
{
	uint8_t *w = inv_buf_reserve(r->out, 3 * INV_DECIMAL_MAX + 4);

	if (!w)
		return false;
	*w++ = '<';
	w = inv_decimal_u64(w, node);
	*w++ = '.';
	w = inv_decimal_u64(w, number);
	*w++ = '.';
	w = inv_decimal_u64(w, serial);
	*w++ = '>';
	r->out->len = (size_t)(w - r->out->data);
	return true;
}

/* Prints a pid of another node. */
static bool put_xpid(struct reader *r, uint64_t node)
{
	uint64_t number, serial;

	return get_varint(r, &number) && get_varint(r, &serial) &&
	       put_pid(r, node, number, serial);
}

static bool put_ref(struct reader *r, uint64_t node)
{
	uint64_t n, word;

	if (!get_varint(r, &n) || n > INV_REF_WORDS)
		return false;
	inv_buf_put(r->out, "#Ref<", 5);
	inv_buf_u64(r->out, node);
	for (; n; n--) {
		if (!get_varint(r, &word))
			return false;
		inv_buf_putc(r->out, '.');
		inv_buf_u64(r->out, word);
	}
	inv_buf_putc(r->out, '>');
	return true;
}

/* Prints "{m,f,". */
static bool put_function(struct reader *r, const struct inv_dict_function *f)
{
	if (!f->module->plain || !f->function->plain ||
	    inv_print_record(r->o, f->module->bytes, f->module->len, 3))
		return false;
	inv_buf_putc(r->out, '{');
	inv_buf_put(r->out, f->module->bytes, f->module->len);
	inv_buf_putc(r->out, ',');
	inv_buf_put(r->out, f->function->bytes, f->function->len);
	inv_buf_putc(r->out, ',');
	return true;
}

/* Prints {m,f,Arity}. */
static bool put_arity(struct reader *r, uint64_t number)
{
	struct inv_dict_function f;

	if (!inv_dict_function(r->dict, number, &f) || !put_function(r, &f) ||
	    !put_int(r, f.arity))
		return false;
	inv_buf_putc(r->out, '}');
	return true;
}

/* The 64-bit number that has the same byte eight times. */
#define EACH(byte) ((byte)*UINT64_C(0x0101010101010101))

/* Returns true if all n bytes are ASCII characters that need no escape in a
 * string. */
static bool is_text(const uint8_t *p, size_t n)
{
	/* Tests eight bytes at a time. The high bit of a byte of `bad' is set
	 * if the byte is not ASCII, is below ' ', or is DEL, " or \. A borrow
	 * or carry can set the high bit of the next byte, too. This does no
	 * harm: it happens only if the high bit of another byte is set. */
	for (; n >= 8; p += 8, n -= 8) {
		uint64_t v, quote, slash, bad;

		memcpy(&v, p, 8);
		quote = v ^ EACH(0x22u);
		slash = v ^ EACH(0x5cu);
		bad = v | (v - EACH(0x20u)) | (v + EACH(0x01u)) |
		      (quote - EACH(1u)) | (slash - EACH(1u));
		if (bad & EACH(0x80u))
			return false;
	}
	for (size_t i = 0; i < n; i++)
		if (p[i] < ' ' || p[i] > '~' || p[i] == '"' || p[i] == '\\')
			return false;
	return true;
}

/* Prints an atom that may need quotes. If there are definitions of records,
 * returns false: the atom can be the tag of a record, which only inv_term_print
 * can print. */
static bool put_odd_atom(struct reader *r, const struct inv_dict_entry *e)
{
	if (r->o->fields[0] || r->o->fields[1] || !is_text(e->bytes, e->len) ||
	    memchr(e->bytes, '\'', e->len))
		return false;
	inv_term_print_atom(e->bytes, e->len, r->out, r->o);
	return true;
}

static bool put_entry(struct reader *r, uint64_t number)
{
	const struct inv_dict_entry *e = inv_dict_get(r->dict, number);

	if (!e)
		return false;
	if (e->kind == INV_DEF_PID)
		return put_pid(r, 0, e->number, e->serial);
	if (e->kind == INV_DEF_FUNCTION)
		return put_arity(r, number);
	if (e->kind != INV_DEF_ATOM)
		return false;
	if (!e->plain)
		return put_odd_atom(r, e);
	inv_buf_put(r->out, e->bytes, e->len);
	return true;
}

/* The texts of the numbers from 0 to 259, each with a comma after it. The texts
 * of 256 to 259 are not used. */
#define TEN(tens)                                                   \
#tens "0,", #tens "1,", #tens "2,", #tens "3,", #tens "4,", \
		#tens "5,", #tens "6,", #tens "7,", #tens "8,", #tens "9,"
static const char numbers[260][4] = {
	TEN(),	 TEN(1),  TEN(2),  TEN(3),  TEN(4),  TEN(5),  TEN(6),
	TEN(7),	 TEN(8),  TEN(9),  TEN(10), TEN(11), TEN(12), TEN(13),
	TEN(14), TEN(15), TEN(16), TEN(17), TEN(18), TEN(19), TEN(20),
	TEN(21), TEN(22), TEN(23), TEN(24), TEN(25),
};

/* Writes a number from 0 to 255 and a comma at w, which has space for 4 bytes. */
static inline uint8_t *put_byte(uint8_t *w, unsigned v)
{
	memcpy(w, numbers[v], 4);
	return w + 2 + (v >= 10) + (v >= 100);
}

/* Prints the next n bytes as a string or a binary. */
static bool put_bytes(struct reader *r, uint64_t n, bool is_binary)
{
	bool quoted = r->text && n;
	uint8_t *w;

	if (n > (uint64_t)(r->end - r->p) || (quoted && !is_text(r->p, n)))
		return false;
	w = inv_buf_reserve(r->out, 4 * n + 6);
	if (!w)
		return false;
	if (is_binary) {
		*w++ = '<';
		*w++ = '<';
	}
	if (quoted) {
		*w++ = '"';
		memcpy(w, r->p, n);
		w += n;
		*w++ = '"';
	} else {
		if (!is_binary)
			*w++ = '[';
		for (uint64_t i = 0; i < n; i++)
			w = put_byte(w, r->p[i]);
		w -= n > 0; /* removes the last comma */
		if (!is_binary)
			*w++ = ']';
	}
	if (is_binary) {
		*w++ = '>';
		*w++ = '>';
	}
	r->out->len = (size_t)(w - r->out->data);
	r->p += n;
	return true;
}

static bool put_binary(struct reader *r, uint64_t n)
{
	return put_bytes(r, n, true);
}

/* Prints a list of n integers 0..255. n is never 0 in valid terms. */
static bool put_string(struct reader *r, uint64_t n)
{
	return n && put_bytes(r, n, false);
}

static bool put_term(struct reader *r, unsigned depth);

/*
 * The next term is the first element of a tuple of n elements. If the tuple is
 * a record, reads this element, prints "#" and the name of the record, and
 * returns the record's definition. Returns NULL if the tuple is no record, or
 * if its first element is an atom that may need quotes.
 */
static const struct inv_fields_def *get_record(struct reader *r, uint64_t n)
{
	const struct inv_fields_def *def;
	const struct inv_dict_entry *e;
	const uint8_t *before = r->p;
	uint64_t number;

	if (n < 2 || n > UINT32_MAX || r->p == r->end)
		return NULL;
	number = (uint64_t)*r->p++ - INV_T_DICT_SMALL;
	if (number >= INV_T_TUPLE_SMALL - INV_T_DICT_SMALL &&
	    (*before != INV_T_DICT || !get_varint(r, &number)))
		number = UINT64_MAX;
	e = inv_dict_get(r->dict, number);
	def = e && e->kind == INV_DEF_ATOM && e->plain ?
		      inv_print_record(r->o, e->bytes, e->len, (uint32_t)n) :
		      NULL;
	if (!def) {
		r->p = before;
		return NULL;
	}
	inv_buf_putc(r->out, '#');
	inv_buf_put(r->out, e->bytes, e->len);
	return def;
}

/* Prints the n fields of a record. */
static bool put_fields(struct reader *r, const struct inv_fields_def *def,
		       uint64_t n, unsigned depth)
{
	const uint8_t *name;
	size_t len;

	for (uint64_t i = 0; i < n; i++) {
		inv_buf_putc(r->out, i ? ',' : '{');
		name = inv_fields_name(def, (uint32_t)i, &len);
		inv_buf_put(r->out, name, len);
		inv_buf_put(r->out, " = ", 3);
		if (!put_term(r, depth))
			return false;
	}
	inv_buf_putc(r->out, '}');
	return true;
}

static bool put_tuple(struct reader *r, uint64_t n, unsigned depth)
{
	const struct inv_fields_def *def;

	if (inv_unlikely(r->o->fields[0] || r->o->fields[1])) {
		def = get_record(r, n);
		if (def)
			return put_fields(r, def, n - 1, depth);
	}
	inv_buf_putc(r->out, '{');
	for (uint64_t i = 0; i < n; i++) {
		if (i)
			inv_buf_putc(r->out, ',');
		if (!put_term(r, depth))
			return false;
	}
	inv_buf_putc(r->out, '}');
	return true;
}

static bool put_map(struct reader *r, uint64_t pairs, unsigned depth)
{
	inv_buf_puts(r->out, "#{");
	for (uint64_t i = 0; i < pairs; i++) {
		if (i)
			inv_buf_putc(r->out, ',');
		if (!put_term(r, depth))
			return false;
		inv_buf_put(r->out, " => ", 4);
		if (!put_term(r, depth))
			return false;
	}
	inv_buf_putc(r->out, '}');
	return true;
}

static bool is_int(unsigned code)
{
	return code < INV_T_DICT_SMALL || code == INV_T_INT;
}

/* Prints the elements of a list up to its END. Sets *ints to true if all are
 * integers. Returns false if the list ends with TAIL or CUT: for these codes
 * put_term returns false. */
static bool put_elements(struct reader *r, unsigned depth, size_t *ends,
			 unsigned max, uint32_t *n, bool *ints)
{
	for (*n = 0, *ints = true;; ++*n) {
		if (r->p == r->end)
			return false;
		if (*r->p == INV_T_END)
			break;
		*ints = *ints && is_int(*r->p);
		if (*n)
			inv_buf_putc(r->out, ',');
		if (!put_term(r, depth))
			return false;
		if (*n < max)
			ends[*n] = r->out->len;
	}
	r->p++;
	return true;
}

static bool put_list(struct reader *r, unsigned depth)
{
	uint32_t n;
	bool ints;

	inv_buf_putc(r->out, '[');
	if (!put_elements(r, depth, NULL, 0, &n, &ints))
		return false;
	inv_buf_putc(r->out, ']');
	/* In the style ~p a list of integers can be a string, which only
	 * inv_term_print can print. */
	return !ints || !r->text;
}

/* Prints the arguments of an APPLY. Returns false if they end with a CUT: for
 * this code put_term returns false. */
static bool put_args(struct reader *r, uint32_t arity, unsigned depth,
		     size_t *ends, unsigned max, bool *ints)
{
	*ints = true;
	for (uint32_t i = 0; i < arity; i++) {
		*ints = *ints && r->p < r->end && is_int(*r->p);
		if (i)
			inv_buf_putc(r->out, ',');
		if (!put_term(r, depth))
			return false;
		if (i < max)
			ends[i] = r->out->len;
	}
	return true;
}

/* Prints {m,f,[Arg, ...]}. */
static bool put_apply(struct reader *r, uint64_t number, unsigned depth)
{
	struct inv_dict_function f;
	bool ints;

	if (!inv_dict_function(r->dict, number, &f) || !put_function(r, &f))
		return false;
	inv_buf_putc(r->out, '[');
	if (!put_args(r, f.arity, depth, NULL, 0, &ints))
		return false;
	inv_buf_puts(r->out, "]}");
	/* In the style ~p a list of integers can be a string, which only
	 * inv_term_print can print. */
	return !f.arity || !ints || !r->text;
}

/* Prints a term whose code is 0xc0 or higher. */
static bool put_coded(struct reader *r, unsigned code, unsigned depth)
{
	uint64_t n;

	if (code >= INV_T_APPLY_SMALL)
		return put_apply(r, code - INV_T_APPLY_SMALL, depth);
	switch (code) {
	case INV_T_NIL:
		inv_buf_put(r->out, "[]", 2);
		return true;
	case INV_T_LIST:
		return put_list(r, depth);
	case INV_T_INT:
	case INV_T_DICT:
	case INV_T_TUPLE:
	case INV_T_MAP:
	case INV_T_BINARY:
	case INV_T_STRING:
	case INV_T_REF:
	case INV_T_XPID:
	case INV_T_APPLY:
		break;
	default:
		return false;
	}
	if (!get_varint(r, &n))
		return false;
	switch (code) {
	case INV_T_APPLY:
		return put_apply(r, n, depth);
	case INV_T_INT:
		return put_int(r, inv_unzigzag(n));
	case INV_T_DICT:
		return put_entry(r, n);
	case INV_T_TUPLE:
		return put_tuple(r, n, depth);
	case INV_T_MAP:
		return put_map(r, n, depth);
	case INV_T_BINARY:
		return put_binary(r, n);
	case INV_T_REF:
		return put_ref(r, n);
	case INV_T_XPID:
		return put_xpid(r, n);
	default:
		return put_string(r, n);
	}
}

static bool put_term(struct reader *r, unsigned depth)
{
	unsigned code;

	if (inv_unlikely(r->p == r->end || depth > DEPTH_MAX))
		return false;
	code = *r->p++;
	depth++;
	if (code < INV_T_DICT_SMALL)
		return put_int(r, code);
	if (code < INV_T_TUPLE_SMALL)
		return put_entry(r, code - INV_T_DICT_SMALL);
	if (code < INV_T_BINARY_SMALL)
		return put_tuple(r, code - INV_T_TUPLE_SMALL, depth);
	if (code < INV_T_STRING_SMALL)
		return put_binary(r, code - INV_T_BINARY_SMALL);
	if (code < INV_T_NIL)
		return put_string(r, code - INV_T_STRING_SMALL + 1);
	return put_coded(r, code, depth);
}

/* If `done' is true, moves the cursor after the term that was printed.
 * Otherwise removes the text that was printed, and does not move the cursor. */
static bool finish(struct inv_cursor *c, const struct reader *r, size_t before,
		   bool done)
{
	if (!done || r->out->error) {
		r->out->len = before;
		return false;
	}
	c->p = r->p;
	if (c->depth) {
		c->stack[c->depth - 1].left--;
		c->stack[c->depth - 1].fresh = 0;
	}
	return true;
}

bool inv_simple_print(struct inv_cursor *c, struct inv_buf *out,
		      const struct inv_print_opts *o)
{
	struct reader r = { c->p, c->end, c->dict, out, o->style == INV_PRINT_P,
			    o };
	size_t before = out->len;

	return can_read(c, o) && finish(c, &r, before, put_term(&r, 0));
}

bool inv_simple_print_elements(struct inv_cursor *c, struct inv_buf *out,
			       const struct inv_print_opts *o, size_t *ends,
			       unsigned max, uint32_t *n)
{
	struct reader r = { c->p, c->end, c->dict, out, o->style == INV_PRINT_P,
			    o };
	bool args = c->pending == INV_PENDING_LAST && c->with_args;
	size_t before = out->len;
	bool done, ints;

	if (args)
		c->pending = 0;
	done = !c->depth && can_read(c, o);
	if (done && args) {
		*n = c->function.arity;
		done = put_args(&r, *n, 1, ends, ends ? max : 0, &ints);
	} else if (done) {
		done = r.p < r.end && *r.p++ == INV_T_LIST &&
		       put_elements(&r, 1, ends, ends ? max : 0, n, &ints);
	}
	done = finish(c, &r, before, done);
	if (args && !done)
		c->pending = INV_PENDING_LAST;
	return done;
}

/* --- skipping --------------------------------------------------------------- */

static bool skip_terms(struct reader *r, uint64_t n, unsigned depth);

static bool skip_bytes(struct reader *r, uint64_t n)
{
	if (n > (uint64_t)(r->end - r->p))
		return false;
	r->p += n;
	return true;
}

static bool skip_list(struct reader *r, unsigned depth, uint32_t *n)
{
	for (*n = 0; r->p < r->end; ++*n) {
		if (*r->p == INV_T_END) {
			r->p++;
			return true;
		}
		if (!skip_terms(r, 1, depth))
			return false;
	}
	return false;
}

static bool skip_coded(struct reader *r, unsigned code, unsigned depth)
{
	uint32_t elements;
	uint64_t n;

	switch (code) {
	case INV_T_NIL:
		return true;
	case INV_T_LIST:
		return skip_list(r, depth, &elements);
	case INV_T_INT:
	case INV_T_DICT:
		return get_varint(r, &n);
	case INV_T_TUPLE:
		return get_varint(r, &n) && skip_terms(r, n, depth);
	case INV_T_MAP:
		return get_varint(r, &n) && n <= UINT32_MAX &&
		       skip_terms(r, 2 * n, depth);
	case INV_T_BINARY:
	case INV_T_STRING:
		return get_varint(r, &n) && skip_bytes(r, n);
	default:
		return false;
	}
}

static bool skip_terms(struct reader *r, uint64_t n, unsigned depth)
{
	bool done = depth++ <= DEPTH_MAX;

	for (; done && n; n--) {
		unsigned code;

		if (r->p == r->end)
			return false;
		code = *r->p++;
		if (code < INV_T_TUPLE_SMALL)
			continue;
		if (code < INV_T_BINARY_SMALL)
			done = skip_terms(r, code - INV_T_TUPLE_SMALL, depth);
		else if (code < INV_T_STRING_SMALL)
			done = skip_bytes(r, code - INV_T_BINARY_SMALL);
		else if (code < INV_T_NIL)
			done = skip_bytes(r, code - INV_T_STRING_SMALL + 1);
		else
			done = skip_coded(r, code, depth);
	}
	return done;
}

bool inv_simple_count(const uint8_t *p, const uint8_t *end, uint32_t *n)
{
	struct reader r = { p, end, NULL, NULL, false, NULL };

	return p < end && *r.p++ == INV_T_LIST && skip_list(&r, 1, n);
}
