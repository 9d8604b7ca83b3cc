/* SPDX-License-Identifier: Apache-2.0 */
#include "match/diag.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "term/print_int.h"
#include "term/tree_number.h"

/* Text of a fixed size; what does not fit is dropped, and `full` set. */
struct text {
	char *p;
	size_t left; /* without the zero */
	bool full;
};

static void put(struct text *o, const void *p, size_t n)
{
	if (n > o->left) {
		n = o->left;
		o->full = true;
	}
	memcpy(o->p, p, n);
	o->p += n;
	o->left -= n;
}

static void puts_to(struct text *o, const char *s)
{
	put(o, s, strlen(s));
}

static void put_u64(struct text *o, uint64_t v)
{
	uint8_t digits[INV_DECIMAL_MAX];

	put(o, digits, (size_t)(inv_decimal_u64(digits, v) - digits));
}

static void put_i64(struct text *o, int64_t v)
{
	uint8_t digits[INV_DECIMAL_MAX];

	put(o, digits, (size_t)(inv_decimal_i64(digits, v) - digits));
}

/* --- a term as the VM's own "%T" prints it -------------------------------- */

static void put_term(struct text *o, inv_word t);

/* Quoted unless it is made of letters, digits, _ and @ and begins small. */
static void put_atom(struct text *o, const inv_word *b)
{
	struct inv_buf out = { 0 };

	inv__print_vm_atom(inv_box_ptr(b, 1), inv_box_n(b), &out);
	put(o, out.data, out.error ? 0 : out.len);
	inv_buf_release(&out);
}

static void put_big(struct text *o, const inv_word *b)
{
	struct inv_token tok = { .kind = INV_TOK_BIG,
				 .negative = inv_box_has(b, INV_BOX_NEGATIVE),
				 .bytes = (const uint8_t *)(b + 1),
				 .len = 8 * inv_box_n(b) };
	struct inv_buf out = { 0 };

	inv__print_big(&tok, &out);
	put(o, out.data, out.error ? 0 : out.len);
	inv_buf_release(&out);
}

static void put_ids(struct text *o, const char *open, const inv_word *b)
{
	puts_to(o, open);
	put_u64(o, b[1]);
	for (size_t i = 0; i < inv_box_n(b); i++) {
		puts_to(o, ".");
		put_u64(o, b[5 + i]);
	}
	puts_to(o, ">");
}

static bool is_text_char(uint64_t c)
{
	return c < 256 && ((c >= 32 && c != 127) || (c >= 9 && c <= 13));
}

static bool is_string(inv_word t)
{
	for (; inv_is_cons(t); t = inv_cons(t)[1]) {
		inv_word head = inv_cons(t)[0];

		if (!inv_is_small(head) || inv_small(head) < 0 ||
		    !is_text_char((uint64_t)inv_small(head)))
			return false;
	}
	return t == INV_NIL;
}

static void put_string(struct text *o, inv_word t)
{
	puts_to(o, "\"");
	for (; inv_is_cons(t) && !o->full; t = inv_cons(t)[1]) {
		char c = (char)inv_small(inv_cons(t)[0]);

		if (c == '\n') {
			puts_to(o, "\\n");
			continue;
		}
		if (c == '"')
			puts_to(o, "\\");
		put(o, &c, 1);
	}
	puts_to(o, "\"");
}

static void put_list(struct text *o, inv_word t)
{
	if (is_string(t)) {
		put_string(o, t);
		return;
	}
	puts_to(o, "[");
	put_term(o, inv_cons(t)[0]);
	for (t = inv_cons(t)[1]; inv_is_cons(t) && !o->full;
	     t = inv_cons(t)[1]) {
		puts_to(o, ",");
		put_term(o, inv_cons(t)[0]);
	}
	if (t != INV_NIL) {
		puts_to(o, "|");
		put_term(o, t);
	}
	puts_to(o, "]");
}

static bool is_text(const uint8_t *p, uint64_t n)
{
	while (n > 0)
		if (p[--n] < 32 || p[n] > 126)
			return false;
	return true;
}

static void put_bits(struct text *o, const inv_word *b)
{
	uint64_t n = inv_box_n(b), i;
	const uint8_t *p = inv_box_ptr(b, 1);

	if (n > 0 && n % 8 == 0 && b[2] == 0 && is_text(p, n / 8)) {
		puts_to(o, "<<\"");
		for (i = 0; i < n / 8 && !o->full; i++) {
			if (p[i] == '"')
				puts_to(o, "\\");
			put(o, &p[i], 1);
		}
		puts_to(o, "\">>");
		return;
	}
	puts_to(o, "<<");
	for (i = 0; i < n / 8 && !o->full; i++) {
		unsigned v = ((unsigned)p[i] << b[2] |
			      (b[2] ? (unsigned)p[i + 1] >> (8 - b[2]) : 0)) &
			     0xff;

		if (i > 0)
			puts_to(o, ",");
		put_u64(o, v);
	}
	if (n % 8) {
		unsigned v = (unsigned)p[i] << 8;

		if (b[2] + n % 8 > 8)
			v |= p[i + 1];
		v = (v << b[2] & 0xffff) >> (16 - n % 8);
		if (i > 0)
			puts_to(o, ",");
		put_u64(o, v);
		puts_to(o, ":");
		put_u64(o, n % 8);
	}
	puts_to(o, ">>");
}

static void put_words(struct text *o, const inv_word *w, size_t n, size_t pairs)
{
	for (size_t i = 0; i < n && !o->full; i++) {
		if (i > 0)
			puts_to(o, pairs && i % 2 ? "=>" : ",");
		put_term(o, w[i]);
	}
	puts_to(o, "}");
}

static void put_float(struct text *o, const inv_word *b)
{
	char digits[40];
	double f;

	memcpy(&f, b + 1, sizeof(f));
	snprintf(digits, sizeof(digits), "%e", f);
	puts_to(o, digits);
}

static void put_fun(struct text *o, const inv_word *b)
{
	if (inv_box_kind(b) == INV_BOX_EXPORT) {
		puts_to(o, "fun ");
		put_atom(o, inv_box(b[1]));
		puts_to(o, ":");
		put_atom(o, inv_box(b[2]));
		puts_to(o, "/");
		put_u64(o, inv_box_n(b));
		return;
	}
	if (inv_box_kind(b) == INV_BOX_TEXT) {
		put(o, inv_box_ptr(b, 1), inv_box_n(b));
		return;
	}
	puts_to(o, "#Fun<");
	put(o, inv_box_ptr(inv_box(b[1]), 1), inv_box_n(inv_box(b[1])));
	puts_to(o, ".");
	put_i64(o, (int64_t)b[2]);
	puts_to(o, ".");
	put_i64(o, (int64_t)b[3]);
	puts_to(o, ">");
}

static void put_box(struct text *o, const inv_word *b)
{
	switch (inv_box_kind(b)) {
	case INV_BOX_ATOM:
		put_atom(o, b);
		break;
	case INV_BOX_INT:
		put_i64(o, (int64_t)b[1]);
		break;
	case INV_BOX_BIG:
		put_big(o, b);
		break;
	case INV_BOX_FLOAT:
		put_float(o, b);
		break;
	case INV_BOX_TUPLE:
		puts_to(o, "{");
		put_words(o, b + 1, inv_box_n(b), 0);
		break;
	case INV_BOX_MAP:
		puts_to(o, "#{");
		put_words(o, b + 1, 2 * inv_box_n(b), 1);
		break;
	case INV_BOX_BITS:
		put_bits(o, b);
		break;
	case INV_BOX_PID:
		put_ids(o, "<", b);
		break;
	case INV_BOX_PORT:
		put_ids(o, "#Port<", b);
		break;
	case INV_BOX_REF:
		put_ids(o, "#Ref<", b);
		break;
	case INV_BOX_HOLE:
		puts_to(o, "...");
		break;
	default:
		put_fun(o, b);
	}
}

/* Recurses at most as deep as there is room: each level takes a byte. */
static void put_term(struct text *o, inv_word t)
{
	if (o->full)
		return;
	if (inv_is_box(t))
		put_box(o, inv_box(t));
	else if (inv_is_cons(t))
		put_list(o, t);
	else if (inv_is_small(t))
		put_i64(o, inv_small(t));
	else
		puts_to(o, "[]");
}

size_t inv_vm_print(inv_word t, char *buf, size_t size)
{
	struct text o = { .p = buf, .left = size - 1 };

	put_term(&o, t);
	*o.p = '\0';
	return (size_t)(o.p - buf);
}

/* --- diagnostics ---------------------------------------------------------- */

void inv_diag_add(struct inv_diags *d, const char *fmt, inv_word t, uint64_t n,
		  const char *s)
{
	inv_word *w = inv_heap_take(d->heap, (sizeof(struct inv_diag) + 7) / 8);
	struct inv_diag *x = (struct inv_diag *)w;
	struct text o;

	if (!x) {
		d->full = true;
		return;
	}
	o = (struct text){ .p = x->text, .left = INV_DIAG_MAX - 1 };
	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			put(&o, fmt, 1);
			continue;
		}
		fmt++;
		if (*fmt == 'T')
			put_term(&o, t);
		else if (*fmt == 'N')
			put_u64(&o, n);
		else
			puts_to(&o, s);
	}
	*o.p = '\0';
	x->next = NULL;
	*(d->last ? d->last : &d->first) = x;
	d->last = &x->next;
}
