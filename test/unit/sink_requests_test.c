/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the bound on the memory of the sinks that show requests. */
#include "flow/hops.h"
#include "sink/formats.h"
#include "sink/sink.h"
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

static void put_int(uint64_t n)
{
	feed_put(&f, INV_T_INT);
	f.n_terms =
		(size_t)(inv_varint_put(f.terms + f.n_terms, n << 1) - f.terms);
}

/* Makes the event {seq_trace,7,{What,{Prev,Cur},From,To,1}}. */
static const struct inv_item *event(const char *what, uint64_t prev,
				    uint64_t cur, uint32_t from, uint32_t to)
{
	uint8_t id[2 * INV_VARINT_MAX], *end;

	feed_begin(&f, INV_TAG_SEQ_TRACE, from, 0, 0);
	feed_define(&f, INV_DEF_ATOM, what, strlen(what));
	end = inv_varint_put(inv_varint_put(id, to), 0);
	feed_define(&f, INV_DEF_PID, id, (size_t)(end - id));
	f.n_terms = 0;
	feed_put(&f, 7);
	feed_put(&f, INV_T_TUPLE_SMALL + 5);
	feed_put(&f, INV_T_DICT_SMALL + 4);
	feed_put(&f, INV_T_TUPLE_SMALL + 2);
	put_int(prev);
	put_int(cur);
	feed_put(&f, INV_T_DICT_SMALL);
	feed_put(&f, INV_T_DICT_SMALL + 5);
	feed_put(&f, 1);
	f.now++;
	assert_non_null(feed_end(&f)->cause);
	inv_flow_show(&f.flow, &f.item);
	return &f.item;
}

/* A hop is a message, from its send event to its receive event. If the memory's
 * bound is reached, hops are left out. The processes of these hops are left
 * out, too. */
static void processes_are_bounded(void **state)
{
	const struct inv_print_opts print = { 0 };
	struct inv_hops h;

	(void)state;
	assert_int_equal(inv_hops_init(&h, 64 << 10), 0);
	for (uint32_t pid = 2; pid < 3000; pid++)
		assert_int_equal(inv_hops_add(&h, event("send", 0, 1, pid, 1),
					      &print),
				 0);
	assert_true(h.left_out > 0);
	assert_in_range(h.n_processes, 20, 500);
	inv_hops_release(&h);
}

/* The name of a process takes memory once, not for each of its events. */
static void names_are_counted_once(void **state)
{
	const struct inv_print_opts print = { 0 };
	struct inv_hops h;
	size_t more;

	(void)state;
	feed_begin(&f, INV_TAG_SPAWNED, 1, 8, 0);
	f.item.ev.extra = true;
	feed_put(&f, INV_T_DICT_SMALL);
	feed_mfa(&f, 0, -1);
	feed_end(&f);
	assert_int_equal(inv_hops_init(&h, 0), 0);
	assert_int_equal(inv_hops_add(&h, event("send", 0, 1, 1, 2), &print),
			 0);
	assert_non_null(h.processes[0]->name);
	more = h.more;
	for (uint32_t i = 2; i < 10; i++)
		assert_int_equal(
			inv_hops_add(&h, event("send", 0, i, 1, 2), &print), 0);
	assert_int_equal(h.more, more);
	inv_hops_release(&h);
}

#define FAN 1500u

/* A process sends a message to each of many processes, and each of these
 * answers. Then the vector clock of the first process has an entry for every
 * other process. */
static void vector_clocks_are_bounded(void **state)
{
	const struct inv_sink_opts sink_opts = { .request_memory = 2 << 20 };
	struct inv_buf out = { 0 };
	struct inv_sink *s;

	(void)state;
	assert_int_equal(inv_sink_new(&s, &inv_sink_shiviz, &sink_opts, &out),
			 0);
	for (uint32_t i = 1; i <= FAN; i++)
		assert_int_equal(
			inv_sink_item(s, event("send", 0, i, 1, 1 + i)), 0);
	for (uint32_t i = 1; i <= FAN; i++) {
		(void)inv_sink_item(s, event("receive", 0, i, 1, 1 + i));
		(void)inv_sink_item(s, event("send", i, i + 1, 1 + i, 1));
		(void)inv_sink_item(s, event("receive", i, i + 1, 1 + i, 1));
	}
	assert_int_equal(s->left_out, 0);
	assert_int_equal(inv_sink_end(s), 0);
	assert_in_range(out.len, 1 << 20, (2 << 20) + (64 << 10));
	assert_in_range(s->left_out, 1, 4 * FAN - 1);
	inv_sink_free(s);
	inv_buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(processes_are_bounded, setup,
						teardown),
		cmocka_unit_test_setup_teardown(names_are_counted_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(vector_clocks_are_bounded,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
