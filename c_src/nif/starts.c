/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/starts.h"

#include "base/clock.h"
#include "nif/atoms.h"
#include "nif/thread.h"
#include "nif/tracer.h"
#include "vm/starters.h"

/* The tuple that the match spec function get_seq_token returns for a token. */
#define TOKEN_ARITY 5
#define TOKEN_LABEL 1

static void add(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static uint64_t load(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void inv_starts_clear(struct inv_starts *s)
{
	atomic_store(&s->label, 0);
	atomic_store(&s->mode, INV_STARTS_PLAIN);
	atomic_store(&s->left, 0);
	atomic_store(&s->one_in, 1);
	atomic_store(&s->begun, 0);
	atomic_store(&s->beyond, 0);
	atomic_store(&s->remote, 0);
	atomic_store(&s->others, 0);
}

/*
 * Returns true for one in N calls, at random. If it were every Nth call, the
 * sample would not be fair, because the calls of a process may repeat with a
 * fixed period.
 */
static bool is_sampled(const struct inv_starts *s, ERL_NIF_TERM tracee)
{
	uint32_t n = atomic_load_explicit(&s->one_in, memory_order_relaxed);
	uint64_t x;

	if (n < 2)
		return true;
	x = (inv_mono_ns() ^ (uint64_t)tracee << 32) *
	    UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return (x >> 32) % n == 0;
}

/* Returns true if the token has this tracer's label. */
static bool holds_ours(const struct inv_starts *s, ErlNifEnv *env,
		       ERL_NIF_TERM token)
{
	const ERL_NIF_TERM *e;
	ErlNifUInt64 label;
	int n;

	return enif_get_tuple(env, token, &n, &e) && n == TOKEN_ARITY &&
	       enif_get_uint64(env, e[TOKEN_LABEL], &label) &&
	       label + 1 == load(&s->label);
}

/* Subtracts one from the number of requests that may still begin, unless there
 * is no limit. Returns false if no more may begin. */
static bool take_one(struct inv_starts *s)
{
	int64_t left = atomic_load_explicit(&s->left, memory_order_relaxed);

	while (left > 0 && left < INT64_MAX)
		if (atomic_compare_exchange_weak(&s->left, &left, left - 1))
			return true;
	return left > 0;
}

/* Returns true if the receiver of a message is on another node. */
static bool is_remote(const struct inv_starts *s,
		      const struct inv_tracer_event *te)
{
	const ERL_NIF_TERM *e;
	ErlNifPid pid;
	int n;

	if (te->extra == 0)
		return false;
	if (enif_get_tuple(te->env, te->extra, &n, &e))
		return n == 2 && e[1] != load(&s->node);
	return enif_is_pid(te->env, te->extra) &&
	       !enif_get_local_pid(te->env, te->extra, &pid);
}

static enum inv_starts_mode mode_of(const struct inv_starts *s)
{
	return (enum inv_starts_mode)atomic_load_explicit(&s->mode,
							  memory_order_acquire);
}

/* Returns the table of processes (vm/starters.h), or NULL if the tracer does
 * not follow the ends of start calls (INV_STARTS_PLAIN). */
static struct inv_starters *starters(struct inv_tracer *t)
{
	if (mode_of(&inv_slot_of(t->handle)->starts) == INV_STARTS_PLAIN)
		return NULL;
	return atomic_load_explicit(&t->starters, memory_order_acquire);
}

/* Returns true if the process has too many start calls that have not ended
 * (vm/starters.h). Its calls are then left out until the session has set
 * patterns that do not ask for the ends of calls. */
static bool too_deep(struct inv_starts *s, const struct inv_starters *o,
		     ERL_NIF_TERM process)
{
	uint8_t ends = INV_STARTS_ENDS;

	if (!inv_starters_too_deep(o, process))
		return false;
	atomic_compare_exchange_strong(&s->mode, &ends, INV_STARTS_DEEP);
	return true;
}

/* Returns true if the VM is to run the match spec of a start call. The caller
 * sets *may to true if the call may begin a request. This function sets *may to
 * false if the process has too many start calls that have not ended. */
static bool look(struct inv_thread *thread, struct inv_slot *slot,
		 uint64_t handle, ERL_NIF_TERM process, bool *may)
{
	struct inv_starts *s = &slot->starts;
	const struct inv_starters *o = NULL;
	bool run = *may;

	inv_thread_enter(thread, (uint32_t)(slot - inv_slots));
	if (atomic_load_explicit(&slot->handle, memory_order_acquire) ==
	    (handle & ~INV_HANDLE_STARTS))
		o = starters(slot->tracer);
	if (o && too_deep(s, o, process)) {
		if (*may)
			add(&s->beyond);
		*may = run = false;
	} else if (o && !run) {
		/* If the process still has the token of an earlier request, the
		 * match spec must run nevertheless: its event shows that the
		 * process no longer takes part in that request (take_start). */
		run = inv_starters_done(o, process);
	}
	inv_thread_leave(thread);
	return run;
}

bool inv_starts_ask(uint64_t handle, ERL_NIF_TERM process)
{
	struct inv_slot *slot = inv_slot_of(handle);
	struct inv_thread *thread = inv_thread_self();
	bool may = atomic_load_explicit(&slot->starts.left,
					memory_order_relaxed) > 0 &&
		   is_sampled(&slot->starts, process);
	bool run = may;

	if (!thread)
		return may;
	if (mode_of(&slot->starts) != INV_STARTS_PLAIN)
		run = look(thread, slot, handle, process, &may);
	thread->start_handle = handle;
	thread->start_process = process;
	thread->start_refused = !may;
	return run;
}

/* Returns true if the event must not begin a request. For a call,
 * inv_starts_ask has already decided this. */
static bool is_refused(const struct inv_starts *s, uint64_t handle,
		       const struct inv_tracer_event *te)
{
	struct inv_thread *thread = inv_thread_self();

	if (te->tag != inv_am_call || !thread ||
	    thread->start_handle != handle ||
	    thread->start_process != te->tracee)
		return !is_sampled(s, te->tracee);
	thread->start_handle = 0;
	return thread->start_refused;
}

/* Reads {'$inviso_seq', Token, ...}. */
static const ERL_NIF_TERM *read_value(const struct inv_tracer_event *te, int *n)
{
	const ERL_NIF_TERM *e;

	return te->value != 0 && enif_get_tuple(te->env, te->value, n, &e) &&
			       *n >= 2 && e[0] == inv_am_inviso_seq ?
		       e :
		       NULL;
}

/* The event's value has an element for each variable that --label names. If the
 * value has more than VALUE_MAX elements, hold_none does not change the event;
 * `inviso seq' refuses so many variables (LABELS_MAX in cli/seq_opts.c). */
#define VALUE_MAX 64

/*
 * Replaces the event by a copy in whose value Token is [], as if the process
 * held no token. The copy's terms are made on the heap of the process, and the
 * VM removes them after the callback. This happens at most once for each
 * request.
 */
static void hold_none(const struct inv_tracer_event **event,
		      struct inv_tracer_event *changed, const ERL_NIF_TERM *e,
		      int n)
{
	ERL_NIF_TERM value[VALUE_MAX];
	int i;

	if (n > VALUE_MAX)
		return;
	for (i = 0; i < n; i++)
		value[i] = e[i];
	*changed = **event;
	value[1] = enif_make_list(changed->env, 0);
	changed->value =
		enif_make_tuple_from_array(changed->env, value, (unsigned)n);
	*event = changed;
}

/* Handles a call or message that may begin a request. `e' are the n elements of
 * its value. Returns true if the event is to be recorded. */
static bool take_start(struct inv_starts *s, struct inv_starters *o,
		       uint64_t handle, const struct inv_tracer_event **event,
		       struct inv_tracer_event *changed, const ERL_NIF_TERM *e,
		       int n)
{
	const struct inv_tracer_event *te = *event;
	bool holds = holds_ours(s, te->env, e[1]);
	bool done = o && inv_starters_done(o, te->tracee);

	/* If the process has the token of a request in which it still takes
	 * part, the call or message belongs to that request. */
	if (holds && !done) {
		if (o)
			inv_starters_go_on(o, te->tracee);
		return true;
	}
	if (is_refused(s, handle, te) || !take_one(s)) {
		bool leaves = done && holds &&
			      !inv_starters_has_left(o, te->tracee);

		add(&s->beyond);
		if (o)
			inv_starters_go_on(o, te->tracee);
		if (leaves) {
			inv_starters_leave(o, te->tracee);
			*changed = *te;
			changed->value = inv_am_inviso_seq_over;
			*event = changed;
		}
		return leaves;
	}
	add(&s->begun);
	if (o)
		inv_starters_begin(o, te->tracee);
	if (holds)
		hold_none(event, changed, e, n);
	if (te->tag == inv_am_send && is_remote(s, te))
		add(&s->remote);
	return true;
}

bool inv_starts_take(struct inv_tracer *t, uint64_t handle,
		     const struct inv_tracer_event **event,
		     struct inv_tracer_event *changed)
{
	struct inv_starts *s = &inv_slot_of(handle)->starts;
	const struct inv_tracer_event *te = *event;
	enum inv_tag tag = inv_atoms_tag(te->tag);
	struct inv_starters *o = tag == INV_TAG_SEND ? NULL : starters(t);
	const ERL_NIF_TERM *e;
	int n;

	if (tag == INV_TAG_RETURN_FROM || tag == INV_TAG_EXCEPTION_FROM) {
		if (o)
			inv_starters_end(o, te->tracee);
		return false;
	}
	/* This value means that the match spec has cleared the token's
	 * flags. */
	if (te->value == inv_am_inviso_seq_over) {
		if (!o || !inv_starters_done(o, te->tracee))
			return false;
		inv_starters_forget(o, te->tracee);
		return true;
	}
	e = read_value(te, &n);
	return !e || take_start(s, o, handle, event, changed, e, n);
}

void inv_starts_received(struct inv_tracer *t,
			 const struct inv_tracer_event *te)
{
	struct inv_starters *o = starters(t);
	const ERL_NIF_TERM *e;
	int n;

	/* {'receive', Serial, From, To, Message} */
	if (o && enif_get_tuple(te->env, te->content, &n, &e) && n == 5 &&
	    inv_atoms_tag(e[0]) == INV_TAG_RECEIVE &&
	    enif_is_pid(te->env, e[3]))
		inv_starters_received(o, e[3]);
}

bool inv_starts_is_ours(struct inv_starts *s, const struct inv_tracer_event *te)
{
	uint64_t label = load(&s->label);
	ErlNifUInt64 got;

	if (label == 0 ||
	    (enif_get_uint64(te->env, te->tracee, &got) && got + 1 == label))
		return true;
	add(&s->others);
	return false;
}

/* --- NIFs ----------------------------------------------------------------- */

/* Gives the tracer its table of processes (vm/starters.h), if it has none.
 * Returns false if there is no memory. */
static bool make_table(struct inv_tracer *t, ErlNifUInt64 processes)
{
	struct inv_starters *o;

	if (atomic_load(&t->starters))
		return true;
	o = inv_starters_make(processes);
	if (o)
		atomic_store_explicit(&t->starters, o, memory_order_release);
	return o != NULL;
}

ERL_NIF_TERM inv_starts_set(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	ErlNifUInt64 handle, label, requests, processes;
	struct inv_starts *s;
	struct inv_tracer *t;
	unsigned one_in;
	bool made;

	(void)argc;
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0 ||
	    !enif_get_uint64(env, argv[1], &label) ||
	    !enif_get_uint64(env, argv[2], &requests) ||
	    requests >= INT64_MAX || !enif_get_uint(env, argv[3], &one_in) ||
	    !enif_is_atom(env, argv[4]) ||
	    !enif_get_uint64(env, argv[5], &processes))
		return enif_make_badarg(env);
	t = inv_tracer_borrow(handle);
	if (!t)
		return inv_am_closed;
	s = &inv_slot_of(handle)->starts;
	made = make_table(t, processes);
	if (made) {
		atomic_store(&s->label, label + 1);
		atomic_store(&s->one_in, one_in);
		atomic_store(&s->node, argv[4]);
		atomic_store(&s->mode, INV_STARTS_ENDS);
		atomic_store(&s->left,
			     requests > 0 ? (int64_t)requests : INT64_MAX);
	}
	inv_tracer_release();
	return made ? enif_make_uint64(env, handle | INV_HANDLE_STARTS) :
		      inv_am_false;
}

ERL_NIF_TERM inv_starts_patterns(ErlNifEnv *env, int argc,
				 const ERL_NIF_TERM argv[])
{
	enum inv_starts_mode mode;
	ErlNifUInt64 handle;

	(void)argc;
	if (argv[1] == inv_am_none)
		mode = INV_STARTS_PLAIN;
	else if (argv[1] == inv_am_done)
		mode = INV_STARTS_OVER;
	else
		return enif_make_badarg(env);
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0 ||
	    !inv_tracer_borrow(handle))
		return inv_am_closed;
	atomic_store(&inv_slot_of(handle)->starts.mode, mode);
	inv_tracer_release();
	return inv_am_ok;
}

ERL_NIF_TERM inv_starts_counts(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM field[6];
	struct inv_starts *s;
	ErlNifUInt64 handle;

	(void)argc;
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0 ||
	    !inv_tracer_borrow(handle))
		return inv_am_closed;
	s = &inv_slot_of(handle)->starts;
	field[0] = enif_make_uint64(env, load(&s->begun));
	field[1] = enif_make_uint64(env, load(&s->beyond));
	field[2] = enif_make_uint64(env, load(&s->remote));
	field[3] = enif_make_uint64(env, load(&s->others));
	field[4] = atomic_load(&s->left) > 0 ? inv_am_false : inv_am_true;
	field[5] = mode_of(s) == INV_STARTS_DEEP ? inv_am_true : inv_am_false;
	inv_tracer_release();
	return enif_make_tuple_from_array(env, field, 6);
}
