/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/open_calls.h"

#include <stddef.h>

#include "vm/pages.h"
#include "vm/place.h"

/* The table of functions is a hash table with open addressing. */
#define PLACES (2 * INV_OPEN_CALLS_FUNCTIONS)
#define PROBES 64

/* More processes than a VM can have. */
#define PROCESSES_MAX (UINT64_C(1) << 27)

/* Of so many functions, the open calls of a process are counted one by one. */
#define MOST 5

enum state {
	UNKNOWN,
	COUNTED,
	STOPPING, /* a thread is about to make it STOPPED */
	STOPPED,
	RELEASED,
};

struct inv_open_function {
	_Atomic uint64_t module; /* 0: free; written last */
	uint64_t name;
	uint32_t arity;
	_Atomic uint32_t ends;	/* enum inv_ends */
	_Atomic uint32_t state; /* enum state */
	/* Written before the state STOPPED. */
	uint32_t open;
	uint64_t process;
};

struct most {
	uint32_t function; /* its index in the table */
	uint32_t n;	   /* open calls */
};

/*
 * A process's entry, one cache line. Calls of functions that find no element in
 * `most' are counted in `others'.
 */
struct process {
	uint64_t id;
	uint32_t total;
	uint32_t others;
	uint32_t holder; /* the function for which it is held, index + 1 */
	uint32_t pad;
	struct most most[MOST];
};

/* One bit for each open call, the outermost first: 1 if the tracer's filter left
 * the call out. */
struct unwanted {
	uint64_t bits[INV_OPEN_CALLS_WANTED / 64];
};

struct inv_open_calls {
	uint32_t limit;
	_Atomic uint32_t used; /* functions */
	uint64_t places;       /* of processes, a power of two */
	struct process *process;
	struct unwanted *unwanted;		  /* a place for each process */
	uint32_t place[INV_OPEN_CALLS_FUNCTIONS]; /* of functions in use */
	struct inv_open_function function[PLACES];
};

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

/* --- functions --------------------------------------------------------------- */

/*
 * Returns the index of the function's entry, or of a free one, or PLACES if all
 * probes failed.
 */
static uint32_t search(const struct inv_open_calls *o,
		       const struct inv_called *f)
{
	uint64_t hash =
		(f->module * 31 + f->name) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> 40) + f->arity;
	int left;

	for (left = PROBES; left > 0; left--, at++) {
		const struct inv_open_function *x = &o->function[at % PLACES];
		/* Acquire: the writer stores the module last. */
		uint64_t module =
			atomic_load_explicit(&x->module, memory_order_acquire);

		if (module == 0 || (module == f->module && x->name == f->name &&
				    x->arity == f->arity))
			return at % PLACES;
	}
	return PLACES;
}

static bool is_used(const struct inv_open_function *f)
{
	return atomic_load_explicit(&f->module, memory_order_relaxed) != 0;
}

struct inv_open_function *inv_open_calls_find(const struct inv_open_calls *o,
					      const struct inv_called *f)
{
	uint32_t at = search(o, f);

	return at < PLACES && is_used(&o->function[at]) ?
		       (struct inv_open_function *)(uintptr_t)&o->function[at] :
		       NULL;
}

/* Writes the free entry at index `at'. Returns false if there are too many. */
static bool make(struct inv_open_calls *o, uint32_t at,
		 const struct inv_called *f)
{
	uint32_t used = atomic_load(&o->used);

	if (used == INV_OPEN_CALLS_FUNCTIONS)
		return false;
	o->function[at].name = f->name;
	o->function[at].arity = f->arity;
	o->place[used] = at;
	atomic_store(&o->used, used + 1);
	atomic_store_explicit(&o->function[at].module, f->module,
			      memory_order_release);
	return true;
}

bool inv_open_calls_tell(struct inv_open_calls *o, const struct inv_called *f,
			 enum inv_ends ends)
{
	uint32_t at = search(o, f);
	uint32_t unknown = UNKNOWN;
	struct inv_open_function *x;

	if (at == PLACES)
		return ends == INV_ENDS_NONE;
	x = &o->function[at];
	if (!is_used(x) && ends == INV_ENDS_NONE)
		return true;
	if (!is_used(x) && !make(o, at, f))
		return false;
	atomic_store(&x->ends, ends);
	atomic_compare_exchange_strong(&x->state, &unknown, COUNTED);
	return true;
}

enum inv_ends inv_open_function_ends(const struct inv_open_function *f)
{
	return (enum inv_ends)atomic_load_explicit(&f->ends,
						   memory_order_relaxed);
}

uint32_t inv_open_function_number(const struct inv_open_calls *o,
				  const struct inv_open_function *f)
{
	return (uint32_t)(f - o->function);
}

const struct inv_open_function *inv_open_function_at(
	const struct inv_open_calls *o, uint32_t number)
{
	return &o->function[number];
}

struct inv_called inv_open_function_called(const struct inv_open_function *f)
{
	return (struct inv_called){
		.module =
			atomic_load_explicit(&f->module, memory_order_relaxed),
		.name = f->name,
		.arity = f->arity,
	};
}

static enum state state_of(const struct inv_open_function *f)
{
	/* Acquire: pairs with the release in stop() and _release(). */
	return (enum state)atomic_load_explicit(&f->state,
						memory_order_acquire);
}

bool inv_open_function_reported(const struct inv_open_function *f)
{
	enum state state = state_of(f);

	return state == UNKNOWN || state == COUNTED;
}

/* Stops the function. If other processes reach the limit, too, the first one is
 * named. */
static void stop(struct inv_open_function *f, const struct process *p)
{
	uint32_t counted = COUNTED;

	if (!atomic_compare_exchange_strong(&f->state, &counted, STOPPING))
		return;
	f->process = p->id;
	f->open = p->total;
	atomic_store_explicit(&f->state, STOPPED, memory_order_release);
}

bool inv_open_calls_stopped(const struct inv_open_calls *o, uint32_t *at,
			    struct inv_stopped_call *stopped)
{
	uint32_t used = atomic_load(&o->used);

	while (*at < used) {
		const struct inv_open_function *f =
			&o->function[o->place[(*at)++]];

		if (state_of(f) != STOPPED)
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
	struct inv_open_function *x = inv_open_calls_find(o, f);

	if (x && state_of(x) == STOPPED)
		atomic_store_explicit(&x->state, RELEASED,
				      memory_order_release);
}

/* --- processes --------------------------------------------------------------- */

static struct process *process_of(const struct inv_open_calls *o, uint64_t id)
{
	return &o->process[inv_vm_place(id, o->places)];
}

static void add(struct process *p, uint32_t function)
{
	struct most *unused = NULL;
	int i;

	p->total++;
	for (i = 0; i < MOST; i++) {
		if (p->most[i].n == 0) {
			unused = &p->most[i];
		} else if (p->most[i].function == function) {
			p->most[i].n++;
			return;
		}
	}
	if (unused)
		*unused = (struct most){ .function = function, .n = 1 };
	else
		p->others++;
}

/* A call of a function that has an element now may be counted in `others'. */
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
	return state_of(&o->function[function]) == RELEASED;
}

/*
 * Forgets open calls of released functions. If the process was held for a
 * function whose calls are among the others, it forgets all of those, because
 * it is unknown how many they are.
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

/* Returns the function with the most open calls, or, if that is one of the
 * others, the function that was called now. */
static uint32_t choose(const struct process *p, uint32_t called)
{
	const struct most *top = &p->most[0];
	int i;

	for (i = 1; i < MOST; i++)
		if (p->most[i].n > top->n)
			top = &p->most[i];
	return top->n >= p->others ? top->function : called;
}

bool inv_open_calls_begin(struct inv_open_calls *o, struct inv_open_function *f,
			  uint64_t process)
{
	struct process *p = process_of(o, process);
	uint32_t function = inv_open_function_number(o, f);
	uint32_t holder;

	if (state_of(f) == RELEASED)
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
	stop(&o->function[holder], p);
	p->holder = holder + 1;
	return true;
}

bool inv_open_calls_end(struct inv_open_calls *o, struct inv_open_function *f,
			uint64_t process)
{
	struct process *p = process_of(o, process);

	if (p->id == process && state_of(f) != RELEASED)
		subtract(p, inv_open_function_number(o, f));
	return inv_open_function_reported(f);
}

/* Returns how many calls of the process are open. */
static uint32_t open_of(const struct inv_open_calls *o, uint64_t process)
{
	const struct process *p = process_of(o, process);

	return p->id == process ? p->total : 0;
}

/* Returns the word that has the bit of open call n, from 0. */
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

	if (n >= INV_OPEN_CALLS_WANTED) /* or none is open */
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
