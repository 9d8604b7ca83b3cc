/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes whose logs are being written, as one. */
#include "log/live_merge.h"
#include "unit/log_live.h"

#define NODES 2
#define PATIENCE 1000

struct fixture {
	struct build b[NODES];
	struct inv_notices ns;
	struct inv_node node[NODES];
	struct inv_feed *feed[NODES];
	size_t pushed[NODES];
	struct inv_live_merge m;
	int64_t now;
};

static void start(struct fixture *f, size_t cap)
{
	memset(f, 0, sizeof(*f));
	for (uint8_t i = 0; i < NODES; i++) {
		assert_int_equal(inv_live_new(&f->feed[i], &f->node[i], "x",
					      cap, &f->ns, NULL),
				 0);
		build_head(&f->b[i], "x", i + 1, 0);
		/* Erlang's time of the second one is of another epoch. */
		build_anchor(&f->b[i], 0, -1000 * i, 1000 * i);
	}
	assert_int_equal(inv_live_merge_init(&f->m, f->feed, NODES, PATIENCE),
			 0);
}

static void stop(struct fixture *f)
{
	inv_live_merge_release(&f->m);
	for (int i = 0; i < NODES; i++) {
		f->feed[i]->ops->free(f->feed[i]);
		build_release(&f->b[i]);
	}
}

/* An event, or none, and a mark; both in system time. */
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
	const struct inv_item *it;

	assert_int_equal(inv_live_merge_next(&f->m, f->now, &it), 0);
	assert_ptr_equal(it->node, &f->node[node]);
	assert_int_equal(it->ev.terms[it->ev.len - 1], n);
	assert_int_equal(f->m.late, late);
}

static void gives_nothing(struct fixture *f, int64_t wait)
{
	const struct inv_item *it;

	assert_int_equal(inv_live_merge_next(&f->m, f->now, &it), INV_END);
	assert_int_equal(inv_live_merge_wait(&f->m, f->now), wait);
}

static void an_item_waits_for_the_marks_of_the_others(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, INV_LIVE_CAP);
	gives_nothing(&f, -1);
	push(&f, 0, 100, 1, 500);
	gives_nothing(&f, PATIENCE);
	push(&f, 1, 0, 0, 100);
	gives_nothing(&f, PATIENCE);
	push(&f, 1, 0, 0, 101);
	gives(&f, 0, 1, false);
	gives_nothing(&f, -1);
	/* A later item says as much as a mark. */
	push(&f, 1, 300, 2, 301);
	push(&f, 0, 250, 3, 550);
	gives(&f, 0, 3, false);
	gives(&f, 1, 2, false);
	push(&f, 0, 700, 4, 800);
	push(&f, 1, 700, 5, 800);
	gives(&f, 0, 4, false);
	gives(&f, 1, 5, false);
	gives_nothing(&f, -1);
	assert_int_equal(f.m.n_late, 0);
	stop(&f);
}

static void a_silent_node_is_waited_for_so_long(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, INV_LIVE_CAP);
	f.now = 5000;
	gives_nothing(&f, -1);
	push(&f, 1, 0, 0, 1);
	f.now += 400;
	push(&f, 0, 100, 1, 500);
	gives_nothing(&f, PATIENCE - 400);
	/* What is known already is no news. */
	push(&f, 1, 0, 0, 1);
	gives_nothing(&f, PATIENCE - 400);
	f.now += PATIENCE - 400;
	gives(&f, 0, 1, false);
	push(&f, 0, 200, 2, 600);
	gives(&f, 0, 2, false);
	/* It is back. */
	push(&f, 1, 150, 3, 160);
	gives(&f, 1, 3, true);
	push(&f, 0, 300, 4, 700);
	gives_nothing(&f, PATIENCE);
	push(&f, 1, 400, 5, 500);
	gives(&f, 0, 4, false);
	gives(&f, 1, 5, false);
	assert_int_equal(f.m.n_late, 1);
	stop(&f);
}

static void a_node_that_ended_is_not_waited_for(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, INV_LIVE_CAP);
	push(&f, 1, 90, 1, 0);
	push(&f, 0, 100, 2, 500);
	gives_nothing(&f, PATIENCE);
	assert_int_equal(inv_live_end(f.feed[1], NULL), 0);
	gives(&f, 1, 1, false);
	gives(&f, 0, 2, false);
	gives_nothing(&f, -1);
	assert_false(inv_live_merge_done(&f.m));
	assert_int_equal(inv_live_end(f.feed[0], NULL), 0);
	gives_nothing(&f, -1);
	assert_true(inv_live_merge_done(&f.m));
	stop(&f);
}

static void what_is_full_is_waited_for_in_vain_no_longer_than_patience(
	void **state)
{
	struct fixture f;
	unsigned n = 1;

	(void)state;
	start(&f, 2000);
	gives_nothing(&f, -1);
	while (!inv_live_full(f.feed[0])) {
		push(&f, 0, 100 + n, n, 10000);
		n++;
	}
	gives_nothing(&f, PATIENCE);
	f.now += PATIENCE;
	gives(&f, 0, 1, false);
	gives(&f, 0, 2, false);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_item_waits_for_the_marks_of_the_others),
		cmocka_unit_test(a_silent_node_is_waited_for_so_long),
		cmocka_unit_test(a_node_that_ended_is_not_waited_for),
		cmocka_unit_test(
			what_is_full_is_waited_for_in_vain_no_longer_than_patience),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
