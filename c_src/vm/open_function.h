/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_OPEN_FUNCTION_H
#define INV_VM_OPEN_FUNCTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The functions in a table of open calls (vm/open_calls.h): a hash table with
 * open addressing. Each event of a call searches this table for the function,
 * so the code is in a header, where it can be inlined. The fields are private.
 */
#define INV_OPEN_CALLS_FUNCTIONS (1u << 17)
#define INV_OPEN_CALLS_PLACES (2 * INV_OPEN_CALLS_FUNCTIONS)
#define INV_OPEN_CALLS_PROBES 64

struct inv_called {
	uint64_t module;
	uint64_t name;
	uint32_t arity;
};

/* For which calls of a function the VM reports the ends. */
enum inv_ends {
	INV_ENDS_NONE,	 /* of no call */
	INV_ENDS_ALL,	 /* of every call that the VM reports */
	INV_ENDS_MARKED, /* of calls to which a match spec has added a mark
			  * (nif/bound.h) */
};

enum inv_open_state {
	INV_OPEN_UNKNOWN,
	INV_OPEN_COUNTED,
	INV_OPEN_STOPPING, /* a thread is about to change the state to
			      INV_OPEN_STOPPED */
	INV_OPEN_STOPPED,
	INV_OPEN_RELEASED,
};

/* A function of the table. A pointer to it is valid as long as the table. */
struct inv_open_function {
	_Atomic uint64_t module; /* stored last when an entry gets a function;
				    0: the entry is free */
	uint64_t name;
	uint32_t arity;
	_Atomic uint32_t ends;	/* enum inv_ends */
	_Atomic uint32_t state; /* enum inv_open_state */
	_Atomic uint32_t rules;
	/* The function was stopped because the process `process' reached the
	 * limit on open calls, with `open' open calls. Both fields are stored
	 * before the state becomes INV_OPEN_STOPPED. */
	uint32_t open;
	uint64_t process;
};

struct inv_open_functions {
	_Atomic uint32_t used; /* how many functions the table has */
	uint32_t place[INV_OPEN_CALLS_FUNCTIONS]; /* place[i]: index in
						     `function' of the i-th
						     function that was added */
	struct inv_open_function function[INV_OPEN_CALLS_PLACES];
};

/*
 * Returns the index of the function's entry. If there is none, returns the
 * index of a free entry for it, or INV_OPEN_CALLS_PLACES if all entries that
 * were probed have other functions.
 */
static inline uint32_t inv_open_functions_search(
	const struct inv_open_functions *o, const struct inv_called *f)
{
	uint64_t hash =
		(f->module * 31 + f->name) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> 40) + f->arity;
	int left;

	for (left = INV_OPEN_CALLS_PROBES; left > 0; left--, at++) {
		const struct inv_open_function *x =
			&o->function[at % INV_OPEN_CALLS_PLACES];
		/* Acquire: the thread that adds a function stores the module
		 * last. */
		uint64_t module =
			atomic_load_explicit(&x->module, memory_order_acquire);

		if (module == 0 || (module == f->module && x->name == f->name &&
				    x->arity == f->arity))
			return at % INV_OPEN_CALLS_PLACES;
	}
	return INV_OPEN_CALLS_PLACES;
}

static inline bool inv_open_function_used(const struct inv_open_function *f)
{
	return atomic_load_explicit(&f->module, memory_order_relaxed) != 0;
}

static inline uint32_t inv_open_function_rules(
	const struct inv_open_function *f)
{
	return atomic_load_explicit(&f->rules, memory_order_relaxed);
}

static inline enum inv_ends inv_open_function_ends(
	const struct inv_open_function *f)
{
	return (enum inv_ends)atomic_load_explicit(&f->ends,
						   memory_order_relaxed);
}

static inline struct inv_called inv_open_function_called(
	const struct inv_open_function *f)
{
	return (struct inv_called){
		.module =
			atomic_load_explicit(&f->module, memory_order_relaxed),
		.name = f->name,
		.arity = f->arity,
	};
}

static inline enum inv_open_state inv_open_function_state(
	const struct inv_open_function *f)
{
	/* Acquire: pairs with the release stores that change the state. */
	return (enum inv_open_state)atomic_load_explicit(&f->state,
							 memory_order_acquire);
}

/* Returns true if the ends of the function's calls are recorded. */
static inline bool inv_open_function_reported(const struct inv_open_function *f)
{
	return inv_open_function_state(f) <= INV_OPEN_COUNTED;
}

#endif
