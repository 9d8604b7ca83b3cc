/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/open_calls.h"

#include <stddef.h>

#include "vm/pages.h"
#include "vm/place.h"

#define PLACES INV_OPEN_CALLS_PLACES

/* The most entries of a table; a VM has fewer processes. */
#define PROCESSES_MAX (UINT64_C(1) << 27)

/* For how many functions at a time the open calls of a process are counted
 * separately. */
#define MOST 5

struct most {
	uint32_t function; /* its index in the table */
	uint32_t n;	   /* how many of its calls are open */
};

/*
 * A process's entry, one cache line. Calls of a function that has no element in
 * `most' are counted in `others'.
 */
struct process {
	uint64_t id;
	uint32_t total;
	uint32_t others;
	uint32_t holder; /* 0, or 1 + the index of a stopped function: the
			    process's calls are left out until this function
			    is released */
	uint32_t pad;
	struct most most[MOST];
};

/* One bit for each open call of a process, from the outermost call on: 1 if the
 * tracer's filter has left the call out. */
struct unwanted {
	uint64_t bits[INV_OPEN_CALLS_WANTED / 64];
};

struct inv_open_calls {
	struct inv_open_functions functions;
	uint32_t limit;
	uint64_t places; /* how many entries for processes, a power of two */
	struct process *process;
	struct unwanted *unwanted; /* unwanted[i] belongs to process[i] */
};

_Static_assert(offsetof(struct inv_open_calls, functions) == 0,
	       "inv_open_calls_functions");
_Static_assert(sizeof(struct process) == 64, "an entry is a cache line");

struct inv_open_calls *inv_open_calls_make(uint32_t limit, uint64_t processes)
{
	struct inv_open_calls *o = inv_pages_map(sizeof(*o));

	if (!o)
		return NULL;
	o->limit = limit;
	o->places = inv_vm_places(processes, PROCESSES_MAX);
	o->process = inv_pages_map(o->places * sizeof(*o->process));
	o->unwanted = inv_pages_map(o->places * sizeof(*o->unwanted));
	if (o->process && o->unwanted)
		return o;
	inv_open_calls_free(o);
	return NULL;
}

void inv_open_calls_free(struct inv_open_calls *o)
{
	if (!o)
		return;
	if (o->process)
		inv_pages_unmap(o->process, o->places * sizeof(*o->process));
	if (o->unwanted)
		inv_pages_unmap(o->unwanted, o->places * sizeof(*o->unwanted));
	inv_pages_unmap(o, sizeof(*o));
}

/* --- functions ------------------------------------------------------------ */

/* Writes the function into the free entry at index `at'. Returns false if the
 * table has too many functions. */
static bool make(struct inv_open_calls *o, uint32_t at,
		 const struct inv_called *f)
{
	uint32_t used = atomic_load(&o->functions.used);

	if (used == INV_OPEN_CALLS_FUNCTIONS)
		return false;
	o->functions.function[at].name = f->name;
	o->functions.function[at].arity = f->arity;
	o->functions.place[used] = at;
	atomic_store(&o->functions.used, used + 1);
	atomic_store_explicit(&o->functions.function[at].module, f->module,
			      memory_order_release);
	return true;
}

bool inv_open_calls_tell(struct inv_open_calls *o, const struct inv_called *f,
			 enum inv_ends ends)
{
	uint32_t at = inv_open_functions_search(&o->functions, f);
	uint32_t unknown = INV_OPEN_UNKNOWN;
	struct inv_open_function *x;

	if (at == PLACES)
		return ends == INV_ENDS_NONE;
	x = &o->functions.function[at];
	if (!inv_open_function_used(x) && ends == INV_ENDS_NONE)
		return true;
	if (!inv_open_function_used(x) && !make(o, at, f))
		return false;
	atomic_store(&x->ends, ends);
	atomic_compare_exchange_strong(&x->state, &unknown, INV_OPEN_COUNTED);
	return true;
}

bool inv_open_calls_rule(struct inv_open_calls *o, const struct inv_called *f,
			 uint32_t rules)
{
	uint32_t at = inv_open_functions_search(&o->functions, f);

	if (at == PLACES ||
	    (!inv_open_function_used(&o->functions.function[at]) &&
	     !make(o, at, f)))
		return false;
	atomic_fetch_or(&o->functions.function[at].rules, rules);
	return true;
}

/* Makes the function `stopped', and stores the first process that has reached
 * the limit because of this function. The session tells the user which process
 * it was. */
static void stop(struct inv_open_function *f, const struct process *p)
{
	uint32_t counted = INV_OPEN_COUNTED;

	if (!atomic_compare_exchange_strong(&f->state, &counted,
					    INV_OPEN_STOPPING))
		return;
	f->process = p->id;
	f->open = p->total;
	atomic_store_explicit(&f->state, INV_OPEN_STOPPED,
			      memory_order_release);
}

bool inv_open_calls_stopped(const struct inv_open_calls *o, uint32_t *at,
			    struct inv_stopped_call *stopped)
{
	uint32_t used = atomic_load(&o->functions.used);

	while (*at < used) {
		const struct inv_open_function *f =
			&o->functions.function[o->functions.place[(*at)++]];

		if (inv_open_function_state(f) != INV_OPEN_STOPPED)
			continue;
		stopped->function = inv_open_function_called(f);
		stopped->process = f->process;
		stopped->open = f->open;
		return true;
	}
	return false;
}

void inv_open_calls_release(struct inv_open_calls *o,
			    const struct inv_called *f)
{
	uint32_t at = inv_open_calls_find(o, f);
	struct inv_open_function *x;

	if (at == PLACES)
		return;
	x = &o->functions.function[at];
	if (inv_open_function_state(x) == INV_OPEN_STOPPED)
		atomic_store_explicit(&x->state, INV_OPEN_RELEASED,
				      memory_order_release);
}

/* --- processes ------------------------------------------------------------ */

static struct process *process_of(const struct inv_open_calls *o, uint64_t id)
{
	return &o->process[inv_vm_place(id, o->places)];
}

/* Counts an open call. A function keeps its element in `most' even without open
 * calls, until another function needs the element. So most calls find the
 * element of their function at once. */
static void add(struct process *p, uint32_t function)
{
	struct most *unused = NULL;
	int i;

	p->total++;
	for (i = 0; i < MOST; i++) {
		if (p->most[i].function == function) {
			p->most[i].n++;
			return;
		}
		if (p->most[i].n == 0 && !unused)
			unused = &p->most[i];
	}
	if (unused)
		*unused = (struct most){ .function = function, .n = 1 };
	else
		p->others++;
}

/* Counts the end of a call. If its function has an element in `most', the call
 * is subtracted there, although it may have been counted in `others' when it
 * began. */
static void subtract(struct process *p, uint32_t function)
{
	int i;

	for (i = 0; i < MOST; i++)
		if (p->most[i].n > 0 && p->most[i].function == function) {
			p->most[i].n--;
			p->total--;
			return;
		}
	if (p->others > 0) {
		p->others--;
		p->total--;
	}
}

static bool is_released(const struct inv_open_calls *o, uint32_t function)
{
	return inv_open_function_state(&o->functions.function[function]) ==
	       INV_OPEN_RELEASED;
}

/*
 * Forgets open calls of released functions. If the function p->holder is
 * released and its calls are counted in `others', sets `others' to 0: it is not
 * known how many of the calls in `others' are calls of this function.
 */
static void forget_released(struct inv_open_calls *o, struct process *p)
{
	bool among_others = p->holder && is_released(o, p->holder - 1);
	int i;

	for (i = 0; i < MOST; i++) {
		struct most *m = &p->most[i];

		if (m->n == 0 || !is_released(o, m->function))
			continue;
		if (m->function + 1 == p->holder)
			among_others = false;
		p->total -= m->n;
		m->n = 0;
	}
	if (among_others) {
		p->total -= p->others;
		p->others = 0;
	}
	if (p->holder && is_released(o, p->holder - 1))
		p->holder = 0;
}

/* Returns the function with the most open calls of the process. If `others' is
 * larger than the count of this function, returns the function that was just
 * called. */
static uint32_t choose(const struct process *p, uint32_t called)
{
	const struct most *top = &p->most[0];
	int i;

	for (i = 1; i < MOST; i++)
		if (p->most[i].n > top->n)
			top = &p->most[i];
	return top->n >= p->others ? top->function : called;
}

bool inv_open_calls_begin(struct inv_open_calls *o, uint32_t function,
			  uint64_t process)
{
	struct process *p = process_of(o, process);
	uint32_t holder;

	if (is_released(o, function))
		return false;
	if (p->id != process)
		*p = (struct process){ .id = process };
	add(p, function);
	if (p->total < o->limit)
		return false;
	forget_released(o, p);
	if (p->total < o->limit)
		return false;
	holder = choose(p, function);
	stop(&o->functions.function[holder], p);
	p->holder = holder + 1;
	return true;
}

bool inv_open_calls_end(struct inv_open_calls *o, uint32_t function,
			uint64_t process)
{
	struct process *p = process_of(o, process);

	if (p->id == process && !is_released(o, function))
		subtract(p, function);
	return inv_open_function_reported(inv_open_function_at(o, function));
}

/* Returns how many calls of the process are open. */
static uint32_t open_of(const struct inv_open_calls *o, uint64_t process)
{
	const struct process *p = process_of(o, process);

	return p->id == process ? p->total : 0;
}

/* Returns the word that has the bit of the process's open call number n; the
 * outermost call has number 0. */
static uint64_t *word_of(const struct inv_open_calls *o, uint64_t process,
			 uint32_t n)
{
	return &o->unwanted[inv_vm_place(process, o->places)].bits[n / 64];
}

void inv_open_calls_want(struct inv_open_calls *o, uint64_t process,
			 bool wanted)
{
	uint32_t n = open_of(o, process) - 1;
	uint64_t bit = UINT64_C(1) << n % 64;

	if (n >= INV_OPEN_CALLS_WANTED) /* if no call is open, n is
					   UINT32_MAX */
		return;
	if (wanted)
		*word_of(o, process, n) &= ~bit;
	else
		*word_of(o, process, n) |= bit;
}

bool inv_open_calls_wanted(const struct inv_open_calls *o, uint64_t process)
{
	uint32_t n = open_of(o, process);

	if (n == 0 || n > INV_OPEN_CALLS_WANTED)
		return n != 0;
	n--;
	return !(*word_of(o, process, n) >> n % 64 & 1);
}

bool inv_open_calls_hold(struct inv_open_calls *o, uint64_t process)
{
	struct process *p = process_of(o, process);

	if (p->id != process || p->holder == 0)
		return false;
	if (is_released(o, p->holder - 1))
		forget_released(o, p);
	return p->holder != 0;
}
