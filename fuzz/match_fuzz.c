/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs arbitrary match specs on arbitrary arguments.
 *
 *	byte 0    bits 0, 1: the kind of the rest
 *	          bits 2 to 4: the release minus 25
 *	          bits 5, 6: the event
 *	          bit 7: the process is `idle' (match/run.h)
 *	the rest  of kind 0: a spec and arguments, as external terms
 *	          of kind 1: a spec, a zero byte, arguments, as text
 *	          of kind 2: instructions of four bytes, for the verifier
 *	          of kind 3: a call with conditions, as text
 *
 * The target checks that a compiled program can be verified and explained, and
 * that a verified program ends. A second run must have the same result. An
 * invalid spec must give an error with a text.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "match/explain.h"
#include "match/match.h"
#include "match/selector.h"
#include "term/tree_print.h"
#include "term/tree_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TERM_WORDS 20000
#define ARGS 16
#define CONSTS 8

static inv_word term_words[TERM_WORDS], result_words[TERM_WORDS];
static struct inv_heap terms = { .w = term_words, .cap = TERM_WORDS };
static struct inv_heap results = { .w = result_words, .cap = TERM_WORDS };
static struct inv_cursor cursor;
static struct inv_match_run runs[2];
static struct inv_buf out;

/* --- running -------------------------------------------------------------- */

static int run(struct inv_match_run *r, const struct inv_match_prog *p,
	       const inv_word *args, size_t n, bool idle)
{
	static struct inv_match_world world;

	world.idle = idle;
	r->heap = &results;
	r->world = &world;
	r->steps = 10000;
	return inv_match_run(p, r, args, n);
}

static void run_twice(const struct inv_match_prog *p, inv_word list, bool idle)
{
	static const struct inv_print_opts w;
	inv_word args[ARGS];
	uint64_t steps = 100000;
	bool equal;
	size_t n = 0;
	int first;

	for (; inv_is_cons(list) && n < ARGS; list = inv_cons(list)[1])
		args[n++] = inv_cons(list)[0];
	results.used = 0;
	first = run(&runs[0], p, args, n, idle);
	CHECK(first <= 0);
	/* The second run uses the part of the heap that the first run left
	 * free, so that the first result stays valid for the comparison. */
	if (run(&runs[1], p, args, n, idle) != first || first)
		return;
	CHECK(runs[0].matched == runs[1].matched);
	CHECK(runs[0].flags == runs[1].flags);
	if (!inv_tree_eq(runs[0].result, runs[1].result,
			 INV_CMP_EXACT | INV_CMP_ZEROS, &steps, &equal))
		CHECK(equal);
	inv_buf_reset(&out);
	inv_tree_print(runs[0].result, &out, &w);
	inv_tree_etf(runs[0].result, "a@b", 0, &out);
}

static void make_and_run(inv_word spec, inv_word args, unsigned flags)
{
	unsigned otp = 25 + (flags >> 2 & 7) % 5;
	struct inv_match m;
	struct inv_err err;
	int rc = inv_match_make(&m, spec, otp,
				(enum inv_match_event)((flags >> 5 & 3) % 3),
				&err);

	if (rc == INV_EINVAL)
		CHECK(m.spec.diags.first);
	if (!rc) {
		CHECK(inv_match_verify(&m.prog, &err) == 0);
		inv_buf_reset(&out);
		inv_match_explain(&m.spec, otp, &out);
		inv_match_disassemble(&m.prog, &out);
		run_twice(&m.prog, args, flags & 0x80);
	}
	inv_match_release(&m);
}

/* --- inputs --------------------------------------------------------------- */

static void etf(const uint8_t *p, size_t len, unsigned flags)
{
	inv_word spec, args;

	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, p, len);
	if (inv_tree_read(&terms, &cursor, &spec))
		return;
	if (inv_tree_read(&terms, &cursor, &args))
		args = INV_NIL;
	make_and_run(spec, args, flags);
}

static void text(const uint8_t *p, size_t len, unsigned flags)
{
	char *copy = malloc(len + 2);
	struct inv_err err;
	inv_word spec, args;
	size_t n;

	CHECK(copy);
	if (len > 0)
		memcpy(copy, p, len);
	copy[len] = copy[len + 1] = '\0';
	n = strlen(copy);
	if (!inv_tree_parse(&terms, copy, &spec, &err)) {
		if (n >= len ||
		    inv_tree_parse(&terms, copy + n + 1, &args, &err))
			args = INV_NIL;
		make_and_run(spec, args, flags);
	}
	free(copy);
}

static void call(const uint8_t *p, size_t len, unsigned flags)
{
	char *copy = malloc(len + 1);
	struct inv_records records = { 0 };
	struct inv_selector s;
	struct inv_err err;
	inv_word spec;

	CHECK(copy);
	if (len > 0)
		memcpy(copy, p, len);
	copy[len] = '\0';
	/* The text from the first line end on is also read as a header file
	 * with records. */
	if (strchr(copy, '\n'))
		(void)inv_records_parse(&records, strchr(copy, '\n'), &err);
	if (!inv_selector_parse(&terms, copy, &records, &s, &err) &&
	    !inv_selector_events(&terms, &s, &spec, &err))
		make_and_run(spec, INV_NIL, flags);
	inv_records_release(&records);
	free(copy);
}

static void code(const uint8_t *p, size_t len, unsigned flags)
{
	static const char *const texts[CONSTS] = {
		"true",
		"[a|b]",
		"{1,2.0}",
		"#{k => v}",
		"[]",
		"<<1:3>>",
		"18446744073709551616",
		"[1,2,3]",
	};
	struct inv_match_prog prog = { .n_consts = CONSTS, .n_vars = 4 };
	static const uint32_t names[4] = { 0, 1, 2, 3 };
	inv_word consts[CONSTS];
	struct inv_err err;
	uint32_t *words = malloc(len + 4);

	CHECK(words);
	for (unsigned i = 0; i < CONSTS; i++)
		CHECK(!inv_tree_parse(&terms, texts[i], &consts[i], &err));
	if (len > 0)
		memcpy(words, p, len);
	prog.code = words;
	prog.n_code = (uint32_t)(len / 4);
	prog.consts = consts;
	prog.names = names;
	inv_buf_reset(&out);
	inv_match_disassemble(&prog, &out);
	if (!inv_match_verify(&prog, &err))
		run_twice(&prog, consts[7], flags & 0x80);
	free(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	terms.used = 0;
	if ((data[0] & 3) == 1)
		text(data + 1, size - 1, data[0]);
	else if ((data[0] & 3) == 2)
		code(data + 1, size - 1, data[0]);
	else if ((data[0] & 3) == 3)
		call(data + 1, size - 1, data[0]);
	else
		etf(data + 1, size - 1, data[0]);
	return 0;
}
