/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_MATCH_BUILD_H
#define TEST_MATCH_BUILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "match/match.h"
#include "term/tree_print.h"
#include "term/tree_text.h"

/* Makes terms and specs from text, for tests of match specs. A failure ends
 * the test. */

static inv_word match_words[1 << 16];
static struct inv_heap match_heap = { .w = match_words, .cap = 1 << 16 };
static struct inv_match_run match_run;
static struct inv_buf match_out;

static inline inv_word match_term(const char *text)
{
	struct inv_err err = { 0 };
	inv_word t = 0;

	if (inv_tree_parse(&match_heap, text, &t, &err))
		fail_msg("%s: %s", text, err.text);
	return t;
}

static inline void match_reset(void)
{
	match_heap.used = 0;
}

static inline int match_make(struct inv_match *m, const char *spec,
			     unsigned otp)
{
	struct inv_err err;

	return inv_match_make(m, match_term(spec), otp, INV_MATCH_CALL, &err);
}

static inline const char *match_result(void)
{
	static const struct inv_print_opts w;

	if (!match_run.matched)
		return "no match";
	inv_buf_reset(&match_out);
	assert_int_equal(inv_tree_print(match_run.result, &match_out, &w), 0);
	if (match_run.flags & INV_MATCH_RETURN_TRACE)
		inv_buf_puts(&match_out, " +return_trace");
	if (match_run.flags & INV_MATCH_EXCEPTION_TRACE)
		inv_buf_puts(&match_out, " +exception_trace");
	inv_buf_putc(&match_out, '\0');
	return (const char *)match_out.data;
}

static inline const char *match_code(int rc)
{
	inv_buf_reset(&match_out);
	inv_buf_printf(&match_out, "code %d", rc);
	inv_buf_putc(&match_out, '\0');
	return (const char *)match_out.data;
}
/*
 * Runs the spec with a list of arguments; both are given as text. Returns
 * "RESULT" or "RESULT +return_trace +exception_trace" if the spec matches, "no
 * match" if not. Returns "error: TEXT", with the first error, if the spec is
 * invalid, and "code -N" if a function of c_src/match returns -N.
 */
static inline const char *match_answer(const char *spec, const char *args,
				       unsigned otp)
{
	static struct inv_match_world world = { .idle = true };
	struct inv_match m;
	inv_word t, a[64];
	const char *answer;
	size_t n = 0;
	int rc;

	match_reset();
	rc = match_make(&m, spec, otp);
	for (t = match_term(args); inv_is_cons(t) && n < 64; t = inv_cons(t)[1])
		a[n++] = inv_cons(t)[0];
	match_run.heap = &match_heap;
	match_run.world = &world;
	match_run.steps = INV_MATCH_STEPS;
	if (rc == INV_EINVAL) {
		inv_buf_reset(&match_out);
		inv_buf_printf(&match_out, "error: %s",
			       m.spec.diags.first->text);
		inv_buf_putc(&match_out, '\0');
		answer = (const char *)match_out.data;
	} else {
		if (!rc)
			rc = inv_match_run(&m.prog, &match_run, a, n);
		answer = rc ? match_code(rc) : match_result();
	}
	inv_match_release(&m);
	return answer;
}

#endif
