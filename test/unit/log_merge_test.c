/* SPDX-License-Identifier: Apache-2.0 */
/* Merges live logs of several nodes. */
#include "log/merge.h"
#include "unit/log_live.h"

#define NODES 2
#define PATIENCE 1000

struct fixture {
	struct build b[NODES];
	struct inv_notices ns;
	struct inv_node node[NODES];
	struct inv_feed *feed[NODES];
	size_t pushed[NODES];
	struct inv_merge m;
	int64_t now;
};

static int start(void **state, size_t cap)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	for (uint8_t i = 0; i < NODES; i++) {
		assert_int_equal(inv_live_new(&f->feed[i], &f->node[i], "x",
					      cap, &f->ns, NULL),
				 0);
		build_head(&f->b[i], "x", i + 1, 0);
		/* The second node's Erlang time has another epoch. */
		build_anchor(&f->b[i], 0, -1000 * i, 1000 * i);
	}
	assert_int_equal(inv_merge_init(&f->m, f->feed, NODES), 0);
	f->m.patience_ms = PATIENCE;
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return start(state, INV_LIVE_CAP);
}

/* The feed of a live log is full after 2000 bytes. */
static int setup_small(void **state)
{
	return start(state, 2000);
}

static int stop(void **state)
{
	struct fixture *f = *state;

	inv_merge_release(&f->m);
	for (int i = 0; i < NODES; i++) {
		f->feed[i]->ops->free(f->feed[i]);
		build_release(&f->b[i]);
	}
	free(f);
	return 0;
}

/* Adds event n at the time ns to the log of node i (no event if n is 0). Then
 * pushes the new bytes of the log, and sets the watermark `mark'. `ns' and
 * `mark' are system times. */
static void push(struct fixture *f, unsigned i, uint64_t ns, unsigned n,
		 int64_t mark)
{
	struct build *b = &f->b[i];

	if (n) {
		build_begin(b, 0, ns);
		build_event(b, ns, n);
		build_end(b);
	}
	assert_int_equal(inv_live_push(f->feed[i], b->file.data + f->pushed[i],
				       b->file.len - f->pushed[i], NULL),
			 0);
	f->pushed[i] = b->file.len;
	inv_live_mark(f->feed[i], mark - 1000 * (int64_t)i, f->now);
}

static void gives(struct fixture *f, unsigned node, unsigned n, bool late)
{
	struct inv_item *it;

	f->m.now_ms = f->now;
	assert_int_equal(inv_merge_next(&f->m, &it), 0);
	assert_ptr_equal(it->node, &f->node[node]);
	assert_int_equal(it->ev.terms[it->ev.len - 1], n);
	assert_int_equal(f->m.late, late);
}

static void gives_nothing(struct fixture *f, int64_t wait)
{
	struct inv_item *it;

	f->m.now_ms = f->now;
	assert_int_equal(inv_merge_next(&f->m, &it), INV_END);
	assert_int_equal(inv_merge_wait(&f->m), wait);
}

/* Ends the live log of node 0, when all other logs have ended. Checks that the
 * merge ends. */
static void is_done_when_it_ends(struct fixture *f)
{
	gives_nothing(f, -1);
	assert_false(inv_merge_done(&f->m));
	assert_int_equal(inv_live_end(f->feed[0], NULL), 0);
	gives_nothing(f, -1);
	assert_true(inv_merge_done(&f->m));
}

static void an_item_waits_for_the_other_watermarks(void **state)
{
	struct fixture *f = *state;

	gives_nothing(f, -1);
	push(f, 0, 100, 1, 500);
	gives_nothing(f, PATIENCE);
	push(f, 1, 0, 0, 100);
	gives_nothing(f, PATIENCE);
	push(f, 1, 0, 0, 101);
	gives(f, 0, 1, false);
	gives_nothing(f, -1);
	/* Node 1 has an item at 300, so it has no further item before 300. For
	 * the merge, this is the same as a watermark of 300. */
	push(f, 1, 300, 2, 301);
	push(f, 0, 250, 3, 550);
	gives(f, 0, 3, false);
	gives(f, 1, 2, false);
	push(f, 0, 700, 4, 800);
	push(f, 1, 700, 5, 800);
	gives(f, 0, 4, false);
	gives(f, 1, 5, false);
	gives_nothing(f, -1);
	assert_int_equal(f->m.n_late, 0);
}

static void the_wait_for_a_silent_node_is_limited(void **state)
{
	struct fixture *f = *state;

	f->now = 5000;
	gives_nothing(f, -1);
	push(f, 1, 0, 0, 1);
	f->now += 400;
	push(f, 0, 100, 1, 500);
	gives_nothing(f, PATIENCE - 400);
	/* This watermark is not later than the previous watermark. So the time
	 * for which the merge waits does not start again. */
	push(f, 1, 0, 0, 1);
	gives_nothing(f, PATIENCE - 400);
	f->now += PATIENCE - 400;
	gives(f, 0, 1, false);
	push(f, 0, 200, 2, 600);
	gives(f, 0, 2, false);
	/* The merge has stopped waiting for the slow node, and has returned
	 * events that are later than 150. So the next event of this node counts
	 * as late. */
	push(f, 1, 150, 3, 160);
	gives(f, 1, 3, true);
	push(f, 0, 300, 4, 700);
	gives_nothing(f, PATIENCE);
	push(f, 1, 400, 5, 500);
	gives(f, 0, 4, false);
	gives(f, 1, 5, false);
	assert_int_equal(f->m.n_late, 1);
}

static void a_node_that_ended_is_not_waited_for(void **state)
{
	struct fixture *f = *state;

	push(f, 1, 90, 1, 0);
	push(f, 0, 100, 2, 500);
	gives_nothing(f, PATIENCE);
	assert_int_equal(inv_live_end(f->feed[1], NULL), 0);
	gives(f, 1, 1, false);
	gives(f, 0, 2, false);
	is_done_when_it_ends(f);
}

static void the_wait_of_a_full_feed_is_limited(void **state)
{
	struct fixture *f = *state;
	unsigned n = 1;

	gives_nothing(f, -1);
	while (!inv_live_full(f->feed[0])) {
		push(f, 0, 100 + n, n, 10000);
		n++;
	}
	gives_nothing(f, PATIENCE);
	f->now += PATIENCE;
	gives(f, 0, 1, false);
	gives(f, 0, 2, false);
}

/* A file counts as a log with an infinite watermark, because all its items are
 * known. */
static void a_merge_does_not_wait_for_a_file(void **state)
{
	struct inv_log_file *file = calloc(1, sizeof(*file));
	struct inv_source src;
	struct fixture *f = *state;

	build_begin(&f->b[1], 0, 100);
	build_event(&f->b[1], 100, 1);
	build_event(&f->b[1], 200, 2);
	build_end(&f->b[1]);
	f->feed[1]->ops->free(f->feed[1]);
	assert_non_null(file);
	assert_int_equal(inv_source_memory(&src, "x", f->b[1].file.data,
					   f->b[1].file.len),
			 0);
	assert_int_equal(inv_log_file_open(file, &src, &f->ns, NULL), 0);
	assert_int_equal(inv_log_set_new(&f->feed[1], file, 1, &f->node[1],
					 &f->ns, NULL),
			 0);
	gives_nothing(f, PATIENCE);
	push(f, 0, 150, 3, 151);
	gives(f, 1, 1, false);
	gives(f, 0, 3, false);
	gives_nothing(f, PATIENCE);
	push(f, 0, 300, 4, 301);
	gives(f, 1, 2, false);
	gives(f, 0, 4, false);
	is_done_when_it_ends(f);
}

#define MERGE_TEST(t, setup) cmocka_unit_test_setup_teardown(t, setup, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MERGE_TEST(an_item_waits_for_the_other_watermarks, setup),
		MERGE_TEST(the_wait_for_a_silent_node_is_limited, setup),
		MERGE_TEST(a_node_that_ended_is_not_waited_for, setup),
		MERGE_TEST(the_wait_of_a_full_feed_is_limited, setup_small),
		MERGE_TEST(a_merge_does_not_wait_for_a_file, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
