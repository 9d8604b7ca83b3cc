/* SPDX-License-Identifier: Apache-2.0 */
#include "node/survey.h"

#include <stdio.h>

#include "node/payload.h"
#include "unit/node_answer.h"
#include "unit/node_peer.h"

static struct inv_survey survey;
static struct inv_err err;

/* The number of elements in the answer to the survey (the command's questions
 * about a node). `usual' is the answer of a node on this machine. */
#define ELEMENTS 7
static const char *const usual[ELEMENTS] = {
	"\"25\"", "\"13.1.5\"", "\"x86_64-pc-linux-gnu\"", "8", "linux",
	"[]",	  "false",
};

/* Decodes the usual answer, with element `at' replaced by another term. */
static int surveyed(size_t at, const char *term)
{
	struct inv_ask ask = { 0 };
	char text[512] = "";
	int r;

	for (size_t i = 0; i < ELEMENTS; i++) {
		strcat(text, i ? "," : "{");
		strcat(text, i == at ? term : usual[i]);
	}
	strcat(text, "}");
	answer(&ask, text);
	r = inv_survey_got(&ask, &survey, &err);
	answer_free(&ask);
	return r;
}

static void answers_are_decoded(void **state)
{
	(void)state;
	assert_int_equal(surveyed(5, "['a@h','inviso-12ab@h','/x@h','b@h']"),
			 0);
	assert_int_equal(survey.otp, 25);
	assert_string_equal(survey.version, "13.1.5");
	assert_string_equal(survey.arch, "x86_64-pc-linux-gnu");
	assert_int_equal(survey.bits, 64);
	assert_string_equal(survey.os, "linux");
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
		{ 0, "17", "17" },	 { 1, "{}", "{}" },
		{ 3, "eight", "eight" }, { 3, "99999999", "99999999" },
		{ 4, "{unix}", "unix" }, { 5, "nodes", "nodes" },
		{ 5, "[1,2]", "1" },	 { 6, "8", "8" },
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

static void any_other_answer_is_an_error_with_its_words(void **state)
{
	static const char *const terms[] = {
		"{badrpc,{'EXIT',oops}}",
		"{oops,2,3,4,5,6}",
		"oops",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
		struct inv_ask ask = { 0 };

		answer(&ask, terms[i]);
		assert_true(inv_survey_got(&ask, &survey, &err) < 0);
		assert_non_null(strstr(err.text, "oops"));
		inv_survey_release(&survey);
		answer_free(&ask);
	}
}

/* Checks that the node is refused, and that the error text contains `words'. */
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
	assert_int_equal(surveyed(0, "\"24\""), 0);
	refused(false, "OTP 24");
	assert_int_equal(surveyed(0, "\"R16B\""), 0);
	refused(false, "25 is the oldest");
	assert_int_equal(surveyed(4, "nt"), 0);
	refused(true, "only Linux");
	assert_int_equal(surveyed(3, "4"), 0);
	refused(true, "32-bit");
}

static void arch_is(const char *arch)
{
	char term[64];

	snprintf(term, sizeof(term), "\"%s\"", arch);
	assert_int_equal(surveyed(2, term), 0);
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
	/* Without the tracer, only modules are pushed to the node. These run on
	 * any architecture. */
	assert_int_equal(inv_survey_check(&survey, false, &err), 0);
	inv_survey_release(&survey);
}

static void musl_is_known_by_its_loader(void **state)
{
	(void)state;
	assert_int_equal(surveyed(6, "true"), 0);
	assert_true(survey.musl);
	inv_survey_release(&survey);
}

static void a_real_node_is_fit(void **state)
{
	struct inv_ask ask = { 0 };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;

	(void)state;
	start_peer(&p, "survey", NULL);
	c = connect_to(in, p.name, NULL);
	inv_survey_ask(&ask, c, 10000);
	assert_int_equal(inv_gather(in, &ask, 1, -1), 0);
	assert_int_equal(inv_survey_got(&ask, &survey, &err), 0);
	inv_asks_release(&ask, 1);
	assert_true(survey.otp >= 25);
	assert_int_equal(survey.machine, inv_payload_machine());
	assert_int_equal(survey.others.n, 0); /* the node's connection to this
						 command is left out */
	assert_int_equal(inv_survey_check(&survey, true, &err), 0);
	inv_survey_release(&survey);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void an_ask_to_a_node_that_is_lost_is_done(void **state)
{
	struct inv_ask ask = { 0 };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;

	(void)state;
	start_peer(&p, "lost", NULL);
	c = connect_to(in, p.name, NULL);
	kill(p.pid, SIGSTOP);
	inv_survey_ask(&ask, c, 10000);
	kill(p.pid, SIGKILL);
	assert_int_equal(inv_gather(in, &ask, 1, -1), 0);
	assert_int_equal(inv_survey_got(&ask, &survey, &err), INV_ELOST);
	inv_asks_release(&ask, 1);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void gathering_ends_when_the_user_wants_it_to(void **state)
{
	struct inv_ask ask = { 0 };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;
	int stop[2];

	(void)state;
	assert_int_equal(pipe(stop), 0);
	start_peer(&p, "stopped", NULL);
	c = connect_to(in, p.name, NULL);
	kill(p.pid, SIGSTOP);
	inv_survey_ask(&ask, c, 10000);
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(inv_gather(in, &ask, 1, stop[0]), INV_ECANCELLED);
	inv_asks_release(&ask, 1);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
	close(stop[0]);
	close(stop[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_decoded),
		cmocka_unit_test(nonsense_is_an_error_with_the_answer_in_it),
		cmocka_unit_test(any_other_answer_is_an_error_with_its_words),
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
