/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/times.h"

#include <stdatomic.h>

#include "abi/event.h"
#include "base/likely.h"
#include "nif/arrival.h"
#include "nif/atoms.h"
#include "nif/bound_count.h"
#include "nif/open_keys.h"
#include "nif/tally.h"
#include "nif/thread.h"
#include "nif/tracer.h"
#include "nif/value_key.h"
#include "vm/open_calls.h"
#include "vm/pages.h"
#include "vm/spans.h"
#include "vm/tally.h"
#include "vm/times.h"

/*
 * The tally and `times' have a part for each thread, and one more part, in
 * which inv_times_end counts the calls that are still open when tracing ends.
 */
struct inv_timing {
	struct inv_spans *spans; /* NULL: the histograms are of numbers */
	struct inv_times *times;
	struct inv_tally *open_keys; /* keys of open calls; NULL: calls are not
					timed, or their keys are not values */
	_Atomic bool over;
	uint32_t n_recent;
	struct recent *recent; /* for each part, RECENT entries */
};

/*
 * A cache of the tally's cells by the number of the function or of the value,
 * so that for most ends of calls no hash of the key is computed. The tally
 * never moves a cell, so an entry is never outdated. If two numbers have the
 * same entry, the later one replaces the earlier one.
 */
#define RECENT 256u

struct recent {
	struct inv_tally_cell *cell; /* NULL: the entry is free */
	uint64_t number;	     /* of the function, or of the value */
};

void inv_timing_free(struct inv_timing *timing)
{
	if (!timing)
		return;
	inv_spans_free(timing->spans);
	inv_times_free(timing->times);
	inv_tally_free(timing->open_keys);
	inv_pages_unmap(timing->recent,
			timing->n_recent * sizeof(*timing->recent));
	inv_pages_unmap(timing, sizeof(*timing));
}

/* Garbage collections, and the times during which a process runs or waits, are
 * on the stack of open calls, too. There they have these numbers in place of a
 * function's number. No function has such a number. */
#define FUNCTIONS_END GC_MINOR
#define GC_MINOR (UINT32_MAX - 4)
#define GC_MAJOR (UINT32_MAX - 3)
#define RUNNING (UINT32_MAX - 2)
#define WAITING (UINT32_MAX - 1)

static ERL_NIF_TERM name_of(uint32_t number)
{
	switch (number) {
	case GC_MINOR:
		return inv_am_gc_minor;
	case GC_MAJOR:
		return inv_am_gc_major;
	case RUNNING:
		return inv_am_running;
	default:
		return inv_am_waiting;
	}
}

/* --- counting ------------------------------------------------------------- */

/* The part of the tally in which calls are counted: that of a thread, or the
 * last one, which inv_times_end uses. */
struct counter {
	struct inv_tracer *t;
	struct inv_tally *tally;
	uint32_t part;
	ErlNifEnv *env;
};

static const struct inv_open_calls *open_calls(const struct counter *c)
{
	/* Acquire: pairs with the release in inv_bound_ends(). */
	return atomic_load_explicit(&c->t->open_calls, memory_order_acquire);
}

static struct inv_tally_key key_of(const struct counter *c, uint64_t process,
				   const struct inv_spans_call *span)
{
	uint32_t function = span->function;
	struct inv_called f;

	if (c->tally->by == INV_COUNT_VALUE)
		return *inv_open_keys_get(c->t->timing->open_keys, span->key);
	if (c->tally->by == INV_COUNT_PROCESS)
		return (struct inv_tally_key){ process, 0, INV_COUNT_PROCESS };
	if (inv_unlikely(function >= FUNCTIONS_END))
		return (struct inv_tally_key){ name_of(function), 0,
					       INV_COUNT_TAG };
	f = inv_open_function_called(
		inv_open_function_at(open_calls(c), function));
	return (struct inv_tally_key){ f.module, f.name,
				       INV_COUNT_FUNCTION | (uint64_t)f.arity
								    << 8 };
}

static struct inv_tally_cell *cell_of(const struct counter *c,
				      const struct inv_tally_key *key)
{
	struct inv_tally_part *part = &c->tally->parts[c->part];
	struct inv_tally_cell *cell = inv_tally_find(part, key);

	if (inv_likely(cell != NULL))
		return cell;
	/* The cell of a value needs only the key: the value's bytes were stored
	 * in open_keys by the thread in which the call began. */
	if (c->tally->by == INV_COUNT_VALUE)
		return inv_tally_claim(part, key);
	return inv_tally_first(c->t, c->tally, c->part, c->env, key);
}

/* Returns the cell for the key of a call, from the cache if possible. */
static struct inv_tally_cell *cell_of_call(const struct counter *c,
					   uint64_t process,
					   const struct inv_spans_call *span)
{
	bool by_value = c->tally->by == INV_COUNT_VALUE;
	bool by_process = c->tally->by == INV_COUNT_PROCESS;
	uint32_t number = by_value ? span->key : span->function;
	struct recent *r =
		&c->t->timing
			 ->recent[(size_t)c->part * RECENT + number % RECENT];
	struct inv_tally_key key;
	struct inv_tally_cell *cell;

	if (inv_likely(r->number == number && r->cell && !by_process))
		return r->cell;
	if (by_value && number == INV_OPEN_KEYS_OTHERS)
		return NULL;
	key = key_of(c, process, span);
	cell = cell_of(c, &key);
	if (!by_process)
		*r = (struct recent){ cell, number };
	return cell;
}

/* Adds a time or a number to the histogram of a cell, and counts the event. */
static void add_value(const struct counter *c, struct inv_tally_cell *cell,
		      uint64_t value)
{
	struct inv_times_part *p = &c->t->timing->times->parts[c->part];
	struct inv_tally_part *keys = &c->tally->parts[c->part];

	if (inv_unlikely(
		    !inv_times_add(p, inv_times_row(p, keys, cell), value))) {
		cell = NULL;
		(void)inv_times_add(p, inv_times_row(p, keys, cell), value);
	}
	inv_tally_add(keys, cell);
}

static void add_unpaired(const struct counter *c, struct inv_tally_cell *cell)
{
	struct inv_tally_part *keys = &c->tally->parts[c->part];

	inv_times_unpaired(inv_times_row(&c->t->timing->times->parts[c->part],
					 keys, cell));
	inv_tally_add(keys, cell);
}

/* --- callbacks ------------------------------------------------------------ */

static void lost(void *arg, uint64_t process, const struct inv_spans_call *span)
{
	struct counter *c = arg;

	add_unpaired(c, cell_of_call(c, process, span));
}

static bool gone(void *arg, uint32_t function)
{
	struct counter *c = arg;

	return function < FUNCTIONS_END &&
	       !inv_open_function_reported(
		       inv_open_function_at(open_calls(c), function));
}

static void begin(struct counter *c, uint64_t process,
		  const struct inv_spans_call *span)
{
	const struct inv_spans_use use = { c, lost, gone };

	if (inv_unlikely(
		    !inv_spans_begin(c->t->timing->spans, &use, process, span)))
		lost(c, process, span);
}

/* Pushes the start of a garbage collection, or of a time during which the
 * process runs or waits. The key of such an entry is never a value. */
static void begin_other(struct counter *c, uint64_t process, uint32_t function,
			uint64_t now)
{
	begin(c, process,
	      &(struct inv_spans_call){ now, function, INV_OPEN_KEYS_OTHERS });
}

/* Pushes a call that begins. Returns false if keys are values, but the event
 * has no value. */
static bool begin_call(struct counter *c, const struct inv_tracer_event *te,
		       uint32_t function, uint64_t now)
{
	struct inv_spans_call span = { now, function, INV_OPEN_KEYS_OTHERS };
	struct inv_tally *keys = c->t->timing->open_keys;

	if (inv_unlikely(keys != NULL) &&
	    !inv_open_keys_number(c->t, keys, c->part, te, &span.key))
		return false;
	begin(c, te->tracee, &span);
	return true;
}

/* Handles the end of a call. If the call is not on the stack, it was already
 * counted as unpaired. */
static void end(struct counter *c, uint64_t process, uint32_t function,
		uint64_t now)
{
	const struct inv_spans_use use = { c, lost, gone };
	struct inv_spans_call span;

	if (inv_unlikely(!inv_spans_end(c->t->timing->spans, &use, process,
					function, &span)))
		return;
	add_value(c, cell_of_call(c, process, &span),
		  inv_ns_between(span.ns, now));
}

/* If the VM will not report the end of a call, counts the call as unpaired.
 * Ignores the end of a call whose beginning is unknown. */
static INV_COLD enum inv_timed take_endless(const struct counter *c,
					    struct inv_arrival *a)
{
	struct inv_tally *keys = c->t->timing->open_keys;
	struct inv_spans_call span = { 0 };
	struct inv_tally_key key;

	if (a->te.tag == inv_am_return_from ||
	    a->te.tag == inv_am_exception_from)
		return INV_TIMED;
	if (keys) {
		if (!inv_open_keys_number(c->t, keys, c->part,
					  inv_arrival_whole(a), &span.key))
			return INV_TIMED_BAD;
		add_unpaired(c, cell_of_call(c, a->te.tracee, &span));
		return INV_TIMED;
	}
	if (!inv_tally_key_of(c->tally, a, &key))
		return INV_TIMED_BAD;
	add_unpaired(c, cell_of(c, &key));
	return INV_TIMED;
}

static void schedule(struct counter *c, uint64_t process, uint32_t ends,
		     uint32_t begins, uint64_t now)
{
	bool by_process = c->tally->by == INV_COUNT_PROCESS;

	if (!by_process || ends == WAITING)
		end(c, process, ends, now);
	if (begins && (!by_process || begins == WAITING))
		begin_other(c, process, begins, now);
}

/* Handles an event that is not about a call. */
static enum inv_timed take_other(struct counter *c, struct inv_arrival *a,
				 uint64_t now)
{
	const struct inv_tracer_event *te = &a->te;

	switch (inv_atoms_tag(te->tag)) {
	case INV_TAG_GC_MINOR_START:
		begin_other(c, te->tracee, GC_MINOR, now);
		return INV_TIMED;
	case INV_TAG_GC_MINOR_END:
		end(c, te->tracee, GC_MINOR, now);
		return INV_TIMED;
	case INV_TAG_GC_MAJOR_START:
		begin_other(c, te->tracee, GC_MAJOR, now);
		return INV_TIMED;
	case INV_TAG_GC_MAJOR_END:
		end(c, te->tracee, GC_MAJOR, now);
		return INV_TIMED;
	case INV_TAG_IN:
	case INV_TAG_IN_EXITING:
		schedule(c, te->tracee, WAITING, RUNNING, now);
		return INV_TIMED;
	case INV_TAG_OUT:
	case INV_TAG_OUT_EXITING:
		schedule(c, te->tracee, RUNNING, WAITING, now);
		return INV_TIMED;
	case INV_TAG_OUT_EXITED:
		schedule(c, te->tracee, RUNNING, 0, now);
		return INV_TIMED;
	default:
		return take_endless(c, a);
	}
}

static enum inv_tag tag_of(const struct inv_tracer_event *te)
{
	if (te->tag == inv_am_call)
		return INV_TAG_CALL;
	if (te->tag == inv_am_return_from)
		return INV_TAG_RETURN_FROM;
	return te->tag == inv_am_exception_from ? INV_TAG_EXCEPTION_FROM :
						  INV_TAG_OTHER;
}

enum inv_timed inv_times_event(struct inv_tracer *t, uint32_t thread,
			       struct inv_arrival *a, uint64_t now)
{
	const struct inv_tracer_event *te = &a->te;
	struct counter c = {
		.t = t,
		/* Acquire: pairs with the release in inv_tally_begin(). */
		.tally = atomic_load_explicit(&t->tally, memory_order_acquire),
		.part = thread,
		.env = te->env,
	};
	enum inv_bound bound = INV_BOUND_RECORD;
	struct inv_tracer_event plain;
	struct inv_bound_call call;
	enum inv_tag tag;

	/* The caller has called inv_thread_enter. This load comes after the
	 * barrier in inv_thread_enter, which pairs with the barrier in
	 * is_over(). */
	if (inv_unlikely(atomic_load_explicit(&t->timing->over,
					      memory_order_relaxed)))
		return INV_TIMED_OVER;
	tag = tag_of(te);
	if (inv_unlikely(tag == INV_TAG_OTHER))
		return take_other(&c, a, now);
	if (tag == INV_TAG_CALL)
		(void)inv_arrival_whole(a);
	if (inv_likely(open_calls(&c) != NULL))
		bound = inv_bound_count(t, tag, &te, &plain, &call);
	switch (bound) {
	case INV_BOUND_BEGINS:
		return begin_call(&c, te, call.function, now) ? INV_TIMED :
								INV_TIMED_BAD;
	case INV_BOUND_HOLDS:
		(void)begin_call(&c, te, call.function, now);
		return INV_TIMED_HELD;
	case INV_BOUND_ENDS:
		end(&c, te->tracee, call.function, now);
		return INV_TIMED;
	case INV_BOUND_LEAVE_OUT:
		return INV_TIMED;
	default:
		return take_endless(&c, a);
	}
}

/* --- numbers -------------------------------------------------------------- */

static bool get_number(const struct inv_tracer_event *te, uint64_t *n)
{
	const ERL_NIF_TERM *e;
	ErlNifUInt64 value;
	int arity;

	if (te->value == 0 || !enif_get_tuple(te->env, te->value, &arity, &e) ||
	    arity < 1 || !enif_get_uint64(te->env, e[0], &value) ||
	    value > INT64_MAX)
		return false;
	*n = value;
	return true;
}

static bool cell_of_number(const struct counter *c, struct inv_arrival *a,
			   struct inv_tally_cell **cell)
{
	struct inv_tally_key key;

	if (c->tally->by == INV_COUNT_VALUE) {
		if (!inv_value_key(c->t, c->part, inv_arrival_whole(a), &key))
			return false;
		*cell = inv_value_cell(c->t->values, c->tally, c->part, &key);
		return true;
	}
	if (!inv_tally_key_of(c->tally, a, &key))
		return false;
	*cell = cell_of(c, &key);
	return true;
}

bool inv_times_number(struct inv_tracer *t, uint32_t thread,
		      struct inv_arrival *a)
{
	const struct counter c = {
		.t = t,
		/* Acquire: pairs with the release in inv_tally_begin(). */
		.tally = atomic_load_explicit(&t->tally, memory_order_acquire),
		.part = thread,
		.env = a->te.env,
	};
	struct inv_tally_cell *cell;
	uint64_t n;

	if (inv_unlikely(!cell_of_number(&c, a, &cell)))
		return false;
	if (inv_likely(get_number(inv_arrival_whole(a), &n)))
		add_value(&c, cell, n);
	else
		add_unpaired(&c, cell);
	return true;
}

/* --- notes ---------------------------------------------------------------- */

static ERL_NIF_TERM make_note(ErlNifEnv *env, enum inv_note kind,
			      ERL_NIF_TERM terms)
{
	return enif_make_tuple2(env, enif_make_uint(env, kind), terms);
}

static ERL_NIF_TERM what(ErlNifEnv *env, const struct inv_tally_row *row)
{
	return enif_make_uint(env, (unsigned)(row->key.kind & 0xff));
}

/* Makes the note {INV_NOTE_BUCKETS, [Of, Key, Block, Ns]} of one block of a
 * histogram. Returns false if all its buckets are 0. */
static bool make_block(ErlNifEnv *env, ERL_NIF_TERM of, ERL_NIF_TERM key,
		       const uint64_t *n, uint32_t block, ERL_NIF_TERM *note)
{
	ERL_NIF_TERM list = enif_make_list(env, 0);
	uint32_t end = INV_BUCKETS;

	while (end > 0 && n[end - 1] == 0)
		end--;
	if (end == 0)
		return false;
	while (end > 0)
		list = enif_make_list_cell(env, enif_make_uint64(env, n[--end]),
					   list);
	*note = make_note(env, INV_NOTE_BUCKETS,
			  enif_make_list4(env, of, key,
					  enif_make_uint(env, block), list));
	return true;
}

const struct inv_tally *inv_times_keys(const struct inv_tracer *t)
{
	return t->timing && t->timing->open_keys ?
		       t->timing->open_keys :
		       atomic_load_explicit(&t->tally, memory_order_relaxed);
}

ERL_NIF_TERM inv_times_notes(ErlNifEnv *env, const struct inv_tracer *t,
			     const struct inv_tally_row *row, ERL_NIF_TERM list,
			     uint32_t *n)
{
	ERL_NIF_TERM key = inv_tally_key_term(env, t, &row->key);
	ERL_NIF_TERM of = what(env, row);
	struct inv_times_sum sum;
	ERL_NIF_TERM note;

	inv_times_read(t->timing->times, t->tally, &row->key, &sum);
	note = make_note(env, INV_NOTE_TIMES,
			 enif_make_list6(env, of, key,
					 enif_make_uint64(env, sum.unpaired),
					 sum.min == UINT64_MAX ?
						 enif_make_list(env, 0) :
						 enif_make_uint64(env, sum.min),
					 enif_make_uint64(env, sum.max),
					 enif_make_uint64(env, sum.sum)));
	list = enif_make_list_cell(env, note, list);
	++*n;
	for (uint32_t b = 0; b < INV_BUCKETS_BLOCKS; b++) {
		if (make_block(env, of, key, sum.n[b], b, &note)) {
			list = enif_make_list_cell(env, note, list);
			++*n;
		}
	}
	return list;
}

/* --- NIFs ----------------------------------------------------------------- */

/* `processes' is the maximum number of processes whose calls are timed. It is 0
 * if the histograms are of numbers. */
static struct inv_timing *make(uint32_t n_parts, uint32_t by,
			       uint64_t processes)
{
	bool has_open_keys = processes && by == INV_COUNT_VALUE;
	struct inv_timing *timing = inv_pages_map(sizeof(*timing));

	if (!timing)
		return NULL;
	if (processes)
		timing->spans = inv_spans_make(processes);
	if (has_open_keys)
		timing->open_keys = inv_tally_make(n_parts, by);
	timing->times = inv_times_make(n_parts);
	timing->n_recent = n_parts * RECENT;
	timing->recent =
		inv_pages_map(timing->n_recent * sizeof(*timing->recent));
	if ((timing->spans || !processes) && timing->times && timing->recent &&
	    (timing->open_keys || !has_open_keys))
		return timing;
	inv_timing_free(timing);
	return NULL;
}

static bool set(struct inv_tracer *t, uint32_t by, uint64_t processes)
{
	if (t->delivery || atomic_load(&t->tally))
		return false;
	t->timing = make(t->n_lanes + 1, by, processes);
	if (!t->timing)
		return false;
	t->numbers = processes == 0;
	if (inv_tally_begin(t, t->n_lanes + 1, by))
		return true;
	inv_timing_free(t->timing);
	t->timing = NULL;
	return false;
}

/* Reads the number of processes, or sets *n to 0 for the atom `value', by which
 * the caller asks for histograms of numbers. */
static bool get_processes(ErlNifEnv *env, ERL_NIF_TERM term, ErlNifUInt64 *n)
{
	*n = 0;
	return term == inv_am_value || (enif_get_uint64(env, term, n) && *n);
}

ERL_NIF_TERM inv_times_set(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t;
	ErlNifUInt64 processes;
	ErlNifUInt64 handle;
	uint32_t by;
	bool done;

	(void)argc;
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0 ||
	    !inv_tally_by(argv[1], &by) ||
	    (by >= INV_COUNT_CALLER && by != INV_COUNT_VALUE) ||
	    !get_processes(env, argv[2], &processes))
		return enif_make_badarg(env);
	t = inv_tracer_borrow(handle);
	if (!t)
		return inv_am_closed;
	done = set(t, by, processes);
	inv_tracer_release();
	return done ? inv_am_true : inv_am_false;
}

/* Ends the timing. Returns false if a thread is still in a callback of the
 * tracer: it may be using the stack of its process. */
static bool is_over(struct inv_tracer *t)
{
	if (!atomic_load(&t->timing->over)) {
		atomic_store(&t->timing->over, true);
		inv_threads_barrier();
	}
	return inv_tracer_quiet(t);
}

/* How many stacks one call of the NIF looks at, so that it takes about a
 * millisecond at most. */
#define STACKS_A_CALL 16384u

static ERL_NIF_TERM take_open(ErlNifEnv *env, struct inv_tracer *t, uint64_t at)
{
	struct counter c = {
		.t = t,
		.tally = atomic_load(&t->tally),
		.part = t->n_lanes,
		.env = env,
	};
	const struct inv_spans_use use = { &c, lost, gone };

	if (!is_over(t))
		return inv_am_busy;
	if (!inv_spans_take(t->timing->spans, &use, &at, STACKS_A_CALL))
		return inv_am_done;
	return enif_make_uint64(env, at);
}

ERL_NIF_TERM inv_times_end(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM result = inv_am_done;
	struct inv_tracer *t;
	ErlNifUInt64 handle;
	ErlNifUInt64 at;

	(void)argc;
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0 ||
	    !enif_get_uint64(env, argv[1], &at))
		return enif_make_badarg(env);
	t = inv_tracer_borrow(handle);
	if (!t)
		return inv_am_closed;
	if (t->timing && t->timing->spans)
		result = take_open(env, t, at);
	inv_tracer_release();
	return result;
}
