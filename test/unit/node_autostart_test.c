/* SPDX-License-Identifier: Apache-2.0 */
#include "node/autostart.h"

#include <stdio.h>

#include "unit/node_answer.h"

static struct inv_autostart got;
static struct inv_err err;

static int answered(const char *term)
{
	struct inv_ask ask;
	int r;

	answer(&ask, term);
	r = inv_autostart_got(&ask, &got, &err);
	answer_free(&ask);
	return r;
}

static void answers_are_decoded(void **state)
{
	(void)state;
	assert_int_equal(answered("{ok,'/x/a.config',3,['{a}.',b],true}"), 0);
	assert_string_equal(got.file, "/x/a.config");
	assert_int_equal(got.starts, 3);
	assert_int_equal(got.lines.n, 2);
	assert_string_equal(got.lines.v[0], "{a}.");
	assert_true(got.started);
	inv_autostart_release(&got);
	assert_int_equal(answered("{ok,a,always,[],false}"), 0);
	assert_int_equal(got.starts, INV_STARTS_ALWAYS);
	assert_int_equal(got.lines.n, 0);
	assert_false(got.started);
	inv_autostart_release(&got);
}

static void failures_have_their_words(void **state)
{
	(void)state;
	assert_int_equal(answered("{error,usage,'no such case'}"), INV_EINVAL);
	assert_string_equal(err.text, "no such case");
	inv_autostart_release(&got);
	assert_int_equal(answered("{badrpc,{'EXIT',{undef,[{m,f,[],[]}]}}}"),
			 INV_EREMOTE);
	assert_non_null(strstr(err.text, "inviso is not installed"));
	inv_autostart_release(&got);
	assert_int_equal(answered("{badrpc,timeout}"), INV_EREMOTE);
	assert_non_null(strstr(err.text, "timeout"));
	inv_autostart_release(&got);
}

static void nonsense_is_refused(void **state)
{
	static const char *const terms[] = {
		"17",
		"ok",
		"{ok,a,1,[]}",
		"{ok,{a},1,[],true}",
		"{ok,a,{1},[],true}",
		"{ok,a,1,lines,true}",
		"{ok,a,1,[{a}],true}",
		"{ok,a,1,[],17}",
		"{ok,a,1,[],true,more}",
		"{error,usage}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++) {
		if (!answered(terms[i]))
			fail_msg("%s is taken", terms[i]);
		inv_autostart_release(&got);
	}
}

static void an_answer_cut_anywhere_is_refused(void **state)
{
	ei_x_buff x;

	(void)state;
	assert_int_equal(ei_x_new(&x), 0);
	assert_int_equal(ei_x_format_wo_ver(&x, "{ok,'/x',3,[b,c],true}"), 0);
	for (int len = 0; len < x.index; len++) {
		struct inv_ask ask;

		answer_bytes(&ask, x.buff, (size_t)len);
		if (!inv_autostart_got(&ask, &got, &err))
			fail_msg("%d bytes are taken", len);
		inv_autostart_release(&got);
		answer_free(&ask);
	}
	ei_x_free(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_decoded),
		cmocka_unit_test(failures_have_their_words),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(an_answer_cut_anywhere_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
