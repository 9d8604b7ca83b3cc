/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/starts.h"

#include "base/clock.h"
#include "nif/atoms.h"
#include "nif/thread.h"
#include "nif/tracer.h"

/* Fields of tokens, as {get_seq_token} returns them. */
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
	atomic_store(&s->left, 0);
	atomic_store(&s->one_in, 1);
	atomic_store(&s->begun, 0);
	atomic_store(&s->beyond, 0);
	atomic_store(&s->remote, 0);
	atomic_store(&s->others, 0);
}

/*
 * Takes one in N, independently of what was taken before: a process may call the
 * function in a pattern of its own.
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

bool inv_starts_enabled(const struct inv_starts *s, ERL_NIF_TERM tag,
			ERL_NIF_TERM tracee)
{
	if (tag != inv_am_call)
		return true;
	return atomic_load_explicit(&s->left, memory_order_relaxed) > 0 &&
	       is_sampled(s, tracee);
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

/* Takes one of the requests that are left. */
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

bool inv_starts_ask(uint64_t handle, ERL_NIF_TERM process)
{
	struct inv_thread *thread = inv_thread_self();
	bool may = inv_starts_enabled(&inv_slot_of(handle)->starts, inv_am_call,
				      process);

	if (thread) {
		thread->start_handle = handle;
		thread->start_process = process;
		thread->start_refused = !may;
	}
	return may;
}

/* Returns true if inv_starts_ask has decided about this call. */
static bool was_asked(uint64_t handle, const struct inv_tracer_event *te,
		      bool *refused)
{
	struct inv_thread *thread = inv_thread_self();

	if (te->tag != inv_am_call || !thread ||
	    thread->start_handle != handle ||
	    thread->start_process != te->tracee)
		return false;
	thread->start_handle = 0;
	*refused = thread->start_refused;
	return true;
}

bool inv_starts_take(uint64_t handle, const struct inv_tracer_event *te,
		     bool asked)
{
	struct inv_starts *s = &inv_slot_of(handle)->starts;
	const ERL_NIF_TERM *e;
	bool refused = false;
	int n;

	if (te->value == 0 || !enif_get_tuple(te->env, te->value, &n, &e) ||
	    n < 2 || e[0] != inv_am_inviso_seq)
		return true;
	/* The process continues the request whose token it holds. */
	if (holds_ours(s, te->env, e[1]))
		return true;
	if (te->tag != inv_am_call ||
	    (!asked && !was_asked(handle, te, &refused)))
		refused = !is_sampled(s, te->tracee);
	if (refused || !take_one(s)) {
		add(&s->beyond);
		return false;
	}
	add(&s->begun);
	if (te->tag == inv_am_send && is_remote(s, te))
		add(&s->remote);
	return true;
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

/* --- NIFs ------------------------------------------------------------------ */

ERL_NIF_TERM inv_starts_set(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	ErlNifUInt64 handle, label, requests;
	struct inv_starts *s;
	unsigned one_in;

	(void)argc;
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0 ||
	    !enif_get_uint64(env, argv[1], &label) ||
	    !enif_get_uint64(env, argv[2], &requests) ||
	    requests >= INT64_MAX || !enif_get_uint(env, argv[3], &one_in) ||
	    !enif_is_atom(env, argv[4]))
		return enif_make_badarg(env);
	if (!inv_tracer_borrow(handle))
		return inv_am_closed;
	s = &inv_slot_of(handle)->starts;
	atomic_store(&s->label, label + 1);
	atomic_store(&s->one_in, one_in);
	atomic_store(&s->node, argv[4]);
	atomic_store(&s->left, requests > 0 ? (int64_t)requests : INT64_MAX);
	inv_tracer_release();
	return enif_make_uint64(env, handle | INV_HANDLE_STARTS);
}

ERL_NIF_TERM inv_starts_counts(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM field[5];
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
	inv_tracer_release();
	return enif_make_tuple_from_array(env, field, 5);
}
