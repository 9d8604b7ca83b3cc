/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/tally.h"

#include "abi/event.h"
#include "base/likely.h"
#include "nif/arrival.h"
#include "nif/atoms.h"
#include "nif/called.h"
#include "nif/note.h"
#include "nif/thread.h"
#include "nif/times.h"
#include "nif/tracer.h"
#include "nif/value_key.h"
#include "vm/tally.h"

/* --- callbacks ------------------------------------------------------------ */

/* Makes the key of a function, {M, F, Arguments} or {M, F, Arity}. */
static inline bool get_function(ErlNifEnv *env, ERL_NIF_TERM term,
				enum inv_count_of of, struct inv_tally_key *key)
{
	struct inv_called f;
	ERL_NIF_TERM args;

	if (!inv_called_read(env, term, &f, &args))
		return false;
	*key = (struct inv_tally_key){ f.module, f.name,
				       of | (uint64_t)f.arity << 8 };
	return true;
}

/* Makes the key of the caller of a function. The match spec of a call has
 * {message, {caller}}; its value is `undefined' if there is no caller. */
static inline bool get_caller(const struct inv_tracer_event *te,
			      struct inv_tally_key *key)
{
	if (te->value == 0)
		return false;
	if (get_function(te->env, te->value, INV_COUNT_CALLER, key))
		return true;
	*key = (struct inv_tally_key){ te->value, 0, INV_COUNT_TAG };
	return true;
}

static inline bool get_key(const struct inv_tally *tally, struct inv_arrival *a,
			   struct inv_tally_key *key)
{
	const struct inv_tracer_event *te = &a->te;

	if (tally->by == INV_COUNT_PROCESS) {
		*key = (struct inv_tally_key){ te->tracee, 0,
					       INV_COUNT_PROCESS };
		return true;
	}
	if (tally->by >= INV_COUNT_CALLER)
		return tally->by == INV_COUNT_CALLER &&
		       get_caller(inv_arrival_whole(a), key);
	if (inv_likely(te->tag == inv_am_call))
		return get_function(te->env, te->content, INV_COUNT_FUNCTION,
				    key);
	*key = (struct inv_tally_key){ te->tag, 0, INV_COUNT_TAG };
	return true;
}

/* Returns true if the words of the key stay valid after the event, because they
 * are immediate terms. In events of the VM they always are, but other callers
 * of the callback can pass other terms. */
static bool is_lasting(ErlNifEnv *env, const struct inv_tally_key *key)
{
	ErlNifPid pid;
	ErlNifPort port;

	switch (key->kind & 0xff) {
	case INV_COUNT_FUNCTION:
	case INV_COUNT_CALLER:
		return enif_is_atom(env, key->word) &&
		       enif_is_atom(env, key->name);
	case INV_COUNT_PROCESS:
		return enif_get_local_pid(env, key->word, &pid) ||
		       enif_get_local_port(env, key->word, &port);
	default:
		return enif_is_atom(env, key->word);
	}
}

INV_COLD struct inv_tally_cell *inv_tally_first(struct inv_tracer *t,
						struct inv_tally *tally,
						uint32_t part, ErlNifEnv *env,
						const struct inv_tally_key *key)
{
	struct inv_tally_cell *c = NULL;
	ErlNifPid pid;

	if (is_lasting(env, key))
		c = inv_tally_claim(&tally->parts[part], key);
	/* The namer (inviso_names.erl) will write the name of this process into
	 * the log. */
	if (c && key->kind == INV_COUNT_PROCESS && part < t->n_lanes &&
	    enif_get_local_pid(env, key->word, &pid))
		inv_fresh_add(&t->lanes[part].fresh, key->word, &pid);
	return c;
}

INV_COLD static bool count_first(struct inv_tracer *t, struct inv_tally *tally,
				 uint32_t thread, ErlNifEnv *env,
				 const struct inv_tally_key *key)
{
	if (!is_lasting(env, key))
		return false;
	inv_tally_add(&tally->parts[thread],
		      inv_tally_first(t, tally, thread, env, key));
	return true;
}

bool inv_tally_key_of(const struct inv_tally *tally, struct inv_arrival *a,
		      struct inv_tally_key *key)
{
	return get_key(tally, a, key) && is_lasting(a->te.env, key);
}

void inv_tally_value(struct inv_tracer *t, uint32_t thread,
		     const struct inv_tally_key *key)
{
	/* Acquire: pairs with the release in inv_tally_begin(). */
	struct inv_tally *tally =
		atomic_load_explicit(&t->tally, memory_order_acquire);

	inv_tally_add(&tally->parts[thread],
		      inv_value_cell(t->values, tally, thread, key));
}

/* Counts an event under the value of an expression. */
__attribute__((noinline)) static bool count_value(
	struct inv_tracer *t, uint32_t thread,
	const struct inv_tracer_event *te)
{
	struct inv_tally_key key;

	if (!inv_value_key(t, thread, te, &key))
		return false;
	inv_tally_value(t, thread, &key);
	return true;
}

bool inv_tally_event(struct inv_tracer *t, uint32_t thread,
		     struct inv_arrival *a)
{
	/* Acquire: pairs with the release in inv_tally_begin(). */
	struct inv_tally *tally =
		atomic_load_explicit(&t->tally, memory_order_acquire);
	struct inv_tally_part *part = &tally->parts[thread];
	struct inv_tally_cell *c;
	struct inv_tally_key key;

	if (inv_unlikely(!get_key(tally, a, &key)))
		return tally->by == INV_COUNT_VALUE &&
		       count_value(t, thread, inv_arrival_whole(a));
	c = inv_tally_find(part, &key);
	if (inv_unlikely(!c))
		return count_first(t, tally, thread, a->te.env, &key);
	inv_tally_add(part, c);
	return true;
}

/* --- NIFs ----------------------------------------------------------------- */

static bool has_values(uint32_t by)
{
	return by == INV_COUNT_VALUE || by == INV_BY_RESULT;
}

bool inv_tally_begin(struct inv_tracer *t, uint32_t n_parts, uint32_t by)
{
	struct inv_tally *tally;

	if (t->delivery || atomic_load(&t->tally))
		return false;
	if (has_values(by) && !t->values)
		t->values = inv_values_make(n_parts);
	if (has_values(by) && !t->values)
		return false;
	t->results = by == INV_BY_RESULT;
	tally = inv_tally_make(n_parts, by);
	if (!tally)
		return false;
	atomic_store_explicit(&t->tally, tally, memory_order_release);
	t->elsewhere = true;
	return true;
}

bool inv_tally_by(ERL_NIF_TERM atom, uint32_t *by)
{
	*by = atom == inv_am_process ? INV_COUNT_PROCESS :
	      atom == inv_am_caller  ? INV_COUNT_CALLER :
	      atom == inv_am_value   ? INV_COUNT_VALUE :
	      atom == inv_am_result  ? INV_BY_RESULT :
				       INV_COUNT_FUNCTION;
	return atom == inv_am_function || atom == inv_am_process ||
	       atom == inv_am_caller || atom == inv_am_value ||
	       atom == inv_am_result;
}

ERL_NIF_TERM inv_tally_set(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t;
	ErlNifUInt64 handle;
	uint32_t by;
	bool done;

	(void)argc;
	if (!enif_get_uint64(env, argv[0], &handle) || handle == 0 ||
	    !inv_tally_by(argv[1], &by))
		return enif_make_badarg(env);
	t = inv_tracer_borrow(handle);
	if (!t)
		return inv_am_closed;
	done = inv_tally_begin(t, t->n_lanes, by);
	inv_tracer_release();
	return done ? inv_am_true : inv_am_false;
}

ERL_NIF_TERM inv_tally_key_term(ErlNifEnv *env, const struct inv_tracer *t,
				const struct inv_tally_key *k)
{
	if ((k->kind & 0xff) >= INV_COUNT_VALUE)
		return inv_value_term(env, t->values, inv_times_keys(t), k);
	switch (k->kind & 0xff) {
	case INV_COUNT_FUNCTION:
	case INV_COUNT_CALLER:
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

/* Makes the note {INV_NOTE_COUNT, [Of, Key, N]} of a row. */
static ERL_NIF_TERM make_note(ErlNifEnv *env, const struct inv_tracer *t,
			      const struct inv_tally_row *row)
{
	unsigned of = (unsigned)(row->key.kind & 0xff);
	ERL_NIF_TERM key = inv_tally_key_term(env, t, &row->key);

	return enif_make_tuple2(env, enif_make_uint(env, INV_NOTE_COUNT),
				enif_make_list3(env, enif_make_uint(env, of),
						key,
						enif_make_uint64(env, row->n)));
}

/*
 * Two bounds for one call of the NIF, so that it takes about a millisecond at
 * most: how many cells it may look at (an empty cell takes almost no time), and
 * how many times it may look up a key. For each row, it looks up the key in the
 * part of each thread.
 */
#define CELLS_A_CALL (4 * INV_TALLY_CELLS)
#define LOOK_UPS_A_CALL 4096u

/* Returns true if the row has no histogram, so that its count is its only
 * note. */
static bool is_plain(const struct inv_tracer *t, const struct inv_tally_row *r)
{
	return !t->timing || (r->key.kind & 0xff) == INV_COUNT_TOTAL;
}

static ERL_NIF_TERM read(ErlNifEnv *env, const struct inv_tracer *t,
			 ErlNifUInt64 at, bool all)
{
	struct inv_tally *tally = t->tally;
	ERL_NIF_TERM list = enif_make_list(env, 0);
	uint32_t rows = LOOK_UPS_A_CALL / tally->n_parts;
	uint32_t a_row = t->timing ? 1 + INV_TIMES_NOTES : 1;
	uint32_t cells = CELLS_A_CALL;
	struct inv_tally_row row;
	uint32_t n = 0;

	if (rows < 1)
		rows = 1;
	while (rows-- > 0 && n + a_row <= INV_NOTES &&
	       inv_tally_next(tally, &at, all, &cells, &row)) {
		if (!is_plain(t, &row))
			list = inv_times_notes(env, t, &row, list, &n);
		list = enif_make_list_cell(env, make_note(env, t, &row), list);
		n++;
	}
	enif_make_reverse_list(env, list, &list);
	return enif_make_tuple2(env, list,
				at == UINT64_MAX ? inv_am_done :
						   enif_make_uint64(env, at));
}

ERL_NIF_TERM inv_tally_read(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM result = inv_am_closed;
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
	/* inv_tracer_borrow has taken the tracers' lock, so no other thread
	 * reads this tally now. */
	if (atomic_load(&t->tally))
		result = read(env, t, at, argv[2] == inv_am_true);
	inv_tracer_release();
	return result;
}
