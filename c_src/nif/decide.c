/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/decide.h"

#include <string.h>

#include "base/likely.h"
#include "nif/arrival.h"
#include "nif/atoms.h"
#include "nif/bound.h"
#include "nif/filter_check.h"
#include "nif/functions.h"
#include "nif/kept.h"
#include "nif/put.h"
#include "nif/redact.h"
#include "nif/thread.h"
#include "nif/tracer.h"
#include "vm/kept.h"
#include "vm/open_calls.h"
#include "vm/pages.h"

/* The arguments of a call are first written with a budget of ARGS_BYTES. In
 * kept terms (nif/kept.h), an atom or pid counts as one byte of the budget but
 * takes nine bytes. So the arguments may need more than the ROOM_BYTES of the
 * thread's buffer. Then they are written again with a budget of FEW_BYTES, for
 * which the buffer always suffices. */
#define ARGS_BYTES (64u * 1024)
#define ROOM_BYTES (128u * 1024)
#define FEW_BYTES (8u * 1024)

#define RULES 32u

/* Bits in the field `marks' of a kept call. The bits from MARK_BITS on are the
 * number of redacted values. */
enum mark {
	WANTED = INV_KEPT_COUNTED, /* RULED, and the filter wants the call */
	RULED = 1u << 1,	   /* rules apply to the call */
	HAS_ARGS = 1u << 2,
	CUT = 1u << 3,
	NO_ROOM = 1u << 4, /* there was no memory for its arguments */
	MARK_BITS = 8,
};

struct rule {
	bool slow;
	bool failed;
	uint64_t min_ns;
};

/* What a thread counts. */
struct counter {
	_Alignas(INV_CACHE_LINE) _Atomic uint64_t kept;
	_Atomic uint64_t ended;
	_Atomic uint64_t forgotten;
	_Atomic uint64_t unkept;
	_Atomic uint64_t unended;
	_Atomic uint64_t without_args;
	bool large; /* the arguments of the last call that the thread kept did
		       not fit into the call's own block */
	bool seen;  /* since mark() marked entries, the thread was outside of
		      the tracer's callbacks at least once */
};

/* How many entries of dead processes one call of mark() may mark. */
#define SWEPT_MAX 256u

struct inv_decide {
	size_t bytes;
	struct inv_kept *kept;
	uint8_t *rooms; /* ROOM_BYTES for each thread */
	uint64_t n_rooms;
	uint32_t n_swept; /* how many entries mark() has marked and reap() has
			     not freed yet */
	uint32_t swept[SWEPT_MAX]; /* the indices of these entries */
	struct rule all;	   /* the rule for calls of all functions */
	bool has_all;
	uint32_t n_rules;
	struct rule rules[RULES];
	struct counter counters[];
};

static void add(_Atomic uint64_t *n, uint64_t more)
{
	atomic_store_explicit(
		n, atomic_load_explicit(n, memory_order_relaxed) + more,
		memory_order_relaxed);
}

static struct inv_open_calls *functions(const struct inv_tracer *t)
{
	return atomic_load_explicit(&t->open_calls, memory_order_acquire);
}

static uint8_t *room_of(const struct inv_decide *d, uint32_t thread)
{
	return d->rooms + (size_t)thread * ROOM_BYTES;
}

static bool is_ruled(const struct inv_decide *d, const struct inv_tracer *t,
		     uint32_t function)
{
	return d->has_all || inv_open_function_rules(inv_open_function_at(
				     functions(t), function)) != 0;
}

void inv_decide_free(struct inv_decide *d)
{
	if (!d)
		return;
	inv_kept_free(d->kept);
	inv_pages_unmap(d->rooms, d->n_rooms * ROOM_BYTES);
	inv_pages_unmap(d, d->bytes);
}

void inv_decide_read(const struct inv_decide *d, uint32_t n_threads,
		     struct inv_decide_counts *counts)
{
	uint64_t kept = 0;
	uint64_t ended = 0;

	*counts = (struct inv_decide_counts){ 0 };
	for (uint32_t i = 0; i < n_threads; i++) {
		const struct counter *c = &d->counters[i];

		/* A call is counted first in `kept' and later in `ended',
		 * perhaps by another thread. This loop reads all `ended' before
		 * the next loop reads all `kept', so the sum of `kept' is not
		 * less than the sum of `ended'. */
		ended += atomic_load(&c->ended);
		counts->forgotten += atomic_load(&c->forgotten);
		counts->unkept += atomic_load(&c->unkept);
		counts->unended += atomic_load(&c->unended);
		counts->without_args += atomic_load(&c->without_args);
	}
	for (uint32_t i = 0; i < n_threads; i++)
		kept += atomic_load(&d->counters[i].kept);
	counts->open = kept > ended ? kept - ended : 0;
}

/* --- a call begins -------------------------------------------------------- */

static void init_encoder(struct inv_encoder *e, const struct inv_tracer *t,
			 ErlNifEnv *env, uint8_t *p, uint32_t room,
			 uint32_t budget)
{
	e->env = env;
	e->dict = NULL;
	e->fresh = NULL;
	e->p = p;
	e->top = p + room;
	e->max_bytes = t->max_bytes < budget ? t->max_bytes : budget;
	e->more_binary = 0;
	e->max_depth = t->max_depth;
	e->cut = false;
	e->kept_node = 0;
	e->limit = p;
	e->redaction = t->redaction;
	e->redacted = 0;
	e->in_result = false;
	e->n_marked = 0;
}

/* Writes the call's arguments, unless `light' is true, and the value of its
 * match spec. */
static bool put_begin(struct inv_encoder *e, const struct inv_tracer_event *te,
		      const struct inv_bound_call *of, bool light,
		      struct inv_kept_call *call)
{
	struct inv_redact_call redact = { .any = false };
	bool has_args = false;

	if (!light &&
	    !inv_encode_args(e, te->content, of->args, of->arity, &has_args))
		return false;
	if (has_args)
		call->marks |= HAS_ARGS;
	if (inv_likely(te->value == 0))
		return true;
	if (e->redaction)
		inv_redact_function(e, te->content, &redact);
	return redact.any ? inv_encode_shape(e, te->value) :
			    inv_encode_result(e, te->value);
}

static void kept(struct inv_kept_call *call, const struct inv_encoder *e)
{
	if (inv_unlikely(e->cut))
		call->marks |= CUT;
	if (inv_unlikely(e->redacted > 0))
		call->marks |= e->redacted << MARK_BITS;
}

/* Keeps arguments that do not fit into the call's own block. */
static INV_COLD void keep_more(struct inv_tracer *t, uint32_t thread,
			       const struct inv_tracer_event *te,
			       const struct inv_bound_call *of,
			       struct inv_kept_call *call)
{
	struct inv_decide *d = t->decide;
	uint8_t *room = room_of(d, thread);
	struct inv_encoder e;
	bool encoded;

	call->marks &= (1u << MARK_BITS) - 1;
	init_encoder(&e, t, te->env, room, ROOM_BYTES, ARGS_BYTES);
	encoded = put_begin(&e, te, of, t->light, call);
	if (!encoded) {
		init_encoder(&e, t, te->env, room, ROOM_BYTES, FEW_BYTES);
		encoded = put_begin(&e, te, of, t->light, call);
	}
	d->counters[thread].large = (size_t)(e.p - room) > INV_KEPT_NEAR;
	if (encoded && inv_kept_put(d->kept, thread, te->tracee, call, room,
				    (uint32_t)(e.p - room))) {
		kept(call, &e);
		return;
	}
	call->marks = (call->marks & ~(unsigned)HAS_ARGS) | CUT | NO_ROOM;
	call->n = 0;
}

static inline void keep(struct inv_tracer *t, uint32_t thread,
			const struct inv_tracer_event *te,
			const struct inv_bound_call *of,
			struct inv_kept_call *call)
{
	struct inv_encoder e;

	init_encoder(&e, t, te->env, call->bytes, INV_KEPT_NEAR, ARGS_BYTES);
	if (inv_unlikely(t->decide->counters[thread].large ||
			 !put_begin(&e, te, of, t->light, call))) {
		keep_more(t, thread, te, of, call);
		return;
	}
	call->n = (uint32_t)(e.p - call->bytes);
	kept(call, &e);
}

/* Counts n calls that were removed although their ends were not reported. */
static void lose(struct inv_decide *d, uint32_t thread, uint32_t n)
{
	if (inv_likely(n == 0))
		return;
	add(&d->counters[thread].unended, n);
	add(&d->counters[thread].ended, n);
}

bool inv_decide_begin(struct inv_tracer *t, uint32_t thread,
		      const struct inv_tracer_event *te,
		      const struct inv_bound_call *of, uint64_t now,
		      bool wanted)
{
	struct inv_decide *d = t->decide;
	bool ruled = is_ruled(d, t, of->function);
	struct inv_kept_call *call;
	uint32_t lost;

	call = inv_kept_begin(d->kept, thread, te->tracee, of->function, now,
			      &lost);
	lose(d, thread, lost);
	if (inv_unlikely(!call)) {
		if (ruled && wanted)
			add(&d->counters[thread].unkept, 1);
		return !ruled;
	}
	if (!ruled)
		return true;
	call->marks = RULED;
	if (inv_unlikely(!wanted))
		return false;
	call->marks |= WANTED;
	add(&d->counters[thread].kept, 1);
	keep(t, thread, te, of, call);
	return false;
}

bool inv_decide_endless(struct inv_tracer *t, uint32_t thread,
			uint32_t function)
{
	if (!is_ruled(t->decide, t, function))
		return true;
	add(&t->decide->counters[thread].unkept, 1);
	return false;
}

static bool is_gone(const void *arg, uint32_t function)
{
	return !inv_open_function_reported(inv_open_function_at(arg, function));
}

void inv_decide_held(struct inv_tracer *t, uint32_t thread, uint64_t process)
{
	struct inv_decide *d = t->decide;
	uint32_t n = inv_kept_forget(d->kept, thread, process, is_gone,
				     functions(t));

	add(&d->counters[thread].unkept, n);
	add(&d->counters[thread].ended, n);
}

void inv_decide_left_out(struct inv_tracer *t, uint32_t thread,
			 const struct inv_tracer_event *te, enum inv_tag tag,
			 const struct inv_bound_call *of, uint64_t now)
{
	if (of->function == INV_BOUND_UNKNOWN)
		return;
	/* If the function was already stopped when the call began, the call was
	 * not kept. So the end of a call must not be matched with a kept call
	 * here. */
	if (tag != INV_TAG_CALL)
		inv_decide_held(t, thread, te->tracee);
	else if (inv_open_function_reported(
			 inv_open_function_at(functions(t), of->function)))
		(void)inv_decide_begin(t, thread, te, of, now, false);
}

/* --- a call ends ---------------------------------------------------------- */

/* Returns true if the term is `error' or a tuple whose first element is
 * `error'. */
static bool is_error(ErlNifEnv *env, ERL_NIF_TERM term)
{
	const ERL_NIF_TERM *e;
	int n;

	return term == inv_am_error || (enif_get_tuple(env, term, &n, &e) &&
					n > 0 && e[0] == inv_am_error);
}

static bool has_failed(const struct inv_tracer_event *te, enum inv_tag tag)
{
	if (tag == INV_TAG_EXCEPTION_FROM)
		return true;
	if (tag == INV_TAG_EXIT)
		return te->content != inv_am_normal;
	return te->extra != 0 && is_error(te->env, te->extra);
}

static bool picks(const struct rule *r, struct inv_arrival *a, enum inv_tag tag,
		  uint64_t ns)
{
	return (!r->slow || ns >= r->min_ns) &&
	       (!r->failed || has_failed(inv_arrival_whole(a), tag));
}

/* Returns true if the call is to be recorded. If there is a rule for all
 * functions, it must pick the call. If the function has rules, at least one of
 * them must pick the call. */
static bool is_picked(const struct inv_tracer *t, uint32_t function,
		      struct inv_arrival *a, enum inv_tag tag, uint64_t ns)
{
	const struct inv_decide *d = t->decide;
	uint32_t rules = inv_open_function_rules(
		inv_open_function_at(functions(t), function));

	if (d->has_all && !picks(&d->all, a, tag, ns))
		return false;
	if (rules == 0)
		return true;
	for (; rules != 0; rules &= rules - 1)
		if (picks(&d->rules[__builtin_ctz(rules)], a, tag, ns))
			return true;
	return false;
}

static void set_whole(struct inv_whole *w, const struct inv_tracer *t,
		      uint32_t thread, const struct inv_kept_call *call,
		      uint64_t now)
{
	w->ns = inv_ns_between(call->ns, now);
	w->self_ns = inv_ns_between(call->inner_ns, w->ns);
	w->depth = call->depth;
	w->call = call->marks & RULED ? call : NULL;
	w->functions = functions(t);
	w->bytes = call->bytes;
	if (w->call && call->n > INV_KEPT_NEAR) {
		inv_kept_get(t->decide->kept, call, room_of(t->decide, thread));
		w->bytes = room_of(t->decide, thread);
	}
}

static void count_no_room(struct inv_decide *d, uint32_t thread,
			  const struct inv_whole *w)
{
	if (inv_unlikely(w->call && w->call->marks & NO_ROOM))
		add(&d->counters[thread].without_args, 1);
}

enum inv_verdict inv_decide_end(struct inv_tracer *t, struct inv_thread *thread,
				const struct inv_decide_event *ev,
				struct inv_whole *w)
{
	ERL_NIF_TERM process = ev->arrival->te.tracee;
	struct inv_decide *d = t->decide;
	struct counter *c = &d->counters[thread->index];
	struct inv_kept_call *call;
	enum inv_kept_found found;
	uint32_t lost;

	found = inv_kept_end(d->kept, thread->index, process, ev->function,
			     &call, &lost);
	lose(d, thread->index, lost);
	/* The call was not kept, or was removed before it ended. In both cases
	 * it is already counted, so do not count it again. */
	if (inv_unlikely(found != INV_KEPT_FOUND))
		return is_ruled(d, t, ev->function) ? INV_VERDICT_FORGET :
						      INV_VERDICT_RECORD;
	if (!(call->marks & RULED) ||
	    (call->marks & WANTED &&
	     is_picked(t, ev->function, ev->arrival, ev->tag,
		       inv_ns_between(call->ns, ev->now)))) {
		set_whole(w, t, thread->index, call, ev->now);
		return INV_VERDICT_WHOLE;
	}
	if (inv_likely(call->marks & WANTED)) {
		add(&c->forgotten, 1);
		add(&c->ended, 1);
	}
	inv_kept_pop(d->kept, thread->index, process,
		     inv_ns_between(call->ns, ev->now));
	return INV_VERDICT_FORGET;
}

void inv_decide_done(struct inv_tracer *t, uint32_t thread, uint64_t process,
		     const struct inv_whole *w)
{
	count_no_room(t->decide, thread, w);
	if (w->call)
		add(&t->decide->counters[thread].ended, 1);
	inv_kept_pop(t->decide->kept, thread, process, w->ns);
}

enum inv_verdict inv_decide_exit(struct inv_tracer *t, struct inv_arrival *a,
				 uint64_t now, struct inv_whole *w)
{
	struct inv_thread *thread = inv_thread_self();
	struct inv_kept_call *call =
		inv_kept_exit(t->decide->kept, a->te.tracee);

	if (!call)
		return INV_VERDICT_FORGET;
	if (!(call->marks & WANTED) ||
	    !is_picked(t, call->function, a, INV_TAG_EXIT,
		       inv_ns_between(call->ns, now)))
		return INV_VERDICT_RECORD;
	set_whole(w, t, thread->index, call, now);
	count_no_room(t->decide, thread->index, w);
	return INV_VERDICT_WHOLE;
}

void inv_decide_exited(struct inv_tracer *t, uint32_t thread, uint64_t process,
		       enum inv_verdict verdict)
{
	uint32_t n = inv_kept_exited(t->decide->kept, thread, process);

	if (verdict == INV_VERDICT_WHOLE) {
		add(&t->decide->counters[thread].ended, 1);
		n--;
	}
	lose(t->decide, thread, n);
}

/* --- the record ----------------------------------------------------------- */

bool inv_decide_put(struct inv_encoder *e, const struct inv_whole *w,
		    ERL_NIF_TERM tracee)
{
	const struct inv_kept_call *call = w->call;
	struct inv_called f;

	if (!inv_put_int(e, (int64_t)w->ns) ||
	    !inv_put_int(e, (int64_t)w->self_ns) || !inv_put_int(e, w->depth))
		return false;
	if (!call)
		return true;
	f = inv_open_function_called(
		inv_open_function_at(w->functions, call->function));
	if (!inv_encode_plain(e, tracee) ||
	    !inv_encode_called(e, f.module, f.name, f.arity,
			       call->marks & HAS_ARGS) ||
	    !inv_kept_terms(e, w->bytes, call->n))
		return false;
	e->cut |= (call->marks & CUT) != 0;
	e->redacted += call->marks >> MARK_BITS;
	return true;
}

/* --- NIFs ----------------------------------------------------------------- */

/* Reads a rule, {MinNs | none, Failed}. */
static bool get_rule(ErlNifEnv *env, ERL_NIF_TERM term, struct rule *r)
{
	const ERL_NIF_TERM *e;
	ErlNifUInt64 ns = 0;
	int n;

	if (!enif_get_tuple(env, term, &n, &e) || n != 2)
		return false;
	r->slow = enif_get_uint64(env, e[0], &ns);
	r->min_ns = ns;
	r->failed = e[1] == inv_am_true;
	return r->slow || e[0] == inv_am_none;
}

static bool get_rules(ErlNifEnv *env, ERL_NIF_TERM list, struct inv_decide *d)
{
	ERL_NIF_TERM head;

	while (d->n_rules < RULES &&
	       enif_get_list_cell(env, list, &head, &list))
		if (!get_rule(env, head, &d->rules[d->n_rules++]))
			return false;
	return enif_is_empty_list(env, list);
}

static struct inv_decide *make(uint32_t n_threads, uint64_t processes,
			       uint64_t bytes)
{
	size_t size =
		sizeof(struct inv_decide) + n_threads * sizeof(struct counter);
	struct inv_decide *d = inv_pages_map(size);

	if (!d)
		return NULL;
	d->bytes = size;
	d->n_rooms = n_threads;
	d->rooms = inv_pages_map(d->n_rooms * ROOM_BYTES);
	d->kept = inv_kept_make(processes, n_threads, bytes);
	if (d->rooms && d->kept)
		return d;
	inv_decide_free(d);
	return NULL;
}

ERL_NIF_TERM inv_decide_set(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	struct inv_decide *d;
	ErlNifUInt64 processes;
	ErlNifUInt64 handle;
	ErlNifUInt64 bytes;
	struct inv_tracer *t;

	(void)argc;
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0 ||
	    !enif_get_uint64(env, argv[1], &processes) ||
	    !enif_get_uint64(env, argv[2], &bytes))
		return enif_make_badarg(env);
	d = make(inv_threads_count(), processes, bytes);
	if (!d)
		return inv_am_false;
	if (!get_rule(env, argv[3], &d->all) || !get_rules(env, argv[4], d)) {
		inv_decide_free(d);
		return enif_make_badarg(env);
	}
	d->has_all = d->all.slow || d->all.failed;
	t = inv_tracer_borrow(handle);
	if (!t || t->elsewhere || t->decide) {
		if (t)
			inv_tracer_release();
		inv_decide_free(d);
		return inv_am_closed;
	}
	t->decide = d;
	inv_tracer_release();
	return inv_am_true;
}

struct ruled {
	struct inv_open_calls *o;
	uint32_t rules;
};

static bool add_rules(void *arg, const struct inv_called *f)
{
	const struct ruled *ruled = arg;

	return inv_open_calls_rule(ruled->o, f, ruled->rules);
}

ERL_NIF_TERM inv_decide_rules(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	ErlNifUInt64 handle;
	struct inv_tracer *t;
	unsigned rules;
	int left = 0;

	(void)argc;
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0 ||
	    !enif_is_atom(env, argv[1]) || !enif_get_uint(env, argv[3], &rules))
		return enif_make_badarg(env);
	t = inv_tracer_borrow(handle);
	if (!t)
		return inv_am_closed;
	if (t->decide && t->bound)
		/* is_picked() uses the number of each bit as the number of a
		 * rule, so all bits must have a rule. */
		left = (uint64_t)rules >> t->decide->n_rules ?
			       -1 :
			       inv_functions_each(
				       env, argv[1], argv[2], add_rules,
				       &(struct ruled){ t->bound, rules });
	inv_tracer_release();
	return left < 0 ? enif_make_badarg(env) : enif_make_int(env, left);
}

static bool is_dead(void *arg, uint64_t process)
{
	ErlNifPid pid;

	return enif_get_local_pid(arg, process, &pid) &&
	       !enif_is_process_alive(arg, &pid);
}

/* How many entries a call of the NIF looks at, so that it takes about a
 * millisecond at most. */
#define ENTRIES_A_CALL 8192u

/* Frees the entries that mark() marked, if each thread was outside of the
 * tracer's callbacks at least once since then. Otherwise a later call of the
 * NIF tries again. */
static void reap(struct inv_tracer *t, uint32_t thread)
{
	struct inv_decide *d = t->decide;
	uint32_t slot = (uint32_t)(inv_slot_of(t->handle) - inv_slots);
	bool all = true;

	for (uint32_t i = 0; i < t->n_lanes; i++) {
		if (!inv_thread_busy(i, slot))
			d->counters[i].seen = true;
		all = all && d->counters[i].seen;
	}
	if (!all)
		return;
	for (uint32_t i = 0; i < d->n_swept; i++)
		lose(d, thread, inv_kept_reap(d->kept, thread, d->swept[i]));
	d->n_swept = 0;
}

/* Marks the entries of dead processes: from then on, no further calls are kept
 * for these processes. */
static void mark(struct inv_tracer *t, ErlNifEnv *env, uint64_t *at)
{
	struct inv_decide *d = t->decide;

	d->n_swept = inv_kept_mark(d->kept, is_dead, env, at, ENTRIES_A_CALL,
				   d->swept, SWEPT_MAX);
	if (d->n_swept == 0)
		return;
	for (uint32_t i = 0; i < t->n_lanes; i++)
		d->counters[i].seen = false;
	inv_threads_barrier();
}

ERL_NIF_TERM inv_decide_sweep(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	struct inv_thread *thread = inv_thread_self();
	ERL_NIF_TERM result = inv_am_done;
	struct inv_tracer *t;
	ErlNifUInt64 handle;
	ErlNifUInt64 at;

	(void)argc;
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0 ||
	    !enif_get_uint64(env, argv[1], &at))
		return enif_make_badarg(env);
	if (!thread)
		return inv_am_done;
	t = inv_tracer_borrow(handle);
	if (!t)
		return inv_am_closed;
	if (t->decide) {
		if (t->decide->n_swept == 0)
			mark(t, env, &at);
		if (t->decide->n_swept > 0)
			reap(t, thread->index);
		if (!inv_kept_is_end(t->decide->kept, at))
			result = enif_make_uint64(env, at);
	}
	inv_tracer_release();
	return result;
}
