/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs match specs for test/ct/inviso_match_SUITE.erl.
 *
 *	ms_oracle OTP-RELEASE NODE
 *
 * In:  4 bytes n, n bytes of term_to_binary({Args, Spec}); until the end of the
 *      input.
 * Out: 4 bytes n, n bytes of term_to_binary of
 *        {ok, Result, Flags}   as erlang:match_spec_test/3 has them
 *        {error, [String]}     the texts of its errors
 *        {cannot, Code}        enum inv_code: the program cannot compute this
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "match/match.h"

static struct inv_cursor cursor;
static struct inv_heap heap;   /* terms of the input */
static struct inv_heap answer; /* results of runs, and answers */
static struct inv_match match;
static struct inv_match_run run;
static struct inv_match_world world = { .idle = true };
static const char *node;
static unsigned otp;
static size_t kept; /* number of words in `heap' that all cases use */

static inv_word atom(const char *name)
{
	return inv_make_atom(&answer, name, strlen(name));
}

static inv_word tuple(size_t n, const inv_word *elements)
{
	inv_word *w = inv_make_tuple(&answer, n);

	if (!w)
		return 0;
	memcpy(w + 1, elements, n * sizeof(*w));
	return (inv_word)(uintptr_t)w;
}

static inv_word cannot(int code)
{
	answer.used = 0;
	return tuple(2, (inv_word[]){ atom("cannot"),
				      inv_make_int(&answer, code) });
}

static inv_word string(const char *s)
{
	inv_word l = INV_NIL;

	for (size_t i = strlen(s); i > 0; i--)
		l = inv_make_cons(&answer,
				  inv_make_int(&answer, (uint8_t)s[i - 1]), l);
	return l;
}

static inv_word errors(const struct inv_diags *d)
{
	inv_word l = INV_NIL, *tail = &l;

	for (const struct inv_diag *x = d->first; x; x = x->next) {
		inv_word cell =
			inv_make_cons(&answer, string(x->text), INV_NIL);

		*tail = cell;
		tail = (inv_word *)(uintptr_t)(cell - 2) + 1;
	}
	return tuple(2, (inv_word[]){ atom("error"), l });
}

static inv_word result(void)
{
	inv_word flags = INV_NIL;

	if (run.flags & INV_MATCH_EXCEPTION_TRACE)
		flags = inv_make_cons(&answer, atom("exception_trace"), flags);
	if (run.flags & INV_MATCH_RETURN_TRACE)
		flags = inv_make_cons(&answer, atom("return_trace"), flags);
	return tuple(3, (inv_word[]){ atom("ok"), run.result, flags });
}

static inv_word test(inv_word args, inv_word spec)
{
	struct inv_err err = { 0 };
	inv_word words[256], t;
	size_t n = 0;
	int rc;

	for (; inv_is_cons(args) && n < 256; args = inv_cons(args)[1])
		words[n++] = inv_cons(args)[0];
	inv_match_release(&match); /* The answer before this one referred to
				      terms in `match'. */
	rc = inv_match_make(&match, spec, otp, INV_MATCH_CALL, &err);
	if (rc == INV_EINVAL) {
		t = errors(&match.spec.diags);
	} else if (!rc) {
		run.steps = INV_MATCH_STEPS;
		rc = inv_match_run(&match.prog, &run, words, n);
		t = rc ? cannot(rc) : result();
	} else {
		t = cannot(rc);
	}
	return t;
}

static void one(struct inv_buf *out, const uint8_t *p, size_t len)
{
	inv_word in, t;
	size_t at = out->len;
	int rc;

	inv_buf_put(out, "nnnn", 4);
	heap.used = kept;
	answer.used = 0;
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, p, len);
	rc = inv_tree_read(&heap, &cursor, &in);
	t = rc ? cannot(rc) : test(inv_box(in)[1], inv_box(in)[2]);
	rc = inv_tree_etf(t, node, 0, out);
	if (rc) {
		out->len = at + 4;
		inv_tree_etf(cannot(rc), node, 0, out);
	}
	for (unsigned i = 0; i < 4; i++)
		out->data[at + i] =
			(uint8_t)((out->len - at - 4) >> (24 - 8 * i));
}

/* Returns a pid. Only its type matters. */
static inv_word self(void)
{
	inv_word *b = inv_heap_take(&heap, 7);

	if (!b)
		return 0;
	memset(b, 0, 7 * sizeof(*b));
	b[0] = inv_box_head(INV_BOX_PID, 0, 2);
	return (inv_word)(uintptr_t)b;
}

int main(int argc, char **argv)
{
	struct inv_buf in = { 0 }, out = { 0 };
	uint8_t head[4], *w;

	if (argc < 3)
		return 2;
	otp = (unsigned)strtoul(argv[1], NULL, 10);
	node = argv[2];
	if (inv_heap_new(&heap, 1 << 20) || inv_heap_new(&answer, 1 << 20))
		return 1;
	heap.node = node;
	heap.node_len = strlen(node);
	world.node = inv_make_atom(&heap, node, strlen(node));
	world.self = self();
	kept = heap.used;
	run.heap = &answer;
	run.world = &world;
	while (fread(head, 1, 4, stdin) == 4) {
		size_t n = (size_t)head[0] << 24 | (size_t)head[1] << 16 |
			   (size_t)head[2] << 8 | head[3];

		inv_buf_reset(&in);
		inv_buf_reset(&out);
		w = inv_buf_reserve(&in, n);
		if (!w || fread(w, 1, n, stdin) != n)
			return 1;
		one(&out, w, n);
		fwrite(out.data, 1, out.len, stdout);
		fflush(stdout);
	}
	inv_buf_release(&in);
	inv_buf_release(&out);
	inv_match_release(&match);
	inv_heap_free(&heap);
	inv_heap_free(&answer);
	return 0;
}
