/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/tally.h"

#include "abi/event.h"
#include "base/likely.h"
#include "nif/atoms.h"
#include "nif/note.h"
#include "nif/thread.h"
#include "nif/tracer.h"
#include "vm/tally.h"

/* --- callbacks --------------------------------------------------------------- */

/* Makes the key of a function, {M, F, Arguments} or {M, F, Arity}. */
static inline bool get_function(ErlNifEnv *env, ERL_NIF_TERM term,
				struct inv_tally_key *key)
{
	const ERL_NIF_TERM *e;
	unsigned arity;
	int n;

	if (!enif_get_tuple(env, term, &n, &e) || n != 3 ||
	    (!enif_get_uint(env, e[2], &arity) &&
	     !enif_get_list_length(env, e[2], &arity)))
		return false;
	*key = (struct inv_tally_key){ e[0], e[1],
				       INV_COUNT_FUNCTION | (uint64_t)arity
								    << 8 };
	return true;
}

static inline bool get_key(const struct inv_tally *tally,
			   const struct inv_tracer_event *te,
			   struct inv_tally_key *key)
{
	if (tally->by == INV_COUNT_PROCESS) {
		*key = (struct inv_tally_key){ te->tracee, 0,
					       INV_COUNT_PROCESS };
		return true;
	}
	if (inv_likely(te->tag == inv_am_call))
		return get_function(te->env, te->content, key);
	*key = (struct inv_tally_key){ te->tag, 0, INV_COUNT_TAG };
	return true;
}

/* Returns true if the words stay valid when the event is over. The VM's words
 * do; other callers can pass any term. */
static bool is_lasting(ErlNifEnv *env, const struct inv_tally_key *key)
{
	ErlNifPid pid;
	ErlNifPort port;

	switch (key->kind & 0xff) {
	case INV_COUNT_FUNCTION:
		return enif_is_atom(env, key->word) &&
		       enif_is_atom(env, key->name);
	case INV_COUNT_PROCESS:
		return enif_get_local_pid(env, key->word, &pid) ||
		       enif_get_local_port(env, key->word, &port);
	default:
		return enif_is_atom(env, key->word);
	}
}

/* Makes a cell for a key that the thread has not counted yet. */
INV_COLD static bool count_first(struct inv_tracer *t, uint32_t thread,
				 struct inv_tally_part *part, ErlNifEnv *env,
				 const struct inv_tally_key *key)
{
	struct inv_tally_cell *c;
	ErlNifPid pid;

	if (!is_lasting(env, key))
		return false;
	c = inv_tally_claim(part, key);
	inv_tally_add(part, c);
	/* The tracer's namer then notes the name of the process. */
	if (c && key->kind == INV_COUNT_PROCESS &&
	    enif_get_local_pid(env, key->word, &pid))
		inv_fresh_add(&t->lanes[thread].fresh, key->word, &pid);
	return true;
}

bool inv_tally_event(struct inv_tracer *t, uint32_t thread,
		     const struct inv_tracer_event *te)
{
	/* Acquire: pairs with the release in set(). */
	struct inv_tally *tally =
		atomic_load_explicit(&t->tally, memory_order_acquire);
	struct inv_tally_part *part = &tally->parts[thread];
	struct inv_tally_cell *c;
	struct inv_tally_key key;

	if (inv_unlikely(!get_key(tally, te, &key)))
		return false;
	c = inv_tally_find(part, &key);
	if (inv_unlikely(!c))
		return count_first(t, thread, part, te->env, &key);
	inv_tally_add(part, c);
	return true;
}

/* --- NIFs -------------------------------------------------------------------- */

static bool set(struct inv_tracer *t, uint32_t by)
{
	struct inv_tally *tally;

	if (t->delivery || atomic_load(&t->tally))
		return false;
	tally = inv_tally_make(t->n_lanes, by);
	if (!tally)
		return false;
	atomic_store_explicit(&t->tally, tally, memory_order_release);
	t->elsewhere = true;
	return true;
}

ERL_NIF_TERM inv_tally_set(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t;
	ErlNifUInt64 handle;
	bool done;

	(void)argc;
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0 ||
	    (argv[1] != inv_am_function && argv[1] != inv_am_process))
		return enif_make_badarg(env);
	t = inv_tracer_borrow(handle);
	if (!t)
		return inv_am_closed;
	done = set(t, argv[1] == inv_am_process ? INV_COUNT_PROCESS :
						  INV_COUNT_FUNCTION);
	inv_tracer_release();
	return done ? inv_am_true : inv_am_false;
}

static ERL_NIF_TERM make_key(ErlNifEnv *env, const struct inv_tally_key *k)
{
	switch (k->kind & 0xff) {
	case INV_COUNT_FUNCTION:
		return enif_make_tuple3(
			env, k->word, k->name,
			enif_make_uint(env, (unsigned)(k->kind >> 8)));
	case INV_COUNT_TAG:
	case INV_COUNT_PROCESS:
		return k->word;
	default:
		return enif_make_list(env, 0);
	}
}

/* Makes a note, {INV_NOTE_COUNT, [Of, Key, N]}. */
static ERL_NIF_TERM make_note(ErlNifEnv *env, const struct inv_tally_row *row)
{
	return enif_make_tuple2(
		env, enif_make_uint(env, INV_NOTE_COUNT),
		enif_make_list3(
			env,
			enif_make_uint(env, (unsigned)(row->key.kind & 0xff)),
			make_key(env, &row->key),
			enif_make_uint64(env, row->n)));
}

/*
 * A call may take about a millisecond. A row takes as many look-ups as there are
 * threads, and an empty cell almost nothing.
 */
#define CELLS_A_CALL (4 * INV_TALLY_CELLS)
#define LOOK_UPS_A_CALL 4096u

static ERL_NIF_TERM read(ErlNifEnv *env, struct inv_tally *tally,
			 ErlNifUInt64 at, bool all)
{
	ERL_NIF_TERM list = enif_make_list(env, 0);
	uint32_t most = LOOK_UPS_A_CALL / tally->n_parts;
	uint32_t cells = CELLS_A_CALL;
	struct inv_tally_row row;
	uint32_t n = 0;

	if (most < 1)
		most = 1;
	if (most > INV_NOTES)
		most = INV_NOTES;
	while (n < most && inv_tally_next(tally, &at, all, &cells, &row)) {
		list = enif_make_list_cell(env, make_note(env, &row), list);
		n++;
	}
	return enif_make_tuple2(env, list,
				at == UINT64_MAX ? inv_am_done :
						   enif_make_uint64(env, at));
}

ERL_NIF_TERM inv_tally_read(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM result = inv_am_closed;
	struct inv_tally *tally;
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
	/* The lock makes this the only reader. */
	tally = atomic_load(&t->tally);
	if (tally)
		result = read(env, tally, at, argv[2] == inv_am_true);
	inv_tracer_release();
	return result;
}
