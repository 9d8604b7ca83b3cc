/* SPDX-License-Identifier: Apache-2.0 */
/* Labels in match specs: which of them are safe for the VM. */
#include "match/seq_label.h"

#include "unit/match_build.h"

#define LABEL(x) "[{['$1'],[],[{set_seq_token,label," x "}]}]"

static unsigned unsafe(const char *spec)
{
	struct inv_match m;
	unsigned clause;

	match_reset();
	assert_int_equal(match_make(&m, spec, 29), 0);
	clause = inv_seq_label_unsafe(&m.spec);
	inv_match_release(&m);
	return clause;
}

static void atoms_and_small_integers_are_safe(void **state)
{
	(void)state;
	assert_int_equal(unsafe(LABEL("17")), 0);
	assert_int_equal(unsafe(LABEL("shop")), 0);
	assert_int_equal(unsafe(LABEL("{const,shop}")), 0);
	assert_int_equal(unsafe(LABEL("'$shop'")), 0);
	assert_int_equal(unsafe(LABEL("-576460752303423488")), 0);
	assert_int_equal(unsafe(LABEL("576460752303423487")), 0);
	assert_int_equal(
		unsafe("[{'_',[],[{set_seq_token,serial,{{1,2}}},"
		       "{set_seq_token,send,true},{message,{{a,b}}}]}]"),
		0);
	assert_int_equal(unsafe("[{'_',[],[{const,"
				"{set_seq_token,label,{a}}}]}]"),
			 0);
}

static void all_other_labels_are_not(void **state)
{
	(void)state;
	assert_int_equal(unsafe(LABEL("{{shop,'$1'}}")), 1);
	assert_int_equal(unsafe(LABEL("{{shop,1}}")), 1);
	assert_int_equal(unsafe(LABEL("{const,{shop,1}}")), 1);
	assert_int_equal(unsafe(LABEL("[shop,'$1']")), 1);
	assert_int_equal(unsafe(LABEL("[]")), 1);
	assert_int_equal(unsafe(LABEL("#{a=>1}")), 1);
	assert_int_equal(unsafe(LABEL("<<\"shop\">>")), 1);
	assert_int_equal(unsafe(LABEL("1.5")), 1);
	assert_int_equal(unsafe(LABEL("'$1'")), 1);
	assert_int_equal(unsafe(LABEL("'$_'")), 1);
	assert_int_equal(unsafe(LABEL("{self}")), 1);
	assert_int_equal(unsafe(LABEL("576460752303423488")), 1);
	assert_int_equal(unsafe(LABEL("-576460752303423489")), 1);
	assert_int_equal(unsafe(LABEL("99999999999999999999")), 1);
}

static void an_action_can_be_anywhere(void **state)
{
	(void)state;
	assert_int_equal(unsafe("[{'_',[],[{message,{{a,[#{b=>"
				"{set_seq_token,label,{{c}}}}]}}}]}]"),
			 1);
	assert_int_equal(unsafe("[{'_',[],[{set_seq_token,label,a}]},"
				"{['$1'],[],[{set_seq_token,'$1',{{c}}}]}]"),
			 2);
	assert_int_equal(
		unsafe("[{'_',[],[{set_seq_token,{const,label},{{c}}}]}]"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(atoms_and_small_integers_are_safe),
		cmocka_unit_test(all_other_labels_are_not),
		cmocka_unit_test(an_action_can_be_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
