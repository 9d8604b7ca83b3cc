/* SPDX-License-Identifier: Apache-2.0 */
/* Tests inv_shape_put, which finds the kind of a message from the form of its
 * term. */
#include "sink/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void is(const char *text, const char *shape)
{
	struct inv_buf b = { 0 };

	inv_shape_put(text, strlen(text), &b);
	inv_buf_putc(&b, 0);
	assert_string_equal((const char *)b.data, shape);
	inv_buf_release(&b);
}

static void values_do_not_count(void **state)
{
	(void)state;
	is("{order,7,[jam]}", "order");
	is("{order,{wait,20}}", "order");
	is("{'an order',\"}{\"}", "'an order'");
	is("stop", "stop");
	is("42", "_");
	is("[a]", "_");
	is("\"abc\"", "_");
	is("{1,a}", "_");
	is("{}", "_");
	is("{:order, 7}", ":order");
}

static void the_content_of_an_envelope_counts(void **state)
{
	(void)state;
	is("{'$gen_call',{<0.88.0>,[alias|#Ref<0.1.2.3>]},{order,7}}",
	   "'$gen_call' order");
	is("{'$gen_cast',{put,1}}", "'$gen_cast' put");
	is("{#Ref<0.1.2.3>,{ok,7}}", "ok");
	is("{[alias|#Ref<0.1.2.3>],ok}", "ok");
	is("{call,{<8472.110.0>,#Ref<0.1.2.3>},{take,8,{wait,20}}}",
	   "call take");
	is("{#Reference<0.1.2.3>, {:reply, 3}}", ":reply");
	/* If a pid is among the first two elements of a tuple, the tuple is an
	 * envelope, and its last element is the message. In this tuple the pid
	 * itself is the last element, so it is only the value of `started'. */
	is("{started,<0.88.0>}", "started");
}

static void what_was_cut_has_a_shape(void **state)
{
	(void)state;
	is("{", "_");
	is("{order", "order");
	is("{order,", "order");
	is("{'ord", "'ord");
	is("{call,<0.88.0>,{ta", "call ta");
	is("{\"\\", "_");
	is("", "_");
	is("{{{{{{a,1},2},3},4},5},6}", "_");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_do_not_count),
		cmocka_unit_test(the_content_of_an_envelope_counts),
		cmocka_unit_test(what_was_cut_has_a_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
