/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes answers: valid answers, and answers that inviso's code never
 * sends. */
#include "node/decode.h"

#include <stdio.h>
#include <stdlib.h>

#include "node/session.h"
#include "unit/node_answer.h"

static struct inv_ask ask;
static struct inv_err err;
static struct inv_decode d;

static void next_is(const char *term)
{
	answer_free(&ask);
	answer(&ask, term);
	inv_decode_init(&d, ask.mail.term, ask.mail.len);
}

static void next_is_bytes(const void *p, size_t len)
{
	answer_free(&ask);
	answer_bytes(&ask, p, len);
	inv_decode_init(&d, ask.mail.term, ask.mail.len);
}

static int done(void **state)
{
	(void)state;
	answer_free(&ask);
	return 0;
}

static void words_are(const char *words)
{
	if (!strstr(err.text, words))
		fail_msg("'%s' does not have '%s'", err.text, words);
}

/* --- texts ------------------------------------------------------------------ */

#define BINARY(n) "m\0\0\0" n

static void text_cannot_command_a_terminal(void **state)
{
	static const char bytes[] = BINARY("\x0f") "a\x1b[2J\r\n\t\x7f"
						   "\xc2\x9b\xff\xc3\xa9z";
	char text[64];

	(void)state;
	next_is_bytes(bytes, sizeof(bytes) - 1);
	assert_int_equal(inv_decode_text(&d, text, sizeof(text)), 0);
	assert_string_equal(text, "a?[2J?  ???\xc3\xa9z");
}

/* inv_decode_text replaces characters that change the direction of text. */
static void text_has_no_hidden_characters(void **state)
{
	static const char bytes[] = BINARY("\x11") "a\xe2\x80\xae"
						   "b\xd8\x9c\xef\xbb\xbf"
						   "c\xe2\x81\xa6"
						   "d\xc3\xa9";
	char text[64];

	(void)state;
	next_is_bytes(bytes, sizeof(bytes) - 1);
	assert_int_equal(inv_decode_text(&d, text, sizeof(text)), 0);
	assert_string_equal(text, "a?b??c?d\xc3\xa9");
}

static void text_is_cut_between_characters(void **state)
{
	static const char bytes[] = BINARY("\x06") "ab\xc3\xa9\xc3\xa9";
	char text[6];

	(void)state;
	next_is_bytes(bytes, sizeof(bytes) - 1);
	assert_int_equal(inv_decode_text(&d, text, sizeof(text)), 0);
	assert_string_equal(text, "ab\xc3\xa9");
}

static void text_may_be_a_string_a_list_or_an_atom(void **state)
{
	char text[16];

	(void)state;
	next_is("[97,98]");
	assert_int_equal(inv_decode_text(&d, text, sizeof(text)), 0);
	assert_string_equal(text, "ab");
	next_is("[960,97]");
	assert_int_equal(inv_decode_text(&d, text, sizeof(text)), 0);
	assert_string_equal(text, "\xcf\x80"
				  "a");
	next_is("abc");
	assert_int_equal(inv_decode_text(&d, text, sizeof(text)), 0);
	assert_string_equal(text, "abc");
	next_is("[97,{b}]");
	assert_int_equal(inv_decode_text(&d, text, sizeof(text)), INV_EDAMAGED);
	next_is("{a}");
	assert_int_equal(inv_decode_text(&d, text, sizeof(text)), INV_EDAMAGED);
}

static void lists_of_texts_have_a_limit(void **state)
{
	struct inv_texts t = { 0 };

	(void)state;
	next_is("[a,b,c]");
	assert_int_equal(inv_decode_texts(&d, &t, 2), 0);
	assert_int_equal(t.n, 2);
	assert_string_equal(t.v[1], "b");
	inv_texts_release(&t);
	next_is("[]");
	assert_int_equal(inv_decode_texts(&d, &t, 2), 0);
	assert_int_equal(t.n, 0);
	next_is("[a|b]");
	assert_int_equal(inv_decode_texts(&d, &t, 9), INV_EDAMAGED);
	inv_texts_release(&t);
}

/* --- failures --------------------------------------------------------------- */

static void the_class_of_an_error_is_its_code(void **state)
{
	static const struct {
		const char *term;
		int code;
		const char *words;
	} cases[] = {
		{ "{error,usage,one}", INV_EINVAL, "one" },
		{ "{error,refused,two}", INV_EREFUSED, "two" },
		{ "{error,nothing,three}", INV_ENOTHING, "three" },
		{ "{error,failed,four}", INV_EREMOTE, "four" },
		{ "{error,again,[]}", INV_EBUSY, "" },
		{ "{error,something_newer,five}", INV_EREMOTE, "five" },
		{ "{error,usage,{six}}", INV_EDAMAGED, "" },
		{ "{error,enoent}", INV_EDAMAGED, "enoent" },
		{ "{badrpc,{'EXIT',seven}}", INV_EREMOTE, "seven" },
		{ "{ok,a,b}", INV_EDAMAGED, "{ok,a,b}" },
		{ "{}", INV_EDAMAGED, "{}" },
		{ "ok", INV_EDAMAGED, "ok" },
		{ "17", INV_EDAMAGED, "17" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		next_is(cases[i].term);
		assert_int_equal(inv_decode_ok(&d, 2, &err), cases[i].code);
		assert_int_equal(err.code, cases[i].code);
		words_are(cases[i].words);
	}
}

static void ok_is_ok(void **state)
{
	int64_t v;

	(void)state;
	next_is("{ok,17}");
	assert_int_equal(inv_decode_ok(&d, 2, &err), 0);
	assert_int_equal(inv_decode_i64(&d, &v), 0);
	assert_int_equal(v, 17);
	next_is("ok");
	assert_int_equal(inv_decode_answer_ok(&d, &err), 0);
	next_is("{error,refused,no}");
	assert_int_equal(inv_decode_answer_ok(&d, &err), INV_EREFUSED);
	next_is("okay");
	assert_int_equal(inv_decode_answer_ok(&d, &err), INV_EDAMAGED);
}

/* --- a status ---------------------------------------------------------------- */

static struct inv_status status;

/* One pair of a map. The test encodes maps from pairs, because ei_x_format has
 * no maps. */
struct pair {
	const char *key;
	const char *value; /* text for ei_x_format; or "#N": the value is a map
			      of the next N pairs */
};

static void put_pairs(ei_x_buff *x, const struct pair **p, int n)
{
	assert_int_equal(ei_x_encode_map_header(x, n), 0);
	while (n-- > 0) {
		const struct pair *at = (*p)++;

		assert_int_equal(ei_x_encode_atom(x, at->key), 0);
		if (at->value[0] == '#')
			put_pairs(x, p, (int)strtol(at->value + 1, NULL, 10));
		else
			assert_int_equal(ei_x_format_wo_ver(x, at->value), 0);
	}
}

static void next_is_map(const struct pair *p, int n)
{
	ei_x_buff x;

	assert_int_equal(ei_x_new(&x), 0);
	put_pairs(&x, &p, n);
	answer_free(&ask);
	answer_x(&ask, &x);
	inv_decode_init(&d, ask.mail.term, ask.mail.len);
}

static void a_status_is_read(void **state)
{
	static const struct pair pairs[] = {
		{ "name", "n1" },
		{ "owner", "me" },
		{ "mode", "live" },
		{ "keep", "newest" },
		{ "since", "1700000000" },
		{ "specs", "[one,two]" },
		{ "notes", "[note]" },
		{ "limits", "#3" },
		{ "events", "100" },
		{ "ms", "15000" },
		{ "later", "7" },
		{ "something_newer", "[{a,b}]" },
		{ "state", "stopped" },
		{ "why", "run_queue" },
		{ "text", "because" },
		{ "class", "refused" },
		{ "log", "\"/tmp/x.log\"" },
		{ "matched", "#3" },
		{ "functions", "3" },
		{ "processes", "40" },
		{ "sensitive", "1" },
		{ "armed", "{2,3}" },
		{ "produced", "10" },
		{ "recorded", "7" },
		{ "dropped", "3" },
		{ "log_bytes", "4096" },
		{ "lost", "#3" },
		{ "full", "2" },
		{ "limit", "1" },
		{ "none", "0" },
		{ "ms_left", "infinity" },
	};

	(void)state;
	next_is_map(pairs, 22);
	assert_int_equal(inv_session_status_got(&ask, &status, &err), 0);
	assert_string_equal(status.name, "n1");
	assert_string_equal(status.owner, "me");
	assert_string_equal(status.keep, "newest");
	assert_int_equal(status.since, 1700000000);
	assert_int_equal(status.specs.n, 2);
	assert_string_equal(status.specs.v[1], "two");
	assert_string_equal(status.notes.v[0], "note");
	assert_int_equal(status.limit_events, 100);
	assert_int_equal(status.limit_ms, 15000);
	assert_int_equal(status.limit_rate, 0);
	assert_true(inv_status_ended(&status));
	assert_string_equal(status.why, "run_queue");
	assert_true(inv_status_protected(&status));
	assert_string_equal(status.text, "because");
	assert_int_equal(status.code, INV_EREFUSED);
	assert_string_equal(status.log, "/tmp/x.log");
	assert_int_equal(status.functions, 3);
	assert_int_equal(status.sensitive, 1);
	assert_int_equal(status.armed, 2);
	assert_int_equal(status.armed_of, 3);
	assert_int_equal(status.produced, 10);
	assert_int_equal(status.recorded, 7);
	assert_int_equal(status.log_bytes, 4096);
	assert_int_equal(status.n_lost, 2);
	assert_string_equal(status.lost[0].reason, "full");
	assert_int_equal(status.lost[1].n, 1);
	assert_int_equal(status.ms_left, -1);
	assert_int_equal(status.expected, -1);
	inv_status_release(&status);
}

static void words_of_a_newer_node_are_no_error(void **state)
{
	static const struct pair pairs[] = { { "state", "dreaming" },
					     { "why", "boredom" },
					     { "class", "tired" },
					     { "log", "none" } };

	(void)state;
	next_is_map(pairs, 4);
	assert_int_equal(inv_session_status_got(&ask, &status, &err), 0);
	assert_string_equal(status.state, "dreaming");
	assert_string_equal(status.why, "boredom");
	assert_int_equal(status.code, INV_EREMOTE);
	assert_string_equal(status.log, "");
	inv_status_release(&status);
}

static void a_status_that_makes_no_sense_is_an_error(void **state)
{
	static const struct pair pairs[] = {
		{ "name", "{n}" },	{ "recorded", "-1" },
		{ "since", "[1]" },	{ "limits", "[]" },
		{ "armed", "{1,2,3}" }, { "lost", "[{a,1}]" },
		{ "state", "17" },	{ "specs", "[a|b]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		next_is_map(&pairs[i], 1);
		assert_int_equal(inv_session_status_got(&ask, &status, &err),
				 INV_EDAMAGED);
		words_are(pairs[i].key);
		inv_status_release(&status);
	}
	next_is("{error,failed,gone}");
	assert_int_equal(inv_session_status_got(&ask, &status, &err),
			 INV_EREMOTE);
}

/* Decodes all truncations of an answer, and the answer with each of its bytes
 * changed. Decoding may fail, but must not crash. */
static void no_answer_hurts(void **state)
{
	static const struct pair pairs[] = {
		{ "name", "n1" },     { "specs", "[one,two]" },
		{ "limits", "#1" },   { "events", "100" },
		{ "armed", "{2,3}" }, { "lost", "#1" },
		{ "full", "2" },      { "notes", "[[97,960],note]" },
	};
	struct inv_ask from;
	char bytes[512];

	(void)state;
	next_is_map(pairs, 6);
	from = ask;
	memset(&ask, 0, sizeof(ask));
	assert_true(from.mail.len < sizeof(bytes));
	for (size_t i = 0; i < from.mail.len; i++)
		for (unsigned flip = 0; flip < 256; flip++) {
			size_t len = flip ? from.mail.len : i;

			memcpy(bytes, from.mail.term, from.mail.len);
			bytes[i] = (char)(bytes[i] ^ (char)flip);
			next_is_bytes(bytes, len);
			inv_status_decode(&d, &status);
			inv_status_release(&status);
		}
	answer_free(&from);
}

/* --- other answers ------------------------------------------------------------ */

static void a_followed_log_has_a_watermark(void **state)
{
	static const struct {
		const char *term;
		enum inv_watermark is;
		int64_t ns;
	} cases[] = { { "none", INV_WATERMARK_NONE, 0 },
		      { "eof", INV_WATERMARK_EOF, 0 },
		      { "-5", INV_WATERMARK_AT, -5 } };
	struct inv_followed got;
	ei_x_buff x;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(ei_x_new(&x), 0);
		assert_int_equal(ei_x_encode_tuple_header(&x, 3) |
					 ei_x_encode_binary(&x, "abc", 3) |
					 ei_x_format_wo_ver(&x, cases[i].term) |
					 ei_x_encode_map_header(&x, 0),
				 0);
		answer_free(&ask);
		answer_x(&ask, &x);
		assert_int_equal(
			inv_session_follow_got(&ask, &got, &status, &err), 0);
		assert_int_equal(got.len, 3);
		assert_memory_equal(got.bytes, "abc", 3);
		assert_int_equal(got.watermark, cases[i].is);
		assert_int_equal(got.ns, cases[i].ns);
		inv_status_release(&status);
	}
	next_is("{error,usage,rotated}");
	assert_int_equal(inv_session_follow_got(&ask, &got, NULL, &err),
			 INV_EINVAL);
}

static void lists_of_files_are_checked(void **state)
{
	static const char *const bad[] = {
		"{ok,[{'../a',1}]}", "{ok,[{'a/b',1}]}", "{ok,[{'.a',1}]}",
		"{ok,[{'',1}]}",     "{ok,[{a,-1}]}",	 "{ok,[{a}]}",
		"{ok,[{a,1}|b]}",    "{ok,[a]}",
	};
	struct inv_session_files files;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		next_is(bad[i]);
		assert_int_equal(inv_session_files_got(&ask, &files, &err),
				 INV_EDAMAGED);
		assert_null(files.v);
	}
	next_is("{ok,[{'a.log',1},{b,2}]}");
	assert_int_equal(inv_session_files_got(&ask, &files, &err), 0);
	assert_int_equal(files.n, 2);
	assert_string_equal(files.v[0].name, "a.log");
	assert_int_equal(files.v[1].size, 2);
	free(files.v);
	next_is("{ok,[]}");
	assert_int_equal(inv_session_files_got(&ask, &files, &err), 0);
	assert_int_equal(files.n, 0);
}

static void counters_are_named_as_erlang_does(void **state)
{
	struct inv_counters c;

	(void)state;
	next_is("{ok,[{lists,seq,2,17,none},{'Elixir.Map','a-b',0,3,4000}]}");
	assert_int_equal(inv_session_counters_got(&ask, &c, &err), 0);
	assert_int_equal(c.n, 2);
	assert_string_equal(c.v[0].mfa, "lists:seq/2");
	assert_int_equal(c.v[0].calls, 17);
	assert_int_equal(c.v[0].ns, -1);
	assert_string_equal(c.v[1].mfa, "'Elixir.Map':'a-b'/0");
	assert_int_equal(c.v[1].ns, 4000);
	inv_counters_release(&c);
	next_is("{ok,[{lists,seq,2,17}]}");
	assert_int_equal(inv_session_counters_got(&ask, &c, &err),
			 INV_EDAMAGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_cannot_command_a_terminal),
		cmocka_unit_test(text_has_no_hidden_characters),
		cmocka_unit_test(text_is_cut_between_characters),
		cmocka_unit_test(text_may_be_a_string_a_list_or_an_atom),
		cmocka_unit_test(lists_of_texts_have_a_limit),
		cmocka_unit_test(the_class_of_an_error_is_its_code),
		cmocka_unit_test(ok_is_ok),
		cmocka_unit_test(a_status_is_read),
		cmocka_unit_test(words_of_a_newer_node_are_no_error),
		cmocka_unit_test(a_status_that_makes_no_sense_is_an_error),
		cmocka_unit_test(no_answer_hurts),
		cmocka_unit_test(a_followed_log_has_a_watermark),
		cmocka_unit_test(lists_of_files_are_checked),
		cmocka_unit_test(counters_are_named_as_erlang_does),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
