/* SPDX-License-Identifier: Apache-2.0 */
/* Names of processes from notes. */
#include "unit/flow_build.h"

static const struct inv_flow_opts opts;
static struct feed f;

static int setup(void **state)
{
	(void)state;
	feed_open(&f, &opts);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	feed_close(&f);
	return 0;
}

/* Turns the event that feed_begin began into a note, and gives it to the
 * flow. */
static void end_note(uint32_t note, bool early)
{
	assert_int_equal(inv_dict_parse(&f.dict, f.defs, f.n_defs, NULL), 0);
	f.item.kind = INV_ITEM_NOTE;
	f.item.early = early;
	f.item.ev.note = note;
	f.item.ev.dict = &f.dict;
	f.item.ev.terms = f.terms;
	f.item.ev.len = f.n_terms;
	assert_non_null(inv_flow_item(&f.flow, &f.item));
}

/* Adds the name to a note: m:f3/1 for INV_NAME_FUNCTION, otherwise an atom. */
static void put_name(enum inv_note_name kind)
{
	feed_put(&f, kind);
	if (kind == INV_NAME_FUNCTION)
		feed_mfa(&f, 0, -1);
	else
		feed_put(&f, INV_T_DICT_SMALL + 2);
}

/* Adds a note with a name of the process: the registered name f1, the label f2,
 * or the first function m:f3/1. */
static void note(uint32_t pid, enum inv_note_name kind, bool early)
{
	feed_begin(&f, 0, pid, kind, 0);
	put_name(kind);
	end_note(INV_NOTE_NAME, early);
}

/* Adds a note with the name of the process's parent. */
static void child(uint32_t pid, enum inv_note_name kind)
{
	feed_begin(&f, 0, pid, kind, 0);
	feed_put(&f, INV_NAME_CHILD);
	put_name(kind);
	end_note(INV_NOTE_NAME, false);
}

/* Returns the name that the process has at its next call. The text is valid
 * until the next call of this function. */
static const char *name(uint32_t pid)
{
	static char text[INV_NAME_MAX + 1];
	struct inv_process_name n = feed_call(&f, pid, 9, 1)->name;

	snprintf(text, sizeof(text), "%s%.*s", n.registered ? "!" : "",
		 (int)n.len, n.text ? n.text : "");
	return text;
}

/* Adds the event {trace,Pid,spawned,Pid,{m,f8,1}}. */
static void spawned(uint32_t pid)
{
	feed_begin(&f, INV_TAG_SPAWNED, pid, 8, 0);
	f.item.ev.extra = true;
	feed_put(&f, INV_T_DICT_SMALL);
	feed_mfa(&f, 0, -1);
	feed_end(&f);
}

static void each_kind_of_name(void **state)
{
	(void)state;
	assert_string_equal(name(1), "");
	note(1, INV_NAME_FUNCTION, false);
	assert_string_equal(name(1), "m:f3/1");
	note(1, INV_NAME_LABEL, false);
	assert_string_equal(name(1), "f2");
	/* A parent's name does not replace the process's own name. */
	child(1, INV_NAME_REGISTERED);
	assert_string_equal(name(1), "f2");
	child(3, INV_NAME_REGISTERED);
	assert_string_equal(name(3), "child of f1");
	child(4, INV_NAME_FUNCTION);
	assert_string_equal(name(4), "child of m:f3/1");
	/* A parent's label is not used: redaction does not know where it is. */
	child(6, INV_NAME_LABEL);
	child(6, INV_NAME_CHILD);
	assert_string_equal(name(6), "");
	note(1, INV_NAME_REGISTERED, false);
	assert_string_equal(name(1), "!f1");
	/* A registered name has precedence. */
	note(1, INV_NAME_FUNCTION, false);
	assert_string_equal(name(1), "!f1");
	assert_string_equal(name(2), "");
}

/* Adds a call of the process. Returns true if the flow still waits for a note
 * with the name of the process. */
static bool awaits(uint32_t pid)
{
	bool result;

	feed_begin(&f, INV_TAG_CALL, pid, 9, 1);
	feed_mfa(&f, 1, 1);
	assert_int_equal(inv_dict_parse(&f.dict, f.defs, f.n_defs, NULL), 0);
	f.item.ev.dict = &f.dict;
	f.item.ev.terms = f.terms;
	f.item.ev.len = f.n_terms;
	result = inv_flow_awaits_name(&f.flow, &f.item);
	feed_end(&f);
	return result;
}

/* The flow waits for the name of a process until a note has the name, or says
 * that the process has none. */
static void a_process_without_a_name(void **state)
{
	(void)state;
	note(1, INV_NAME_REGISTERED, true);
	assert_false(awaits(1));
	assert_true(awaits(2));
	assert_true(awaits(2));
	note(2, INV_NAME_NONE, true);
	assert_false(awaits(2));
	assert_string_equal(name(2), "");
	assert_true(awaits(3));
	/* A note of the kind INV_NAME_NONE does not remove a name. */
	note(1, INV_NAME_NONE, true);
	assert_string_equal(name(1), "!f1");
}

static void invalid_notes_change_nothing(void **state)
{
	(void)state;
	/* a kind that the flow does not know */
	feed_begin(&f, 0, 1, 1, 0);
	feed_put(&f, INV_NAME_REGISTERED);
	feed_put(&f, INV_T_DICT_SMALL + 2);
	end_note(77, false);
	/* a note without a name */
	feed_begin(&f, 0, 1, 1, 0);
	feed_put(&f, INV_NAME_REGISTERED);
	end_note(INV_NOTE_NAME, false);
	/* a note without a process */
	feed_begin(&f, 0, 1, 1, 0);
	f.n_terms = 0;
	feed_put(&f, 5);
	feed_put(&f, INV_NAME_REGISTERED);
	feed_put(&f, INV_T_DICT_SMALL + 2);
	end_note(INV_NOTE_NAME, false);
	/* a note without terms */
	feed_begin(&f, 0, 1, 1, 0);
	f.n_terms = 0;
	end_note(INV_NOTE_NAME, false);
	assert_string_equal(name(1), "");
}

/* When a process is spawned, it gets the name of its function. An earlier name
 * of its pid is dropped, because this may be the name of an earlier process.
 * But an early note, which the reader returns before its time, names the
 * process that is spawned here. So this name is kept. */
static void an_early_name_outlives_the_spawn(void **state)
{
	(void)state;
	note(1, INV_NAME_LABEL, true);
	note(2, INV_NAME_LABEL, false);
	note(3, INV_NAME_REGISTERED, true);
	for (uint32_t pid = 1; pid <= 4; pid++)
		spawned(pid);
	assert_string_equal(name(1), "f2");
	assert_string_equal(name(2), "m:f8/1");
	assert_string_equal(name(3), "!f1");
	assert_string_equal(name(4), "m:f8/1");
	/* The log can also have the parent's spawn event, which may come
	 * later. */
	spawned(1);
	assert_string_equal(name(1), "f2");
	/* Later names replace an early name. */
	note(1, INV_NAME_FUNCTION, true);
	assert_string_equal(name(1), "m:f3/1");
	feed_register(&f, 1);
	assert_string_equal(name(1), "!f0");
	feed_exit(&f, 1);
	assert_string_equal(name(1), "");
}

/* When a process is spawned, the open calls of an earlier process with the same
 * pid are dropped. */
static void open_calls_end_at_the_spawn(void **state)
{
	(void)state;
	note(1, INV_NAME_LABEL, true);
	feed_call(&f, 1, 5, 1);
	assert_non_null(feed_return(&f, 1, 5)->call);
	feed_call(&f, 1, 5, 2);
	spawned(1);
	assert_null(feed_return(&f, 1, 5)->call);
	assert_string_equal(name(1), "f2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(each_kind_of_name),
		T(a_process_without_a_name),
		T(invalid_notes_change_nothing),
		T(an_early_name_outlives_the_spawn),
		T(open_calls_end_at_the_spawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
