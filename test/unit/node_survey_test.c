/* SPDX-License-Identifier: Apache-2.0 */
#include "node/survey.h"

#include <stdio.h>

#include "node/payload.h"
#include "unit/node_answer.h"
#include "unit/node_peer.h"

static struct inv_survey survey;
static struct inv_err err;

/* What a node like this one answers. */
static const char *const usual[INV_SURVEY_ASKS] = {
	"~s", "~s", "~s", "8", "{unix,linux}", "~s", "[]", "{error,enoent}",
};

static void give(struct inv_ask *asks, size_t at, const char *term)
{
	static const char *const texts[INV_SURVEY_ASKS] = {
		"25", "13.1.5", "x86_64-pc-linux-gnu", NULL, NULL, "2.16"
	};
	ei_x_buff x;

	assert_int_equal(ei_x_new(&x), 0);
	if (!strcmp(term, "~s"))
		assert_int_equal(ei_x_encode_string(&x, texts[at]), 0);
	else
		assert_int_equal(ei_x_format_wo_ver(&x, term), 0);
	answer_x(&asks[at], &x);
}

static int surveyed(size_t at, const char *term)
{
	struct inv_ask asks[INV_SURVEY_ASKS] = { 0 };
	int r;

	for (size_t i = 0; i < INV_SURVEY_ASKS; i++)
		give(asks, i, i == at ? term : usual[i]);
	r = inv_survey_got(asks, &survey, &err);
	for (size_t i = 0; i < INV_SURVEY_ASKS; i++)
		answer_free(&asks[i]);
	return r;
}

static void what_a_node_answers_is_read(void **state)
{
	(void)state;
	assert_int_equal(surveyed(6, "['a@h','inviso-12ab@h','/x@h','b@h']"),
			 0);
	assert_int_equal(survey.otp, 25);
	assert_string_equal(survey.version, "13.1.5");
	assert_string_equal(survey.arch, "x86_64-pc-linux-gnu");
	assert_int_equal(survey.bits, 64);
	assert_string_equal(survey.os, "linux");
	assert_int_equal(survey.nif_major, 2);
	assert_int_equal(survey.nif_minor, 16);
	assert_false(survey.musl);
	assert_int_equal(survey.others.n, 2);
	assert_string_equal(survey.others.names[0].full, "a@h");
	assert_string_equal(survey.others.names[1].full, "b@h");
	inv_survey_release(&survey);
}

static void nonsense_is_an_error_with_the_answer_in_it(void **state)
{
	static const struct {
		size_t at;
		const char *term, *words;
	} cases[] = {
		{ 0, "{badrpc,{'EXIT',oops}}", "oops" },
		{ 0, "17", "17" },
		{ 3, "eight", "eight" },
		{ 3, "99999999", "99999999" },
		{ 4, "{unix}", "unix" },
		{ 4, "[]", "[]" },
		{ 6, "nodes", "nodes" },
		{ 6, "[1,2]", "1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(surveyed(cases[i].at, cases[i].term) < 0);
		if (!strstr(err.text, cases[i].words))
			fail_msg("'%s' does not have %s", err.text,
				 cases[i].words);
		inv_survey_release(&survey);
	}
}

/* Refused, with these words. */
static void refused(bool tracer, const char *words)
{
	assert_int_equal(inv_survey_check(&survey, tracer, &err), INV_EINVAL);
	if (!strstr(err.text, words))
		fail_msg("'%s' does not have %s", err.text, words);
	inv_survey_release(&survey);
}

static void a_node_of_another_kind_is_refused_in_words(void **state)
{
	(void)state;
	assert_int_equal(surveyed(0, "[50,52]"), 0);
	refused(false, "OTP 24");
	assert_int_equal(surveyed(0, "r16b"), 0);
	refused(false, "25 is the oldest");
	assert_int_equal(surveyed(4, "{win32,nt}"), 0);
	refused(true, "only Linux");
	assert_int_equal(surveyed(3, "4"), 0);
	refused(true, "32-bit");
}

static void arch_is(const char *arch)
{
	struct inv_ask asks[INV_SURVEY_ASKS] = { 0 };
	ei_x_buff x;

	for (size_t i = 0; i < INV_SURVEY_ASKS; i++)
		if (i != 2)
			give(asks, i, usual[i]);
	assert_int_equal(ei_x_new(&x), 0);
	assert_int_equal(ei_x_encode_string(&x, arch), 0);
	answer_x(&asks[2], &x);
	assert_int_equal(inv_survey_got(asks, &survey, &err), 0);
	for (size_t i = 0; i < INV_SURVEY_ASKS; i++)
		answer_free(&asks[i]);
}

static void another_processor_and_musl_are_refused_by_name(void **state)
{
	(void)state;
	arch_is("s390x-ibm-linux-gnu");
	refused(true, "s390x-ibm-linux-gnu");
	arch_is("x86_64-alpine-linux-musl");
	if (survey.machine == inv_payload_machine())
		refused(true, "musl");
	arch_is("s390x-ibm-linux-gnu");
	/* modules run anywhere */
	assert_int_equal(inv_survey_check(&survey, false, &err), 0);
	inv_survey_release(&survey);
}

static void musl_is_known_by_its_loader(void **state)
{
	static const char maps[] =
		"7f00-7f01 r-xp 00000000 08:01 1 /lib/ld-musl-x86_64.so.1\n";
	struct inv_ask asks[INV_SURVEY_ASKS] = { 0 };
	ei_x_buff x;

	(void)state;
	for (size_t i = 0; i + 1 < INV_SURVEY_ASKS; i++)
		give(asks, i, usual[i]);
	assert_int_equal(ei_x_new(&x), 0);
	assert_int_equal(ei_x_encode_tuple_header(&x, 2), 0);
	assert_int_equal(ei_x_encode_atom(&x, "ok"), 0);
	assert_int_equal(ei_x_encode_binary(&x, maps, sizeof(maps) - 1), 0);
	answer_x(&asks[7], &x);
	assert_int_equal(inv_survey_got(asks, &survey, &err), 0);
	assert_true(survey.musl);
	inv_survey_release(&survey);
	for (size_t i = 0; i < INV_SURVEY_ASKS; i++)
		answer_free(&asks[i]);
}

static void a_real_node_is_fit(void **state)
{
	struct inv_ask asks[INV_SURVEY_ASKS] = { 0 };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;

	(void)state;
	start_peer(&p, "survey", NULL);
	c = connect_to(in, p.name, NULL);
	inv_survey_ask(asks, c, 10000);
	assert_int_equal(inv_gather(in, asks, INV_SURVEY_ASKS, -1), 0);
	assert_int_equal(inv_survey_got(asks, &survey, &err), 0);
	inv_asks_release(asks, INV_SURVEY_ASKS);
	assert_true(survey.otp >= 25);
	assert_int_equal(survey.machine, inv_payload_machine());
	assert_int_equal(survey.others.n, 0); /* we are no part of it */
	assert_int_equal(inv_survey_check(&survey, true, &err), 0);
	inv_survey_release(&survey);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void an_ask_to_a_node_that_is_lost_is_done(void **state)
{
	struct inv_ask asks[INV_SURVEY_ASKS] = { 0 };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;

	(void)state;
	start_peer(&p, "lost", NULL);
	c = connect_to(in, p.name, NULL);
	kill(p.pid, SIGSTOP);
	inv_survey_ask(asks, c, 10000);
	kill(p.pid, SIGKILL);
	assert_int_equal(inv_gather(in, asks, INV_SURVEY_ASKS, -1), 0);
	assert_int_equal(inv_survey_got(asks, &survey, &err), INV_ELOST);
	inv_asks_release(asks, INV_SURVEY_ASKS);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void gathering_ends_when_the_user_wants_it_to(void **state)
{
	struct inv_ask asks[INV_SURVEY_ASKS] = { 0 };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;
	int stop[2];

	(void)state;
	assert_int_equal(pipe(stop), 0);
	start_peer(&p, "stopped", NULL);
	c = connect_to(in, p.name, NULL);
	kill(p.pid, SIGSTOP);
	inv_survey_ask(asks, c, 10000);
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(inv_gather(in, asks, INV_SURVEY_ASKS, stop[0]),
			 INV_ECANCELLED);
	inv_asks_release(asks, INV_SURVEY_ASKS);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
	close(stop[0]);
	close(stop[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_node_answers_is_read),
		cmocka_unit_test(nonsense_is_an_error_with_the_answer_in_it),
		cmocka_unit_test(a_node_of_another_kind_is_refused_in_words),
		cmocka_unit_test(
			another_processor_and_musl_are_refused_by_name),
		cmocka_unit_test(musl_is_known_by_its_loader),
		cmocka_unit_test(a_real_node_is_fit),
		cmocka_unit_test(an_ask_to_a_node_that_is_lost_is_done),
		cmocka_unit_test(gathering_ends_when_the_user_wants_it_to),
	};

	return cmocka_run_group_tests(tests, start_epmd, stop_epmd);
}
