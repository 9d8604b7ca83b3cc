/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Several threads change the trace flags of the same processes at the same
 * time, as the engine's callbacks and its server do. No change may get lost, no
 * two processes may have the same entry in the table of tracees, and equal
 * flags must have the same profile (the number of a stored combination of
 * flags).
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/lost.h"
#include "engine/tracee.h"

#define THREADS 4
#define PIDS 64
#define HOT 2 /* number of processes changed by all threads */
#define ROUNDS 50000
#define FLAGS 4 /* few flags, so that there are few profiles */
/* 64 numbers are in reserve: if several threads add the same profile at the
 * same time, each takes a number, and only one of these numbers is needed. */
#define PROFILES (INV_PROFILES_MAX - 64)

#define CHECK(what)                                          \
	do {                                                 \
		if (!(what)) {                               \
			printf("%d: %s\n", __LINE__, #what); \
			exit(1);                             \
		}                                            \
	} while (0)

/* The table has PIDS entries. Process number i has the same entry in each
 * generation of processes. */
static ERL_NIF_TERM pid(uint32_t generation, uint32_t i)
{
	return (ERL_NIF_TERM)(generation * PIDS + i) << 4 | 3;
}

static uint32_t change(ERL_NIF_TERM id, uint32_t slot, uint32_t clear,
		       uint32_t set)
{
	const struct inv_edit e = { .slot = slot, .clear = clear, .set = set };

	return inv_tracee_edit(id, &e);
}

/* Each thread changes only the flags of its own session, but all threads change
 * the same processes. */
static void *edit(void *arg)
{
	uint32_t slot = (uint32_t)(uintptr_t)arg;
	uint32_t round;
	uint32_t i;

	for (round = 0; round < ROUNDS; round++) {
		ERL_NIF_TERM id = pid(1, round % HOT);
		uint32_t flag = round % FLAGS;

		CHECK(change(id, slot, UINT32_MAX, 1U << flag) !=
		      INV_PROFILE_NONE);
		CHECK(inv_profile_at(inv_tracee_profile_of(id))
				      ->sessions[flag] >>
			      slot &
		      1);
	}
	for (i = 0; i < HOT; i++)
		CHECK(change(pid(1, i), slot, UINT32_MAX, 1U << i) !=
		      INV_PROFILE_NONE);
	return NULL;
}

static uint32_t found[THREADS][PROFILES];
static pthread_barrier_t together;

static void *define(void *arg)
{
	uint32_t thread = (uint32_t)(uintptr_t)arg;
	uint32_t n;

	pthread_barrier_wait(&together);
	for (n = 0; n < PROFILES; n++) {
		const struct inv_edit e = { .slot = n % 32,
					    .set = 1U << n % INV_FLAGS,
					    .tracer = (uint16_t)n };

		found[thread][n] = inv_profile_edit(0, &e);
	}
	return NULL;
}

/* All entries of the table belong to dead processes of the previous generation.
 * The first thread that changes the flags of a new process takes over an entry
 * for this process. */
static void *take_over(void *arg)
{
	uint32_t slot = (uint32_t)(uintptr_t)arg;
	uint32_t round;
	uint32_t i;

	for (round = 2; round < 200; round++)
		for (i = 0; i < PIDS; i++) {
			struct inv_tracee *t = inv_tracee_get(pid(round, i));

			/* Another thread may have given the entry to a process
			 * of a later generation. */
			if (t && atomic_load(&t->id) == pid(round, i))
				(void)change(pid(round, i), slot, 0, 1);
		}
	return NULL;
}

static void in_threads(void *(*function)(void *))
{
	pthread_t thread[THREADS];
	uintptr_t i;

	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, function, (void *)i));
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

int main(void)
{
	uint32_t i;
	uint32_t f;

	CHECK(inv_profiles_init() == 0 && inv_tracees_init(PIDS, 1) == 0);
	CHECK(!pthread_barrier_init(&together, NULL, THREADS));
	in_threads(define);
	for (i = 0; i < THREADS * PROFILES; i++)
		CHECK(found[i / PROFILES][i % PROFILES] ==
		      found[0][i % PROFILES]);
	CHECK(inv_shortage_count(INV_SHORTAGE_PROFILE) == 0);
	inv_profiles_clear();
	in_threads(edit);
	for (i = 0; i < HOT; i++)
		for (f = 0; f < INV_FLAGS; f++)
			CHECK(inv_profile_at(inv_tracee_profile_of(pid(1, i)))
				      ->sessions[f] ==
			      (f == i ? (1U << THREADS) - 1 : 0));
	in_threads(take_over);
	inv_tracees_end();
	inv_profiles_end();
	return 0;
}
