/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/value_key.h"

#include <string.h>

#include "base/likely.h"
#include "nif/atoms.h"
#include "nif/redact.h"
#include "nif/tracer.h"

/* The upper bits of a key's kind say how the key stores the value: as a term,
 * as an integer, or as two hashes of its bytes. */
enum form {
	WORD = 1,
	INTEGER,
	BYTES,
};

static uint64_t kind_of(enum inv_count_of of, enum form form)
{
	return (uint64_t)of | (uint64_t)form << 8;
}

static enum form form_of(const struct inv_tally_key *key)
{
	return (enum form)(key->kind >> 8);
}

/* --- writing: called by callbacks ----------------------------------------- */

#define MAX_MAP 8u

/* In `todo', REDACTED replaces a term that is redacted. */
#define REDACTED ((ERL_NIF_TERM)0)

/* `todo' contains the terms that are still to be written. Each of them takes at
 * least one byte, so there are at most INV_VALUE_BYTES terms. */
struct writer {
	ErlNifEnv *env;
	struct inv_encoder rules; /* only for nif/redact.h */
	struct inv_value *out;
	uint32_t n_todo;
	ERL_NIF_TERM todo[INV_VALUE_BYTES];
};

/* Returns true if the output has space for the n bytes of a term, for one byte
 * of each of its `more' elements, and for one byte of each term in `todo'. */
static bool fits(const struct writer *w, size_t n, size_t more)
{
	return w->out->len + n + more + w->n_todo <= INV_VALUE_BYTES;
}

static void put(struct writer *w, char code, const void *p, size_t n)
{
	w->out->bytes[w->out->len++] = (uint8_t)code;
	memcpy(w->out->bytes + w->out->len, p, n);
	w->out->len = (uint8_t)(w->out->len + n);
}

static bool put_word(struct writer *w, char code, const void *p)
{
	if (!fits(w, 9, 0))
		return false;
	put(w, code, p, 8);
	return true;
}

static bool put_binary(struct writer *w, const ErlNifBinary *b)
{
	size_t room = INV_VALUE_BYTES - w->out->len - w->n_todo;
	size_t n = b->size;
	uint8_t len;

	if (room < 2)
		return false;
	if (n > room - 2)
		n = room - 2;
	len = (uint8_t)n;
	put(w, n < b->size ? 'B' : 'b', &len, 1);
	memcpy(w->out->bytes + w->out->len, b->data, n);
	w->out->len = (uint8_t)(w->out->len + n);
	return true;
}

static ERL_NIF_TERM value_of_key(struct writer *w, ERL_NIF_TERM key,
				 ERL_NIF_TERM value)
{
	return w->rules.redaction && inv_redact_is_key(&w->rules, key) ?
		       REDACTED :
		       value;
}

static bool put_tuple(struct writer *w, const ERL_NIF_TERM *e, int n)
{
	struct inv_redact_tuple t = { .hidden = 0 };
	uint8_t arity = (uint8_t)n;

	if (n > 255 || !fits(w, 2, (size_t)n))
		return false;
	put(w, 't', &arity, 1);
	if (w->rules.redaction)
		inv_redact_tuple(&w->rules, e, (uint32_t)n, &t);
	while (n-- > 0)
		w->todo[w->n_todo++] =
			inv_redact_has(t.hidden, (uint32_t)n) ? REDACTED : e[n];
	return true;
}

static bool put_map(struct writer *w, ERL_NIF_TERM t, size_t n)
{
	uint8_t pairs = (uint8_t)n;
	ErlNifMapIterator it;
	ERL_NIF_TERM k, v;
	uint32_t first = w->n_todo, last;

	/* Maps of more than MAX_MAP pairs are left out, because the iterator of
	 * a large map (more than 32 keys) would allocate memory. */
	if (n > MAX_MAP || !fits(w, 2, 2 * n) ||
	    !enif_map_iterator_create(w->env, t, &it,
				      ERL_NIF_MAP_ITERATOR_FIRST))
		return false;
	put(w, 'm', &pairs, 1);
	while (enif_map_iterator_get_pair(w->env, &it, &k, &v)) {
		w->todo[w->n_todo++] = k;
		w->todo[w->n_todo++] = value_of_key(w, k, v);
		enif_map_iterator_next(w->env, &it);
	}
	enif_map_iterator_destroy(w->env, &it);
	/* Terms are taken from the end of `todo', so reverse the order. */
	for (last = w->n_todo; first + 1 < last; first++) {
		k = w->todo[first];
		w->todo[first] = w->todo[--last];
		w->todo[last] = k;
	}
	return true;
}

static bool put_cons(struct writer *w, ERL_NIF_TERM t)
{
	ERL_NIF_TERM head, tail;

	if (!fits(w, 1, 2) || !enif_get_list_cell(w->env, t, &head, &tail))
		return false;
	put(w, 'c', "", 0);
	if (!enif_is_list(w->env, tail))
		tail = value_of_key(w, head, tail);
	w->todo[w->n_todo++] = tail;
	w->todo[w->n_todo++] = head;
	return true;
}

static bool is_word(ErlNifEnv *env, ERL_NIF_TERM t)
{
	ErlNifPid pid;
	ErlNifPort port;

	return enif_is_atom(env, t) || enif_get_local_pid(env, t, &pid) ||
	       enif_get_local_port(env, t, &port);
}

/* Writes a term, or returns false if the term must be left out. */
static bool put_term(struct writer *w, ERL_NIF_TERM t)
{
	const ERL_NIF_TERM *e;
	ErlNifSInt64 i;
	ErlNifBinary b;
	double d;
	size_t n;
	int arity;
	uint64_t word = t;

	switch (enif_term_type(w->env, t)) {
	case ERL_NIF_TERM_TYPE_INTEGER:
		return enif_get_int64(w->env, t, &i) && put_word(w, 'i', &i);
	case ERL_NIF_TERM_TYPE_FLOAT:
		return enif_get_double(w->env, t, &d) && put_word(w, 'f', &d);
	case ERL_NIF_TERM_TYPE_BITSTRING:
		return enif_inspect_binary(w->env, t, &b) && put_binary(w, &b);
	case ERL_NIF_TERM_TYPE_TUPLE:
		return enif_get_tuple(w->env, t, &arity, &e) &&
		       put_tuple(w, e, arity);
	case ERL_NIF_TERM_TYPE_MAP:
		return enif_get_map_size(w->env, t, &n) && put_map(w, t, n);
	case ERL_NIF_TERM_TYPE_LIST:
		if (!enif_is_empty_list(w->env, t))
			return put_cons(w, t);
		put(w, 'n', "", 0);
		return true;
	default:
		return is_word(w->env, t) && put_word(w, 'a', &word);
	}
}

/* Two hashes: FNV-1a, and a variant with another factor. Two values for which
 * both hashes are equal are counted as one value. */
static void hash(const struct inv_value *v, struct inv_tally_key *key)
{
	uint64_t a = UINT64_C(0xcbf29ce484222325), b = ~a;

	for (uint32_t i = 0; i < v->len; i++) {
		a = (a ^ v->bytes[i]) * UINT64_C(0x100000001b3);
		b = (b ^ v->bytes[i]) * UINT64_C(0x9e3779b97f4a7c15);
		b ^= b >> 29;
	}
	key->word = a;
	key->name = b;
}

static void write_value(struct inv_tracer *tracer, uint32_t part,
			ErlNifEnv *env, ERL_NIF_TERM t,
			struct inv_tally_key *key)
{
	struct writer w;

	w.env = env;
	w.rules.env = env;
	w.rules.redaction = tracer->redaction;
	w.rules.checks = INV_VALUE_BYTES;
	w.out = &tracer->values->parts[part].now;
	w.out->len = 0;
	w.todo[0] = t;
	w.n_todo = 1;
	while (w.n_todo > 0) {
		t = w.todo[--w.n_todo];
		if (t == REDACTED)
			put(&w, 'r', "", 0);
		else if (!put_term(&w, t))
			put(&w, 'x', "", 0);
	}
	hash(w.out, key);
}

void inv_value_key_of(struct inv_tracer *t, uint32_t part, ErlNifEnv *env,
		      ERL_NIF_TERM value, enum inv_count_of of,
		      struct inv_tally_key *key)
{
	enum form form = BYTES;
	ErlNifSInt64 i;

	*key = (struct inv_tally_key){ 0 };
	if (enif_get_int64(env, value, &i)) {
		key->word = (uint64_t)i;
		form = INTEGER;
	} else if (is_word(env, value)) {
		key->word = value;
		form = WORD;
	} else {
		write_value(t, part, env, value, key);
	}
	key->kind = kind_of(of, form);
}

bool inv_value_key(struct inv_tracer *t, uint32_t part,
		   const struct inv_tracer_event *te, struct inv_tally_key *key)
{
	const ERL_NIF_TERM *e;
	int arity;

	if (te->value == 0 || !enif_get_tuple(te->env, te->value, &arity, &e) ||
	    arity < 1 || arity > 2)
		return false;
	if (e[arity - 1] == inv_am_EXIT)
		*key = (struct inv_tally_key){ inv_am_EXIT, 0,
					       INV_COUNT_FAILED };
	else
		inv_value_key_of(t, part, te->env, e[arity - 1],
				 INV_COUNT_VALUE, key);
	return true;
}

struct inv_tally_cell *inv_value_cell(struct inv_values *v,
				      struct inv_tally *keys, uint32_t part,
				      const struct inv_tally_key *key)
{
	struct inv_tally_part *p = &keys->parts[part];
	struct inv_tally_cell *c = inv_tally_find(p, key);

	if (inv_likely(c != NULL))
		return c;
	c = inv_tally_claim(p, key);
	if (c && form_of(key) == BYTES)
		inv_values_keep(v, part, p, c);
	return c;
}

/* --- reading: not on the event path --------------------------------------- */

/* The offsets of a value's tokens: a token is a code with its bytes. The tokens
 * are read from the last to the first, so that the elements of a list, tuple or
 * map are made before the list, tuple or map itself. */
struct tokens {
	uint8_t at[INV_VALUE_BYTES];
	uint32_t n;
};

static void find(const struct inv_value *v, struct tokens *k)
{
	for (uint32_t i = 0; i < v->len;) {
		k->at[k->n++] = (uint8_t)i;
		switch (v->bytes[i]) {
		case 'a':
		case 'i':
		case 'f':
			i += 9;
			break;
		case 'b':
		case 'B':
			i += 2u + v->bytes[i + 1];
			break;
		case 't':
		case 'm':
			i += 2;
			break;
		default:
			i += 1;
			break;
		}
	}
}

static ERL_NIF_TERM left_out(ErlNifEnv *env)
{
	return enif_make_atom(env, "...");
}

static ERL_NIF_TERM make_binary(ErlNifEnv *env, const uint8_t *p, size_t n,
				bool cut)
{
	ERL_NIF_TERM t;
	uint8_t *to = enif_make_new_binary(env, n + (cut ? 3 : 0), &t);

	if (!to)
		return left_out(env);
	memcpy(to, p, n);
	if (cut)
		memcpy(to + n, "...", 3);
	return t;
}

static ERL_NIF_TERM make_map(ErlNifEnv *env, const ERL_NIF_TERM *e, uint32_t n)
{
	ERL_NIF_TERM map = enif_make_new_map(env);

	/* e contains the elements in reverse order: for each pair the value,
	 * then the key. */
	for (uint32_t i = 0; i < n; i++)
		enif_make_map_put(env, map, e[2 * i + 1], e[2 * i], &map);
	return map;
}

/* Makes the term of a token. Its elements are on the stack s, the first one on
 * top, at s[*n - 1]. */
static ERL_NIF_TERM make(ErlNifEnv *env, const uint8_t *p, ERL_NIF_TERM *s,
			 uint32_t *n)
{
	ERL_NIF_TERM e[INV_VALUE_BYTES];
	uint64_t word = 0;
	double d;

	if (*p == 'a' || *p == 'i')
		memcpy(&word, p + 1, 8);
	switch (*p) {
	case 'a':
		return word;
	case 'i':
		return enif_make_int64(env, (ErlNifSInt64)word);
	case 'f':
		memcpy(&d, p + 1, 8);
		return enif_make_double(env, d);
	case 'b':
	case 'B':
		return make_binary(env, p + 2, p[1], *p == 'B');
	case 't':
		for (uint32_t i = 0; i < p[1]; i++)
			e[i] = s[--*n];
		return enif_make_tuple_from_array(env, e, p[1]);
	case 'm':
		*n -= 2u * p[1];
		return make_map(env, s + *n, p[1]);
	case 'c':
		*n -= 2;
		return enif_make_list_cell(env, s[*n + 1], s[*n]);
	case 'n':
		return enif_make_list(env, 0);
	case 'r':
		return enif_make_atom(env, "$redacted");
	default:
		return left_out(env);
	}
}

static ERL_NIF_TERM read_value(ErlNifEnv *env, const struct inv_value *v)
{
	ERL_NIF_TERM stack[INV_VALUE_BYTES] = { 0 };
	struct tokens k = { .n = 0 };
	uint32_t n = 0;

	find(v, &k);
	while (k.n > 0) {
		ERL_NIF_TERM t = make(env, v->bytes + k.at[--k.n], stack, &n);

		stack[n++] = t;
	}
	return n == 1 ? stack[0] : left_out(env);
}

ERL_NIF_TERM inv_value_term(ErlNifEnv *env, const struct inv_values *v,
			    const struct inv_tally *keys,
			    const struct inv_tally_key *key)
{
	const struct inv_value *value;

	if (key->kind == INV_COUNT_FAILED)
		return enif_make_list(env, 0);
	if (form_of(key) == WORD)
		return key->word;
	if (form_of(key) == INTEGER)
		return enif_make_int64(env, (ErlNifSInt64)key->word);
	value = inv_values_of(v, keys, key);
	return value ? read_value(env, value) : left_out(env);
}
