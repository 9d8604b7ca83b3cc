/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shell_word.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *quoted(const char *text)
{
	static char word[200];
	struct inv_buf b = { 0 };

	inv_shell_word_put(&b, text);
	assert_int_equal(b.error, 0);
	snprintf(word, sizeof(word), "%.*s", (int)b.len, (const char *)b.data);
	inv_buf_release(&b);
	return word;
}

static void plain_words_have_no_quotes(void **state)
{
	(void)state;
	assert_string_equal(quoted("shop@web-1.example:9001"),
			    "shop@web-1.example:9001");
	assert_string_equal(quoted("/etc/shop/ca_1.pem"), "/etc/shop/ca_1.pem");
	assert_string_equal(quoted("a b"), "'a b'");
	assert_string_equal(quoted(""), "''");
}

/* A real shell reads the quoted word. */
static void the_shell_reads_the_same_text(void **state)
{
	static const char *const texts[] = {
		"",    " ",	    "a b",	   "it's",	 "'",
		"''",  "\"$HOME\"", "`id`; $(id)", "[::1]:9001", "a*?{b,c}",
		"~/x", "#x",	    "back\\slash", "-n",	 "gr\303\274n",
		"!x",  "a=b",	    "<>|&",	   "tab\there",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char command[300];
		char read[100];
		size_t n;
		FILE *shell;

		snprintf(command, sizeof(command), "printf %%s %s",
			 quoted(texts[i]));
		shell = popen(command, "r"); // NOLINT(cert-env33-c)
		assert_non_null(shell);
		n = fread(read, 1, sizeof(read) - 1, shell);
		read[n] = '\0';
		assert_int_equal(pclose(shell), 0);
		assert_string_equal(read, texts[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_words_have_no_quotes),
		cmocka_unit_test(the_shell_reads_the_same_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
