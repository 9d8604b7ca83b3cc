/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/note.h"

/* Returns a word of the form that the VM uses for an atom. */
static ERL_NIF_TERM atom(uint32_t number)
{
	return (ERL_NIF_TERM)number << 6 | 11;
}

static void each_function_has_its_own_note(void **state)
{
	struct inv_note *n;

	(void)state;
	assert_null(inv_note_find(atom(1), atom(2), 3));
	n = inv_note_make(atom(1), atom(2), 3);
	assert_non_null(n);
	n->counters = 7;
	assert_null(inv_note_find(atom(1), atom(2), 4));
	assert_null(inv_note_find(atom(1), atom(3), 3));
	assert_null(inv_note_find(atom(2), atom(2), 3));
	assert_ptr_not_equal(inv_note_make(atom(1), atom(2), 4), n);
	assert_ptr_equal(inv_note_make(atom(1), atom(2), 3), n);
	assert_ptr_equal(inv_note_find(atom(1), atom(2), 3), n);
	assert_int_equal(n->counters, 7);
}

/* A server of the engine notes which patterns and counters it has set in the
 * VM. When it has died, the next server reads the notes, and clears these
 * patterns and counters. */
static void notes_outlive_the_sessions(void **state)
{
	struct inv_note *n = inv_note_make(atom(4), atom(5), 0);

	(void)state;
	n->plain = true;
	n->sessions = 3;
	n->counters = 9;
	inv_notes_clear();
	assert_int_equal(n->sessions, 0);
	assert_true(n->plain);
	assert_int_equal(n->counters, 9);
	n->sessions = 3;
	inv_notes_forget();
	assert_int_equal(n->sessions, 0);
	assert_false(n->plain);
	assert_int_equal(n->counters, 0);
	assert_ptr_equal(inv_note_find(atom(4), atom(5), 0), n);
}

static void a_full_table_takes_no_more_notes(void **state)
{
	uint32_t made = 0;
	uint32_t i;

	(void)state;
	for (i = 0; i < 200000; i++)
		made += inv_note_make(atom(6), atom(i), 1) != NULL;
	assert_in_range(made, 60000, 65536);
	assert_null(inv_note_make(atom(7), atom(1), 1));
	assert_null(inv_note_find(atom(7), atom(1), 1));
	/* The table has no more space for notes about functions. Space for
	 * other notes is reserved. These other notes have an arity above
	 * 255. */
	assert_non_null(inv_note_make(atom(7), atom(1), 256));
	/* If a function has a note already, inv_note_make returns this note,
	 * although the table is full. */
	for (i = 0; i < 200000; i++)
		made -= inv_note_find(atom(6), atom(i), 1) ==
				inv_note_make(atom(6), atom(i), 1) &&
			inv_note_find(atom(6), atom(i), 1);
	assert_int_equal(made, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_function_has_its_own_note),
		cmocka_unit_test(notes_outlive_the_sessions),
		cmocka_unit_test(a_full_table_takes_no_more_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
