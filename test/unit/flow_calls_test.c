/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls paired with their ends. The flow gets the events of random programs,
 * and its results are compared with a model that knows each call. The programs
 * have call trees in several processes, recursion, exceptions, exits, and lost
 * events.
 */
#include <stdlib.h>

#include "unit/flow_build.h"

static const struct inv_flow_opts keep = { .keep = true };
static struct feed f;

static int setup(void **state)
{
	(void)state;
	feed_open(&f, &keep);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	feed_close(&f);
	return 0;
}

static void at(int64_t ns)
{
	f.now = ns;
}

static void a_return_ends_the_innermost_call(void **state)
{
	const struct inv_call *c;

	(void)state;
	at(10);
	assert_null(feed_call(&f, 1, 3, 100)->call);
	at(20);
	feed_call(&f, 1, 3, 101);
	at(25);
	feed_call(&f, 1, 4, 102);
	at(31);
	c = feed_return(&f, 1, 4)->call;
	assert_int_equal(c->duration_ns, 6);
	assert_int_equal(c->self_ns, 6);
	assert_int_equal(c->depth, 2);
	assert_int_equal(feed_id(c), 102);
	at(40);
	c = feed_return(&f, 1, 3)->call;
	assert_int_equal(c->duration_ns, 20);
	assert_int_equal(c->self_ns, 14);
	assert_int_equal(c->begin_ts_ns, 1000020);
	assert_int_equal(c->end, INV_CALL_RETURN);
	assert_int_equal(feed_id(c), 101);
	at(50);
	c = feed_ended(&f, INV_TAG_EXCEPTION_FROM, 1, 3)->call;
	assert_int_equal(c->end, INV_CALL_EXCEPTION);
	assert_int_equal(c->self_ns, 20);
	assert_int_equal(c->depth, 0);
	assert_true(c->certain);
	assert_null(feed_return(&f, 1, 3)->call);
	assert_int_equal(f.flow.unmatched, 1);
}

static void processes_do_not_disturb_each_other(void **state)
{
	(void)state;
	at(10);
	feed_call(&f, 1, 3, 1);
	at(20);
	feed_call(&f, 2, 3, 2);
	at(30);
	assert_int_equal(feed_return(&f, 1, 3)->call->duration_ns, 20);
	assert_int_equal(feed_return(&f, 2, 3)->call->duration_ns, 10);
}

static void an_exit_ends_the_innermost_call(void **state)
{
	const struct inv_call *c;

	(void)state;
	at(10);
	feed_call(&f, 1, 3, 1);
	feed_call(&f, 1, 4, 2);
	at(15);
	c = feed_exit(&f, 1)->call;
	assert_int_equal(c->end, INV_CALL_EXIT);
	assert_int_equal(c->duration_ns, 5);
	assert_int_equal(c->depth, 1);
	assert_int_equal(feed_id(c), 2);
	/* The pid of a process that has ended can be used again. */
	assert_null(feed_return(&f, 1, 3)->call);
	assert_null(feed_exit(&f, 1)->call);
}

static void a_loss_makes_open_calls_uncertain(void **state)
{
	(void)state;
	feed_call(&f, 1, 3, 1);
	feed_loss(&f);
	feed_call(&f, 1, 4, 2);
	assert_true(feed_return(&f, 1, 4)->call->certain);
	assert_false(feed_return(&f, 1, 3)->call->certain);
}

/* f3 calls f9, which never returns. The time that the process spends in f9
 * itself counts as f3's own time. f9 calls functions that return; their time
 * does not count as f3's own time. */
static void calls_without_returns_are_transparent(void **state)
{
	const struct inv_call *c;

	(void)state;
	for (int i = 0; i < 20; i++) {
		at(0);
		feed_call(&f, 1, 3, 1);
		feed_call(&f, 1, 9, 2);
		feed_call(&f, 1, 4, 3);
		at(7);
		c = feed_return(&f, 1, 4)->call;
		/* After eight calls without a return, f9 counts as a function
		 * that does not return. */
		assert_int_equal(c->depth, i < 8 ? 2 : 1);
		at(10);
		c = feed_return(&f, 1, 3)->call;
		assert_int_equal(c->duration_ns, 10);
		assert_int_equal(c->self_ns, 3);
		assert_int_equal(c->depth, 0);
	}
	/* The first return of f9 is not paired; after it, f9 counts as a
	 * function that returns. */
	feed_call(&f, 1, 9, 2);
	assert_null(feed_return(&f, 1, 9)->call);
	feed_call(&f, 1, 9, 2);
	assert_non_null(feed_return(&f, 1, 9)->call);
}

static void endless_calls_without_returns_use_little_memory(void **state)
{
	(void)state;
	for (int i = 0; i < 200000; i++)
		feed_call(&f, 1, (unsigned)i % 10, i);
	assert_true(f.flow.processes.size < 8 << 20);
	assert_int_equal(f.flow.processes.forgotten_calls, 0);
}

static void ended_calls_use_no_memory(void **state)
{
	(void)state;
	feed_call(&f, 1, 3, 0);
	for (int i = 0; i < 200000; i++) {
		feed_call(&f, 1, 4, i);
		feed_return(&f, 1, 4);
	}
	assert_true(f.flow.processes.size < 1 << 14);
}

/* The recursion has more calls than the flow stores for a process, so the flow
 * assumes that ends of this function are not traced. Then the calls return, but
 * the flow has forgotten them. None of these returns may end the outer call of
 * f3. */
static void a_first_return_out_of_a_deep_recursion(void **state)
{
	const struct inv_call *c;

	(void)state;
	feed_call(&f, 1, 3, 0); /* This function is not recursive, and its call
				   has not returned yet. */
	for (int i = 1; i <= 12000; i++) {
		at(i);
		feed_call(&f, 1, 4, i);
	}
	for (int i = 12000; i > 0; i--) {
		at(i + 50000);
		assert_null(feed_return(&f, 1, 4)->call);
	}
	assert_true(f.flow.processes.forgotten_calls > 0);
	c = feed_return(&f, 1, 3)->call;
	assert_int_equal(feed_id(c), 0);
	assert_int_equal(c->depth, 0);
	/* The flow has now seen returns of the function, so it pairs the next
	 * calls. */
	for (int i = 1; i <= 12000; i++)
		feed_call(&f, 1, 4, i);
	for (int i = 12000; i > 0; i--)
		assert_int_equal(feed_id(feed_return(&f, 1, 4)->call), i);
}

static void a_recursion_that_is_not_very_deep_is_exact(void **state)
{
	(void)state;
	for (int i = 0; i < 5000; i++)
		feed_call(&f, 1, 4, i);
	for (int i = 4999; i >= 0; i--)
		assert_int_equal(feed_id(feed_return(&f, 1, 4)->call), i);
}

/* If a call is open when one recording of a node ends, a return in the node's
 * next recording is not certain to end this call. After a restart of the node,
 * an old pid belongs to a new process. */
static void recordings_of_one_node(void **state)
{
	(void)state;
	feed_call(&f, 1, 3, 1);
	f.feed = 1;
	assert_false(feed_return(&f, 1, 3)->call->certain);
	feed_call(&f, 1, 3, 2);
	assert_true(feed_return(&f, 1, 3)->call->certain);
	feed_register(&f, 1);
	assert_int_equal(feed_call(&f, 1, 3, 3)->name.len, 2);
	f.feed = 2;
	f.node.restarted = true;
	feed_call(&f, 2, 4, 4);
	assert_null(feed_return(&f, 1, 3)->call);
	assert_int_equal(feed_call(&f, 1, 3, 5)->name.len, 0);
	f.feed = 1;
	assert_non_null(feed_return(&f, 1, 3)->call);
}

static void a_spawned_process_is_a_new_one(void **state)
{
	(void)state;
	feed_call(&f, 1, 3, 1);
	feed_register(&f, 1);
	feed_begin(&f, INV_TAG_SPAWNED, 1, 4, 0);
	f.item.ev.extra = true;
	feed_put(&f, INV_T_DICT_SMALL);
	feed_mfa(&f, 0, 1);
	assert_int_equal(feed_end(&f)->name.len, 2);
	assert_int_equal(feed_call(&f, 1, 4, 2)->name.len, 6);
	assert_null(feed_return(&f, 1, 3)->call);
}

/* In the middle of a log, a node may stop recording the returns of a
 * function. */
static void a_function_whose_returns_end(void **state)
{
	const struct inv_call *c;

	(void)state;
	feed_call(&f, 1, 9, 1);
	feed_return(&f, 1, 9);
	for (int i = 0; i < 1100; i++) {
		feed_call(&f, 1, 3, 1);
		feed_call(&f, 1, 9, 2);
		feed_call(&f, 1, 4, 3);
		c = feed_return(&f, 1, 4)->call;
		assert_int_equal(c->depth, i < 1000 ? 2 : 1);
		c = feed_return(&f, 1, 3)->call;
		assert_int_equal(c->depth, 0);
	}
	feed_call(&f, 1, 9, 2);
	assert_null(feed_exit(&f, 1)->call);
}

static void a_loop_whose_returns_end(void **state)
{
	(void)state;
	feed_call(&f, 1, 9, 1);
	feed_return(&f, 1, 9);
	for (int i = 0; i < 300000; i++) {
		feed_call(&f, 1, 9, i);
		feed_call(&f, 1, 4, i);
		assert_int_equal(feed_id(feed_return(&f, 1, 4)->call), i);
	}
	assert_true(f.flow.processes.size < 64 << 20);
	assert_int_equal(f.flow.processes.forgotten_calls, 0);
	assert_false(feed_exit(&f, 1)->call->certain);
}

/* The log has no return of the function, so it is possible that its returns are
 * not traced. Then the call may have ended before the process exits. */
static void an_exit_in_a_call_that_may_have_returned(void **state)
{
	const struct inv_call *c;

	(void)state;
	feed_call(&f, 1, 3, 1);
	c = feed_exit(&f, 1)->call;
	assert_int_equal(c->end, INV_CALL_EXIT);
	assert_false(c->certain);
	feed_call(&f, 1, 3, 1);
	feed_return(&f, 1, 3);
	feed_call(&f, 1, 3, 1);
	assert_true(feed_exit(&f, 1)->call->certain);
}

/* Marks in the log say which calls will have an end. So the flow does not
 * guess: calls without the mark are not open, and an exit surely ends the calls
 * with the mark. */
static void marks_say_which_calls_return(void **state)
{
	(void)state;
	feed_marks(&f, "true");
	feed_marked(&f, 1, 3, 1, true);
	feed_marked(&f, 1, 4, 2, false);
	feed_marked(&f, 1, 3, 3, false); /* this call has no mark, but another
					    call of the same function has */
	feed_marked(&f, 1, 5, 4, true);
	assert_int_equal(feed_return(&f, 1, 5)->call->depth, 1);
	assert_int_equal(feed_return(&f, 1, 3)->call->depth, 0);
	assert_null(feed_return(&f, 1, 3)->call);
	feed_marked(&f, 2, 6, 5, true);
	assert_true(feed_exit(&f, 2)->call->certain);
	/* A log repeats its notes, so it can have several notes about marks. A
	 * note `true' has an effect even if it comes after a note `false'. */
	feed_marks(&f, "false");
	feed_marks(&f, "true");
	feed_marked(&f, 1, 4, 6, false);
	assert_int_equal(feed_return(&f, 1, 4)->call->depth, 0);
}

/* The event of the second call does not say which function was called. This
 * function may be f3, so it is not certain which call of f3 returns. */
static void a_call_that_is_unreadable_is_like_a_lost_one(void **state)
{
	(void)state;
	feed_call(&f, 1, 3, 1);
	feed_begin(&f, INV_TAG_CALL, 1, 3, 0);
	feed_put(&f, INV_T_HOLE);
	feed_put(&f, INV_CUT_TUPLE);
	feed_put(&f, 3);
	feed_end(&f);
	assert_false(feed_return(&f, 1, 3)->call->certain);
}

/* The times in a file may be wrong by any amount. */
static void times_that_overflow(void **state)
{
	static const int64_t times[] = { INT64_MIN, INT64_MAX, 0, INT64_MAX,
					 INT64_MIN };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		at(times[i]);
		feed_call(&f, 1, 3, 1);
		feed_call(&f, 1, 4, 2);
		at(times[4 - i]);
		feed_return(&f, 1, 4);
		at(times[(i + 2) % 5]);
		feed_call(&f, 1, 4, 2);
		at(times[(i + 1) % 5]);
		feed_return(&f, 1, 4);
		feed_return(&f, 1, 3);
	}
}

/* --- bounds --------------------------------------------------------------- */

static void bound(size_t memory)
{
	const struct inv_flow_opts opts = { .keep = true, .memory = memory };

	feed_close(&f);
	feed_open(&f, &opts);
}

static void deep_recursion_keeps_the_inner_calls(void **state)
{
	(void)state;
	bound(1 << 20);
	feed_call(&f, 1, 3, 0);
	feed_return(&f, 1, 3);
	for (int i = 0; i < 100000; i++) {
		at(i);
		feed_call(&f, 1, 3, i);
		assert_true(f.flow.processes.size <= 3 << 19);
	}
	assert_true(f.flow.processes.forgotten_calls > 50000);
	at(100000);
	for (int i = 99999; i > 99000; i--) {
		const struct inv_call *c = feed_return(&f, 1, 3)->call;

		assert_int_equal(c->duration_ns, 100000 - i);
		assert_int_equal(feed_id(c), i);
	}
}

static void processes_without_events_are_forgotten(void **state)
{
	(void)state;
	bound(1 << 20);
	for (uint32_t i = 0; i < 100000; i++) {
		at(i);
		feed_call(&f, 7, 3, i); /* one process is always active */
		feed_call(&f, 1000 + i, 4, i);
		assert_int_equal(feed_id(feed_return(&f, 7, 3)->call), i);
		assert_true(f.flow.processes.size <= 1 << 20);
	}
	assert_true(f.flow.processes.forgotten > 50000);
	assert_int_equal(f.flow.processes.forgotten,
			 f.flow.processes.forgotten_calls);
	assert_int_equal(feed_return(&f, 100999, 4)->call->duration_ns, 0);
	assert_null(feed_return(&f, 1000, 4)->call);
}

static void an_event_that_is_too_large_is_not_kept(void **state)
{
	static uint8_t big[INV_FLOW_KEPT_EVENT + 64];
	const struct inv_call *c;

	(void)state;
	feed_begin(&f, INV_TAG_CALL, 1, 3, 0);
	feed_mfa(&f, 0, -1);
	memcpy(big, f.terms, f.n_terms);
	memset(big + f.n_terms, INV_T_NIL, sizeof(big) - f.n_terms);
	assert_int_equal(inv_dict_parse(&f.dict, f.defs, f.n_defs, NULL), 0);
	f.item.ev.dict = &f.dict;
	f.item.ev.terms = big;
	f.item.ev.len = sizeof(big);
	assert_non_null(inv_flow_item(&f.flow, &f.item));
	c = feed_return(&f, 1, 3)->call;
	assert_non_null(c);
	assert_null(c->event);
}

/* --- the model ------------------------------------------------------------ */

#define PROCESSES 5
#define DEPTH 30

struct model_call {
	unsigned function;
	int64_t id;
	int64_t begin;
	int64_t inner;
	unsigned losses;
	bool seen; /* the call's event was not lost */
};

struct model {
	struct model_call stack[PROCESSES][DEPTH];
	unsigned depth[PROCESSES];
	uint32_t pid[PROCESSES];
	unsigned losses;
	int64_t id;
	unsigned lossy; /* one in this many events is lost; 0: no event is
			   lost */
	unsigned checked;
	bool returned[3]; /* returned[i]: a return of function i was seen */
};

static uint64_t seed;

static unsigned chance(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* Decides whether the next event is lost. */
static bool lost(struct model *m)
{
	if (!m->lossy || chance(m->lossy))
		return false;
	m->losses++;
	feed_loss(&f);
	return true;
}

static void model_call(struct model *m, unsigned p)
{
	struct model_call *c = &m->stack[p][m->depth[p]++];

	/* There are only three functions, so that recursion is frequent. */
	*c = (struct model_call){ .function = chance(3),
				  .id = ++m->id,
				  .begin = f.now };
	c->seen = !lost(m);
	c->losses = m->losses;
	if (c->seen)
		feed_call(&f, m->pid[p], c->function, c->id);
}

static void check(struct model *m, unsigned p, const struct model_call *c,
		  enum inv_call_end end, const struct inv_call *got)
{
	bool exact = c->seen && c->losses == m->losses;

	if (!exact) {
		assert_true(!got || !got->certain);
		return;
	}
	assert_non_null(got);
	if (end != INV_CALL_EXIT || m->returned[c->function])
		assert_true(got->certain);
	m->returned[c->function] |= end != INV_CALL_EXIT;
	assert_int_equal(got->end, end);
	assert_int_equal(got->duration_ns, f.now - c->begin);
	assert_int_equal(got->self_ns, f.now - c->begin - c->inner);
	assert_int_equal(feed_id(got), c->id);
	assert_int_equal(got->mfa->function.len, 2);
	assert_int_equal(got->mfa->function.bytes[1], '0' + c->function);
	if (!m->lossy)
		assert_int_equal(got->depth, m->depth[p]);
	m->checked++;
}

static void model_end(struct model *m, unsigned p, unsigned tag)
{
	struct model_call *c = &m->stack[p][--m->depth[p]];

	if (m->depth[p])
		c[-1].inner += f.now - c->begin;
	if (lost(m))
		return;
	check(m, p, c,
	      tag == INV_TAG_RETURN_FROM ? INV_CALL_RETURN : INV_CALL_EXCEPTION,
	      feed_ended(&f, tag, m->pid[p], c->function)->call);
}

static void model_exit(struct model *m, unsigned p)
{
	if (!lost(m)) {
		const struct inv_call *got = feed_exit(&f, m->pid[p])->call;

		if (m->depth[p]) {
			const struct model_call *c =
				&m->stack[p][--m->depth[p]];

			check(m, p, c, INV_CALL_EXIT, got);
		} else {
			assert_true(!got || m->lossy);
		}
	}
	m->depth[p] = 0;
	m->pid[p] += PROCESSES;
}

static void model_step(struct model *m)
{
	unsigned p = chance(PROCESSES);
	unsigned what = chance(100);

	f.now += 1 + chance(1000);
	if (what < 2) {
		model_exit(m, p);
	} else if (what < 50 && m->depth[p] < DEPTH) {
		model_call(m, p);
	} else if (what < 90 && m->depth[p]) {
		model_end(m, p, INV_TAG_RETURN_FROM);
	} else {
		/* An exception can end several calls at once. */
		for (unsigned n = 1 + chance(4); n && m->depth[p]; n--)
			model_end(m, p, INV_TAG_EXCEPTION_FROM);
	}
}

static void play(unsigned lossy)
{
	static struct model m;

	memset(&m, 0, sizeof(m));
	m.lossy = lossy;
	for (uint32_t p = 0; p < PROCESSES; p++)
		m.pid[p] = p + 1;
	for (int i = 0; i < 2000; i++)
		model_step(&m);
	assert_true(m.checked > 100);
}

static void random_programs(void **state)
{
	const char *given = getenv("INVISO_SEED"); /* NOLINT: one thread */
	uint64_t first = given ? strtoull(given, NULL, 10) : 1;

	(void)state;
	for (uint64_t i = 0; i < 60; i++) {
		seed = first * 1000 + i;
		print_message("program %llu\n", (unsigned long long)seed);
		feed_close(&f);
		feed_open(&f, &keep);
		play(i % 3 == 0 ? 0 : i % 3 == 1 ? 100 : 20);
	}
}

/* Adds a note that process 1 has a name of this kind. The name is a list of
 * characters. */
static void note_name(unsigned kind, const char *name)
{
	feed_begin(&f, 0, 1, 0, 0);
	feed_put(&f, kind);
	feed_put(&f, INV_T_STRING_SMALL + (unsigned)strlen(name) - 1);
	while (*name)
		feed_put(&f, (uint8_t)*name++);
	feed_end_note(&f, INV_NOTE_NAME);
}

static void a_label_is_text_and_names_of_other_kinds_are_skipped(void **state)
{
	const struct inv_facts *facts;

	(void)state;
	note_name(INV_NAME_LABEL, "a b");
	note_name(9, "other");
	facts = feed_call(&f, 1, 0, 0);
	assert_int_equal(facts->name.len, 5);
	assert_memory_equal(facts->name.text, "\"a b\"", 5);
	assert_false(facts->name.registered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_return_ends_the_innermost_call),
		cmocka_unit_test(processes_do_not_disturb_each_other),
		cmocka_unit_test(an_exit_ends_the_innermost_call),
		cmocka_unit_test(a_loss_makes_open_calls_uncertain),
		cmocka_unit_test(calls_without_returns_are_transparent),
		cmocka_unit_test(
			endless_calls_without_returns_use_little_memory),
		cmocka_unit_test(ended_calls_use_no_memory),
		cmocka_unit_test(a_first_return_out_of_a_deep_recursion),
		cmocka_unit_test(a_recursion_that_is_not_very_deep_is_exact),
		cmocka_unit_test(recordings_of_one_node),
		cmocka_unit_test(a_spawned_process_is_a_new_one),
		cmocka_unit_test(a_function_whose_returns_end),
		cmocka_unit_test(a_loop_whose_returns_end),
		cmocka_unit_test(an_exit_in_a_call_that_may_have_returned),
		cmocka_unit_test(a_call_that_is_unreadable_is_like_a_lost_one),
		cmocka_unit_test(marks_say_which_calls_return),
		cmocka_unit_test(
			a_label_is_text_and_names_of_other_kinds_are_skipped),
		cmocka_unit_test(times_that_overflow),
		cmocka_unit_test(deep_recursion_keeps_the_inner_calls),
		cmocka_unit_test(processes_without_events_are_forgotten),
		cmocka_unit_test(an_event_that_is_too_large_is_not_kept),
		cmocka_unit_test(random_programs),
	};
	struct CMUnitTest each[sizeof(tests) / sizeof(tests[0])];

	memcpy(each, tests, sizeof(tests));
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		each[i].setup_func = setup;
		each[i].teardown_func = teardown;
	}
	return cmocka_run_group_tests(each, NULL, NULL);
}
