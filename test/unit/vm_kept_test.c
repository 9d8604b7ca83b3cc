/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vm/kept.h"

#define PLACES 8u
#define THREADS 4u

/* The word that the VM uses for the pid with the number n. */
#define PID(n) ((uint64_t)(n) << 4 | 3)

static struct inv_kept *k;
static uint32_t lost; /* open calls that the last begin() or end() removed as
			 lost */
static uint32_t gone; /* the function whose ends will not be reported any
			 more */

static int set_up_with(uint64_t bytes)
{
	gone = UINT32_MAX;
	k = inv_kept_make(PLACES, THREADS, bytes);
	return k ? 0 : -1;
}

static int set_up(void **state)
{
	(void)state;
	return set_up_with(1u << 20);
}

/* Makes memory of 64 blocks. One of them is never used, so 63 calls fit. */
static int set_up_small(void **state)
{
	(void)state;
	return set_up_with(64 * INV_KEPT_BLOCK);
}

static int tear_down(void **state)
{
	(void)state;
	inv_kept_free(k);
	return 0;
}

static struct inv_kept_call *begin(uint32_t thread, uint32_t pid,
				   uint32_t function, uint64_t ns)
{
	struct inv_kept_call *call =
		inv_kept_begin(k, thread, PID(pid), function, ns, &lost);

	if (call)
		call->marks = INV_KEPT_COUNTED;
	return call;
}

/* Ends the innermost call of the function at the time `ns'. Returns how long
 * the call took, or 0 if no call of the function is open. */
static uint64_t end(uint32_t thread, uint32_t pid, uint32_t function,
		    uint64_t ns)
{
	struct inv_kept_call *call;

	if (inv_kept_end(k, thread, PID(pid), function, &call, &lost) !=
	    INV_KEPT_FOUND)
		return 0;
	ns -= call->ns;
	inv_kept_pop(k, thread, PID(pid), ns);
	return ns;
}

static enum inv_kept_found found(uint32_t pid, uint32_t function)
{
	struct inv_kept_call *call;

	return inv_kept_end(k, 0, PID(pid), function, &call, &lost);
}

static bool is_gone(const void *arg, uint32_t function)
{
	(void)arg;
	return function == gone;
}

static bool is_dead(void *arg, uint64_t process)
{
	return process == *(uint64_t *)arg;
}

/* --- one thread -------------------------------------------------------------- */

static void calls_nest(void **state)
{
	struct inv_kept_call *call;

	(void)state;
	assert_int_equal(begin(0, 1, 7, 100)->depth, 0);
	assert_int_equal(begin(0, 1, 7, 110)->depth, 1);
	assert_int_equal(begin(0, 1, 8, 120)->depth, 2);
	assert_int_equal(end(0, 1, 8, 125), 5);
	assert_int_equal(end(0, 1, 7, 130), 20);
	assert_int_equal(inv_kept_end(k, 0, PID(1), 7, &call, &lost),
			 INV_KEPT_FOUND);
	/* The inner call of function 7 took 20 ns. The call of function 8 was
	 * inside this inner call, so the inner time of the outer call is 20 ns
	 * only. */
	assert_int_equal(call->inner_ns, 20);
	assert_int_equal(call->ns, 100);
	assert_int_equal(lost, 0);
	inv_kept_pop(k, 0, PID(1), 40);
	assert_int_equal(found(1, 7), INV_KEPT_UNKNOWN);
}

/* An outer call ends, but some calls inside it have not ended. These inner
 * calls are removed, and count as lost. */
static void missing_ends(void **state)
{
	(void)state;
	begin(0, 1, 1, 1);
	begin(0, 1, 2, 2);
	begin(0, 1, 3, 3);
	assert_int_equal(found(1, 9), INV_KEPT_UNKNOWN);
	assert_int_equal(lost, 0);
	assert_int_equal(end(0, 1, 1, 11), 10);
	assert_int_equal(lost, 2);
}

/* A call without the mark INV_KEPT_COUNTED is removed like other calls, but
 * does not count as lost. */
static void not_all_are_counted(void **state)
{
	(void)state;
	begin(0, 1, 1, 1);
	begin(0, 1, 2, 2)->marks = 0;
	begin(0, 1, 2, 3);
	assert_int_equal(end(0, 1, 1, 11), 10);
	assert_int_equal(lost, 1);
	for (uint32_t i = 0; i < 4; i++)
		begin(0, 1, i % 2, i)->marks = i < 2 ? INV_KEPT_COUNTED : 0;
	gone = 1;
	assert_int_equal(inv_kept_forget(k, 0, PID(1), is_gone, NULL), 1);
	assert_non_null(inv_kept_exit(k, PID(1)));
	assert_int_equal(inv_kept_exited(k, 0, PID(1)), 1);
	assert_int_equal(found(1, 0), INV_KEPT_UNKNOWN);
}

static void a_new_process_takes_a_dead_ones_place(void **state)
{
	(void)state;
	begin(0, 1, 1, 1);
	begin(0, 1, 1, 2);
	assert_non_null(begin(1, 1 + PLACES, 1, 3));
	assert_int_equal(lost, 2);
	assert_int_equal(found(1, 1), INV_KEPT_UNKNOWN);
	assert_int_equal(end(1, 1 + PLACES, 1, 4), 1);
}

static void put_and_get(uint32_t n)
{
	uint8_t *in = malloc(n);
	uint8_t *out = malloc(n);
	struct inv_kept_call *call = begin(0, 1, 1, 1);

	for (uint32_t i = 0; i < n; i++)
		in[i] = (uint8_t)(i * 7 + n);
	assert_true(inv_kept_put(k, 0, PID(1), call, in, n));
	assert_int_equal(call->n, n);
	inv_kept_get(k, call, out);
	assert_memory_equal(in, out, n);
	assert_int_equal(end(0, 1, 1, 3), 2);
	free(in);
	free(out);
}

static void bytes_of_any_length(void **state)
{
	(void)state;
	for (uint32_t n = INV_KEPT_NEAR; n < 4000; n++)
		put_and_get(n);
	put_and_get(300000);
}

/* Bytes that do not fit are refused. The call itself is kept, and no block is
 * lost. */
static void no_room_for_bytes(void **state)
{
	static const uint8_t bytes[64 * INV_KEPT_BLOCK];

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		struct inv_kept_call *call = begin(0, 1, 1, 1);

		assert_false(
			inv_kept_put(k, 0, PID(1), call, bytes, sizeof(bytes)));
		assert_int_equal(call->n, 0);
		assert_int_equal(end(0, 1, 1, 3), 2);
		put_and_get(32 * INV_KEPT_BLOCK);
	}
}

/* If there was no room when a call began, the call is not stored. The end of
 * such a call must not be taken for the end of another call. */
static void no_room_for_calls(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 63; i++)
			assert_non_null(begin(0, 1, 1, i));
		for (uint32_t i = 0; i < 5; i++)
			assert_null(begin(0, 1, 1, 100 + i));
		assert_null(begin(0, 2, 1, 100));
		assert_int_equal(found(2, 1), INV_KEPT_NO_ROOM);
		for (uint32_t i = 0; i < 5; i++)
			assert_int_equal(found(1, 1), INV_KEPT_NO_ROOM);
		for (uint32_t i = 63; i > 0; i--)
			assert_int_equal(end(0, 1, 1, 1000), 1001 - i);
	}
}

/* One process can use at most INV_KEPT_PROCESS blocks, even if more blocks are
 * free. */
static void a_process_has_a_bound(void **state)
{
	uint32_t n = 0;

	(void)state;
	inv_kept_free(k);
	assert_int_equal(set_up_with(8u << 20), 0);
	while (begin(0, 1, 1, 1))
		n++;
	assert_int_equal(n, INV_KEPT_PROCESS);
	assert_non_null(begin(0, 2, 1, 1));
}

static void calls_of_a_gone_function(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		begin(0, 1, i % 2, i);
	gone = 1;
	assert_int_equal(inv_kept_forget(k, 0, PID(1), is_gone, NULL), 5);
	for (uint32_t i = 10; i > 0; i -= 2)
		assert_int_equal(end(0, 1, 0, 100), 102 - i);
	assert_int_equal(found(1, 0), INV_KEPT_UNKNOWN);
	assert_int_equal(inv_kept_forget(k, 0, PID(2), is_gone, NULL), 0);
}

static void exits(void **state)
{
	(void)state;
	assert_null(inv_kept_exit(k, PID(1)));
	begin(0, 1, 1, 10);
	begin(0, 1, 2, 20);
	assert_int_equal(inv_kept_exit(k, PID(1))->function, 2);
	assert_int_equal(inv_kept_exited(k, 0, PID(1)), 2);
	assert_null(inv_kept_exit(k, PID(1)));
	assert_non_null(begin(0, 1, 1, 10));
	assert_int_equal(lost, 0);
}

static void sweeping_dead_processes(void **state)
{
	uint64_t dead = PID(3);
	uint32_t entries[PLACES];
	uint64_t at = 0;
	uint32_t n = 0;

	(void)state;
	begin(0, 1, 1, 1);
	begin(0, 3, 1, 1);
	begin(0, 3, 1, 2);
	while (!inv_kept_is_end(k, at))
		n += inv_kept_mark(k, is_dead, &dead, &at, 3, entries + n, 2);
	assert_int_equal(at, PLACES);
	assert_int_equal(n, 1);
	/* inv_kept_mark has taken the entry. Until inv_kept_reap frees its
	 * calls, no process can use the entry. */
	assert_int_equal(found(3, 1), INV_KEPT_UNKNOWN);
	assert_null(begin(0, 3, 1, 1));
	assert_null(inv_kept_exit(k, PID(3)));
	assert_null(begin(0, 3 + PLACES, 1, 1));
	assert_int_equal(inv_kept_reap(k, 1, entries[0]), 2);
	assert_int_equal(end(0, 1, 1, 5), 4);
	/* The calls were freed, so their blocks can be used again. */
	assert_non_null(begin(0, 3 + PLACES, 1, 1));
	assert_int_equal(lost, 0);
}

/* The process has open calls that found no room. So inv_kept_forget removes all
 * its calls: it is unknown which ends will still be reported. */
static void gone_functions_and_no_room(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 63; i++)
		assert_non_null(begin(0, 1, i % 2, i));
	assert_null(begin(0, 1, 0, 100));
	assert_null(begin(0, 1, 1, 100));
	gone = 0;
	assert_int_equal(inv_kept_forget(k, 0, PID(1), is_gone, NULL), 63);
	assert_int_equal(found(1, 1), INV_KEPT_UNKNOWN);
}

/* Begins calls of the process until all blocks are used. Returns the number of
 * calls. */
static uint32_t fill(uint32_t pid)
{
	uint32_t n = 0;

	while (begin(0, pid, 9, 1))
		n++;
	return n;
}

/* Frees n blocks. */
static void drain(uint32_t pid, uint32_t n)
{
	assert_int_equal(found(pid, 9), INV_KEPT_NO_ROOM);
	for (; n > 0; n--)
		assert_int_equal(end(0, pid, 9, 2), 1);
}

/* A call may begin when there is no room. Calls inside it, which begin when
 * there is room again, are kept. */
static void room_inside_calls_without_room(void **state)
{
	uint32_t n;

	(void)state;
	begin(0, 1, 1, 10);
	n = fill(2);
	assert_null(begin(0, 1, 1, 20));
	assert_null(begin(0, 1, 2, 30));
	drain(2, n);
	assert_int_equal(begin(0, 1, 1, 40)->depth, 3);
	assert_int_equal(begin(0, 1, 1, 50)->depth, 4);
	assert_int_equal(end(0, 1, 1, 51), 1);
	assert_int_equal(end(0, 1, 1, 42), 2);
	assert_int_equal(found(1, 2), INV_KEPT_NO_ROOM);
	assert_int_equal(begin(0, 1, 5, 60)->depth, 2);
	assert_int_equal(end(0, 1, 5, 61), 1);
	assert_int_equal(found(1, 1), INV_KEPT_NO_ROOM);
	assert_int_equal(end(0, 1, 1, 20), 10);
	assert_int_equal(found(1, 1), INV_KEPT_UNKNOWN);
}

/* There was no room for a call of function 1, and the ends of some calls are
 * missing. When this call of function 1 ends, its end must not be taken for the
 * end of an older call of function 1. */
static void missing_ends_around_a_gap(void **state)
{
	uint32_t n;

	(void)state;
	begin(0, 1, 8, 5);
	begin(0, 1, 1, 10);
	n = fill(2);
	assert_null(begin(0, 1, 1, 20));
	drain(2, n);
	begin(0, 1, 2, 30);
	begin(0, 1, 3, 31);
	assert_int_equal(found(1, 7), INV_KEPT_UNKNOWN);
	assert_int_equal(lost, 0);
	/* First the call that began at 20 ends. There was no room for this
	 * call. Then the call that began at 10 ends. */
	assert_int_equal(found(1, 1), INV_KEPT_NO_ROOM);
	assert_int_equal(lost, 2);
	assert_int_equal(end(0, 1, 1, 14), 4);
	assert_int_equal(end(0, 1, 8, 15), 10);
	assert_int_equal(lost, 0);
	/* The call that began at 20 ends. There was no room for this call. The
	 * end of the call that began at 10 is missing, so one call is lost. */
	begin(0, 1, 8, 5);
	begin(0, 1, 1, 10);
	n = fill(2);
	assert_null(begin(0, 1, 1, 20));
	drain(2, n);
	assert_int_equal(found(1, 1), INV_KEPT_NO_ROOM);
	assert_int_equal(end(0, 1, 8, 15), 10);
	assert_int_equal(lost, 1);
	assert_int_equal(begin(0, 1, 1, 30)->depth, 0);
	assert_int_equal(end(0, 1, 1, 31), 1);
}

/* --- several threads ----------------------------------------------------------- */

#define ROUNDS 20000u
#define EACH 40u

/*
 * Processes move between threads. Each thread takes a process, ends the calls
 * that another thread has begun for it, begins other calls, and gives the
 * process back. If two calls had the same block at the same time, the bytes of
 * one of the calls would be wrong.
 */
static _Atomic uint32_t owner[PLACES]; /* the thread that runs the process,
					  counted from 1; 0: no thread */
static _Atomic uint32_t refused;

static void check_and_end(uint32_t thread, uint32_t pid, uint32_t *open,
			  uint8_t *out)
{
	struct inv_kept_call *call;
	uint32_t n;

	while (*open > 0) {
		if (inv_kept_end(k, thread, PID(pid), 1, &call, &n) !=
		    INV_KEPT_FOUND)
			abort();
		if (call->n > 0) {
			inv_kept_get(k, call, out);
			for (uint32_t i = 0; i < call->n; i++)
				if (out[i] != (uint8_t)pid)
					abort();
		}
		inv_kept_pop(k, thread, PID(pid), 1);
		--*open;
	}
}

static uint32_t opened[PLACES]; /* how many calls each process has open; only
				   the thread that runs the process uses it */

static void *move(void *arg)
{
	uint32_t thread = *(uint32_t *)arg;
	uint32_t seed = thread + 1;
	uint8_t in[1000];
	uint8_t out[1000];

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t zero = 0;
		uint32_t pid;

		seed = seed * 1103515245u + 12345u;
		pid = 1 + (seed >> 16) % (PLACES - 1);
		if (!atomic_compare_exchange_strong(&owner[pid], &zero,
						    thread + 1))
			continue;
		check_and_end(thread, pid, &opened[pid], out);
		memset(in, (int)pid, sizeof(in));
		for (uint32_t i = 0; i < seed % EACH; i++) {
			uint32_t n;
			struct inv_kept_call *call =
				inv_kept_begin(k, thread, PID(pid), 1, 1, &n);

			if (!call) {
				struct inv_kept_call *none;

				atomic_fetch_add(&refused, 1);
				if (inv_kept_end(k, thread, PID(pid), 1, &none,
						 &n) != INV_KEPT_NO_ROOM)
					abort();
				continue;
			}
			opened[pid]++;
			(void)inv_kept_put(k, thread, PID(pid), call, in,
					   i % 2 ? 900 : INV_KEPT_NEAR);
		}
		atomic_store(&owner[pid], 0);
	}
	return NULL;
}

static void many_threads(void **state)
{
	pthread_t threads[THREADS];
	uint32_t index[THREADS];
	uint8_t out[1000];
	uint32_t n = 0;

	(void)state;
	inv_kept_free(k);
	assert_int_equal(set_up_with(600 * INV_KEPT_BLOCK), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		index[i] = i;
		assert_int_equal(
			pthread_create(&threads[i], NULL, move, &index[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (uint32_t pid = 1; pid < PLACES; pid++)
		check_and_end(0, pid, &opened[pid], out);
	/* Every block is free again, or in the cache of another thread. */
	while (begin(0, 1, 1, 1))
		n++;
	assert_in_range(n, 599 - (THREADS - 1) * 128, 599);
}

/*
 * A thread frees the calls of processes (inv_kept_mark, inv_kept_reap) while
 * other threads still begin and end calls for them. Each step of a thread is
 * between enter() and leave(), as a tracer's callback would be. If a block were
 * freed too early, bytes or the number of blocks would be wrong.
 */
static _Atomic bool busy[THREADS];
static _Atomic bool over;

static bool is_any(void *arg, uint64_t process)
{
	(void)arg;
	(void)process;
	return true;
}

static void enter(uint32_t thread)
{
	atomic_store(&busy[thread], true);
}

static void leave(uint32_t thread)
{
	atomic_store(&busy[thread], false);
}

static bool begin_again(uint32_t thread, uint64_t process)
{
	uint8_t in[600];
	struct inv_kept_call *call;
	uint32_t n;

	enter(thread);
	memset(in, (int)(process >> 4), sizeof(in));
	call = inv_kept_begin(k, thread, process, 1, 1, &n);
	if (call)
		(void)inv_kept_put(k, thread, process, call, in, sizeof(in));
	leave(thread);
	return call != NULL;
}

static bool end_again(uint32_t thread, uint64_t process)
{
	uint8_t out[600];
	struct inv_kept_call *call;
	bool has;
	uint32_t n;

	enter(thread);
	has = inv_kept_end(k, thread, process, 1, &call, &n) == INV_KEPT_FOUND;
	if (has) {
		inv_kept_get(k, call, out);
		for (uint32_t i = 0; i < call->n; i++)
			if (out[i] != (uint8_t)(process >> 4))
				abort();
		inv_kept_pop(k, thread, process, 1);
	}
	leave(thread);
	return has;
}

static void *calls(void *arg)
{
	uint32_t thread = *(uint32_t *)arg;
	uint64_t process = PID(thread);

	for (uint32_t round = 0; round < ROUNDS; round++) {
		bool has = true;

		for (uint32_t i = 0; has && i < 5; i++)
			has = begin_again(thread, process);
		for (uint32_t i = 0; has && i < 5; i++)
			has = end_again(thread, process);
		if (!has) /* the process was swept; continue as a new process */
			process += (uint64_t)PLACES << 4;
	}
	return NULL;
}

static void *sweeps(void *arg)
{
	const uint32_t thread = THREADS - 1;

	(void)arg;
	while (!atomic_load(&over)) {
		uint32_t entries[PLACES];
		uint64_t at = 0;
		uint32_t n = inv_kept_mark(k, is_any, NULL, &at, PLACES,
					   entries, PLACES);

		for (uint32_t i = 0; i < thread; i++)
			while (atomic_load(&busy[i]))
				sched_yield();
		while (n > 0)
			(void)inv_kept_reap(k, thread, entries[--n]);
	}
	return NULL;
}

static void sweeping_beside_calls(void **state)
{
	pthread_t threads[THREADS];
	uint32_t index[THREADS];
	uint32_t entries[PLACES];
	uint64_t at = 0;
	uint32_t n;

	(void)state;
	inv_kept_free(k);
	assert_int_equal(set_up_with(600 * INV_KEPT_BLOCK), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		index[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL,
						i < THREADS - 1 ? calls :
								  sweeps,
						&index[i]),
				 0);
	}
	for (uint32_t i = 0; i < THREADS - 1; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	atomic_store(&over, true);
	assert_int_equal(pthread_join(threads[THREADS - 1], NULL), 0);
	n = inv_kept_mark(k, is_any, NULL, &at, PLACES, entries, PLACES);
	while (n > 0)
		(void)inv_kept_reap(k, 0, entries[--n]);
	while (begin(0, 7, 1, 1))
		n++;
	assert_in_range(n, 599 - (THREADS - 1) * 128, 599);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_nest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(missing_ends, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(not_all_are_counted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_new_process_takes_a_dead_ones_place, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(bytes_of_any_length, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(no_room_for_bytes, set_up_small,
						tear_down),
		cmocka_unit_test_setup_teardown(no_room_for_calls, set_up_small,
						tear_down),
		cmocka_unit_test_setup_teardown(a_process_has_a_bound, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(calls_of_a_gone_function,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(exits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sweeping_dead_processes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(gone_functions_and_no_room,
						set_up_small, tear_down),
		cmocka_unit_test_setup_teardown(room_inside_calls_without_room,
						set_up_small, tear_down),
		cmocka_unit_test_setup_teardown(missing_ends_around_a_gap,
						set_up_small, tear_down),
		cmocka_unit_test_setup_teardown(many_threads, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(sweeping_beside_calls, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
