/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/bound_count.h"

#include "nif/atoms.h"
#include "nif/functions.h"
#include "nif/thread.h"
#include "nif/tracer.h"
#include "vm/open_calls.h"

static struct inv_open_calls *open_calls(struct inv_tracer *t)
{
	/* Acquire: pairs with the release in inv_bound_ends(). */
	return atomic_load_explicit(&t->open_calls, memory_order_acquire);
}

static void leave_out(struct inv_slot *slot)
{
	atomic_fetch_add_explicit(&slot->left_out, 1, memory_order_relaxed);
}

/* --- callbacks ------------------------------------------------------------ */

/* Returns true if the event's value is a mark, {'$inviso_ends', V}, and sets
 * *value to V. */
static bool is_marked(const struct inv_tracer_event *te, ERL_NIF_TERM *value)
{
	const ERL_NIF_TERM *e;
	int n;

	if (!enif_get_tuple(te->env, te->value, &n, &e) || n != 2 ||
	    e[0] != inv_am_inviso_ends)
		return false;
	*value = e[1];
	return true;
}

/* Copies the event to *plain without its mark, and sets *event to the copy.
 * Returns false if the match spec wants only the end of the call, and no event
 * for the call itself. */
static bool unmark(const struct inv_tracer_event **event,
		   struct inv_tracer_event *plain, ERL_NIF_TERM value)
{
	*plain = **event;
	plain->value = value == inv_am_true ? 0 : value;
	*event = plain;
	return value != inv_am_false;
}

enum inv_bound inv__bound_begin_valued(struct inv_tracer *t,
				       struct inv_open_calls *o,
				       uint32_t function,
				       const struct inv_tracer_event **event,
				       struct inv_tracer_event *plain)
{
	enum inv_ends ends =
		inv_open_function_ends(inv_open_function_at(o, function));
	enum inv_bound result = INV_BOUND_RECORD;
	ERL_NIF_TERM value;
	bool marked = is_marked(*event, &value);

	if (marked || ends == INV_ENDS_ALL)
		result = inv__bound_add(t, o, function, (*event)->tracee);
	if (marked && !unmark(event, plain, value))
		return INV_BOUND_LEAVE_OUT;
	return result;
}

enum inv_bound inv__bound_left_out(struct inv_tracer *t)
{
	leave_out(inv_slot_of(t->handle));
	return INV_BOUND_LEAVE_OUT;
}

void inv_bound_want(struct inv_tracer *t, ERL_NIF_TERM pid, bool wanted)
{
	inv_open_calls_want(open_calls(t), pid, wanted);
}

bool inv_bound_wanted(struct inv_tracer *t, ERL_NIF_TERM pid)
{
	return inv_open_calls_wanted(open_calls(t), pid);
}

static bool holds(struct inv_slot *slot, uint64_t handle, ERL_NIF_TERM pid)
{
	struct inv_thread *thread = inv_thread_self();
	struct inv_open_calls *o = NULL;
	bool held;

	if (!thread)
		return false;
	inv_thread_enter(thread, (uint32_t)(slot - inv_slots));
	if (atomic_load_explicit(&slot->handle, memory_order_acquire) == handle)
		o = open_calls(slot->tracer);
	held = o && inv_open_calls_hold(o, pid);
	inv_thread_leave(thread);
	return held;
}

bool inv_bound_holds(struct inv_slot *slot, uint64_t handle, ERL_NIF_TERM pid)
{
	bool held = holds(slot, handle, pid);

	if (held)
		leave_out(slot);
	return held;
}

bool INV_TRACER_HOLDS(uint64_t handle, ERL_NIF_TERM pid, bool held_elsewhere)
{
	struct inv_slot *slot = inv_slot_of(handle);

	uint64_t open =
		atomic_load_explicit(&slot->handle, memory_order_relaxed);

	if (handle & INV_HANDLE_STARTS)
		return open == (handle & ~INV_HANDLE_STARTS) &&
		       !held_elsewhere && !inv_starts_ask(handle, pid);
	if (open != handle)
		return false;
	if (held_elsewhere) {
		leave_out(slot);
		return true;
	}
	return atomic_load(&slot->holds) && inv_bound_holds(slot, handle, pid);
}

/* --- the session ---------------------------------------------------------- */

static struct inv_tracer *borrow(ErlNifEnv *env, ERL_NIF_TERM term)
{
	ErlNifUInt64 handle;
	struct inv_tracer *t;

	if (!enif_get_uint64(env, term, &handle) || handle == 0)
		return NULL;
	t = inv_tracer_borrow(handle);
	if (t && t->delivery) {
		inv_tracer_release();
		return NULL;
	}
	return t;
}

ERL_NIF_TERM inv_bound_set(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	struct inv_open_calls *o;
	ErlNifUInt64 processes;
	struct inv_tracer *t;
	unsigned limit;

	(void)argc;
	if (!enif_get_uint(env, argv[1], &limit) || limit == 0 ||
	    !enif_get_uint64(env, argv[2], &processes))
		return enif_make_badarg(env);
	o = inv_open_calls_make(limit, processes);
	if (!o)
		return inv_am_false;
	t = borrow(env, argv[0]);
	if (!t || t->bound) {
		if (t)
			inv_tracer_release();
		inv_open_calls_free(o);
		return inv_am_closed;
	}
	t->bound = o;
	inv_tracer_release();
	return inv_am_true;
}

struct told {
	struct inv_open_calls *o;
	enum inv_ends ends;
};

static bool tell(void *arg, const struct inv_called *f)
{
	const struct told *told = arg;

	return inv_open_calls_tell(told->o, f, told->ends);
}

static bool get_ends(ERL_NIF_TERM term, enum inv_ends *ends)
{
	if (term == inv_am_none)
		*ends = INV_ENDS_NONE;
	else if (term == inv_am_all)
		*ends = INV_ENDS_ALL;
	else if (term == inv_am_marked)
		*ends = INV_ENDS_MARKED;
	else
		return false;
	return true;
}

ERL_NIF_TERM inv_bound_ends(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	struct told told = { NULL, INV_ENDS_NONE };
	struct inv_tracer *t;
	int left = 0;

	(void)argc;
	if (!enif_is_atom(env, argv[1]) || !get_ends(argv[3], &told.ends))
		return enif_make_badarg(env);
	t = borrow(env, argv[0]);
	if (!t)
		return inv_am_closed;
	if (t->bound) {
		told.o = t->bound;
		left = inv_functions_each(env, argv[1], argv[2], tell, &told);
		/* From now on, callbacks search this table. */
		if (told.ends != INV_ENDS_NONE)
			atomic_store_explicit(&t->open_calls, t->bound,
					      memory_order_release);
	}
	inv_tracer_release();
	return left < 0 ? enif_make_badarg(env) : enif_make_int(env, left);
}

static ERL_NIF_TERM stopped_term(ErlNifEnv *env,
				 const struct inv_stopped_call *s)
{
	return enif_make_tuple5(env, s->function.module, s->function.name,
				enif_make_uint(env, s->function.arity),
				s->process, enif_make_uint(env, s->open));
}

static ERL_NIF_TERM list_stopped(ErlNifEnv *env, struct inv_open_calls *o)
{
	ERL_NIF_TERM list = enif_make_list(env, 0);
	struct inv_stopped_call s;
	uint32_t at = 0;

	while (inv_open_calls_stopped(o, &at, &s))
		list = enif_make_list_cell(env, stopped_term(env, &s), list);
	return list;
}

/*
 * Returns the list of the stopped functions. If the list is empty, clears
 * `holds', so that callbacks need not look for held processes. A callback can
 * stop a function at the same time: it first stops the function, and then sets
 * `holds'. So the list is read again after `holds' was cleared.
 */
static ERL_NIF_TERM settle(ErlNifEnv *env, struct inv_slot *slot,
			   struct inv_open_calls *o)
{
	ERL_NIF_TERM list = list_stopped(env, o);

	if (!enif_is_empty_list(env, list))
		return list;
	atomic_store(&slot->holds, false);
	list = list_stopped(env, o);
	if (!enif_is_empty_list(env, list))
		atomic_store(&slot->holds, true);
	return list;
}

ERL_NIF_TERM inv_bound_stopped(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);
	ERL_NIF_TERM list = enif_make_list(env, 0);
	struct inv_slot *slot;

	(void)argc;
	if (!t)
		return inv_am_closed;
	slot = inv_slot_of(t->handle);
	if (open_calls(t) && atomic_load(&slot->holds))
		list = settle(env, slot, open_calls(t));
	inv_tracer_release();
	return list;
}

ERL_NIF_TERM inv_bound_release(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct inv_called f = { argv[1], argv[2], 0 };
	struct inv_tracer *t;

	(void)argc;
	if (!enif_get_uint(env, argv[3], &f.arity))
		return enif_make_badarg(env);
	t = borrow(env, argv[0]);
	if (!t)
		return inv_am_closed;
	if (open_calls(t))
		inv_open_calls_release(open_calls(t), &f);
	inv_tracer_release();
	return inv_am_ok;
}
