/* SPDX-License-Identifier: Apache-2.0 */
#include "match/event_match.h"

#include "unit/match_build.h"

static void make(struct inv_event_match *m, const char *text)
{
	struct inv_err err = { 0 };

	if (inv_event_match_text(m, text, &err))
		fail_msg("%s: %s", text, err.text);
}

static unsigned count(const struct inv_event_match *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < INV_TAG_COUNT; i++)
		n += m->tags[i];
	return n;
}

static void specs_have_their_tags(void **state)
{
	static const struct {
		const char *text;
		unsigned n;
		enum inv_tag one;
	} examples[] = {
		{ "lists:seq/2", 1, INV_TAG_CALL },
		{ "m", 1, INV_TAG_CALL },
		{ "[{[_,exit,_],[],[]}]", 1, INV_TAG_EXIT },
		{ "[{{_,exit,_},[],[]}]", 1, INV_TAG_EXIT },
		{ " \n[{[_,seq_trace,_],[],[]}]", 1, INV_TAG_SEQ_TRACE },
		{ "[{[_,in|'_'],[],[]},{[_,out,_],[],[]}]", 2, INV_TAG_OUT },
		{ "[{[_,send,a,b],[],[]},{[_,send,c,d],[],[]}]", 1,
		  INV_TAG_SEND },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		struct inv_event_match m;

		make(&m, examples[i].text);
		assert_true(m.by_tag);
		assert_true(m.tags[examples[i].one]);
		assert_int_equal(count(&m), examples[i].n);
		inv_event_match_release(&m);
	}
}

static void specs_for_any_tag_are_recognized(void **state)
{
	static const char *const examples[] = {
		"[{'_',[],[]}]",
		"[{[_,'$1',_],[{'==','$1',exit}],[]}]",
		"[{[_,exit,_],[],[]},{[_,_,killed],[],[]}]",
		"[{[_,no_tag_yet,_],[],[]}]",
		"[{[_|'_'],[],[]}]",
		"[{[],[],[]}]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		struct inv_event_match m;

		make(&m, examples[i]);
		if (m.by_tag)
			fail_msg("%s", examples[i]);
		inv_event_match_release(&m);
	}
}

static void unknown_tags_are_reported(void **state)
{
	static const struct {
		const char *text;
		const char *odd;
	} examples[] = {
		{ "[{[_,exti,_],[],[]}]", "exti" },
		{ "[{[_,exit,_],[],[]},{[_,exti,_],[],[]},{[_,x],[],[]}]",
		  "exti" },
		{ "[{[_,'$1',_],[],[]},{[_,_],[],[]},{'_',[],[]}]", "" },
		{ "[{[_,17,_],[],[]}]", "" },
		{ "m:f(1)", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		struct inv_event_match m;

		make(&m, examples[i].text);
		assert_string_equal(m.odd, examples[i].odd);
		inv_event_match_release(&m);
	}
}

static void a_spec_can_be_in_external_format(void **state)
{
	/* term_to_binary([{['_', exit, 1], [], []}]) */
	static const uint8_t etf[] = "\x83l\0\0\0\1h\3l\0\0\0\3w\1_w\4exit"
				     "a\1jjjj";
	struct inv_event_match m, text;
	struct inv_err err = { 0 };

	(void)state;
	assert_int_equal(inv_event_match_etf(&m, etf, sizeof(etf) - 1, &err),
			 0);
	make(&text, "[{['_',exit,1],[],[]}]");
	assert_int_equal(m.match.prog.n_code, text.match.prog.n_code);
	assert_memory_equal(m.match.prog.code, text.match.prog.code,
			    text.match.prog.n_code * sizeof(uint32_t));
	assert_true(m.by_tag && m.tags[INV_TAG_EXIT]);
	inv_event_match_release(&text);
	inv_event_match_release(&m);
	for (size_t n = 0; n < sizeof(etf) - 1; n++) {
		assert_int_equal(inv_event_match_etf(&m, etf, n, &err),
				 INV_EINVAL);
		inv_event_match_release(&m);
	}
}

static void errors_are_reported(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} examples[] = {
		{ "", "character 1: " },
		{ "a b",
		  "character 3: 'when', an operator, -> or the end expected" },
		{ "[{a}]", "Match program part is not a tuple of arity 3." },
		{ "[{[_,exit,_],[],[]}", "character 20: " },
		{ "[{[_,exit,_],[{no_such,1}],[]}]", "no_such" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		struct inv_event_match m;
		struct inv_err err = { 0 };

		assert_int_equal(inv_event_match_text(&m, examples[i].text,
						      &err),
				 INV_EINVAL);
		if (!strstr(err.text, examples[i].why))
			fail_msg("%s: %s", examples[i].text, err.text);
		inv_event_match_release(&m);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(specs_have_their_tags),
		cmocka_unit_test(specs_for_any_tag_are_recognized),
		cmocka_unit_test(unknown_tags_are_reported),
		cmocka_unit_test(a_spec_can_be_in_external_format),
		cmocka_unit_test(errors_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
