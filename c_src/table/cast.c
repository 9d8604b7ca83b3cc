/* SPDX-License-Identifier: Apache-2.0 */
#include "table/cast.h"

#include <stdlib.h>
#include <string.h>

#include "term/print.h"

void inv_cast_release(struct inv_cast *w)
{
	inv_words_release(&w->words);
	free(w->v);
	free(w->functions);
	free(w->slots);
	free(w->function_slots);
	memset(w, 0, sizeof(*w));
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

uint64_t inv_row_process_hash(const struct inv_row_process *process)
{
	uint64_t h = mix(process->number, process->serial);

	return mix(h, (uint64_t)process->node << 8 | process->kind);
}

static bool same(const struct inv_row_process *a,
		 const struct inv_row_process *b)
{
	return a->number == b->number && a->serial == b->serial &&
	       a->node == b->node && a->kind == b->kind;
}

static uint32_t *slot_of(const struct inv_cast *w,
			 const struct inv_row_process *process)
{
	uint32_t i = (uint32_t)inv_row_process_hash(process) & (w->n_slots - 1);

	while (w->slots[i] && !same(&w->v[w->slots[i] - 1], process))
		i = (i + 1) & (w->n_slots - 1);
	return &w->slots[i];
}

/* Makes the hash table at least twice as large as the number of keys. */
static bool grow_slots(struct inv_cast *w)
{
	uint32_t n = w->n_slots ? w->n_slots * 2 : 512;
	uint32_t *old = w->slots;
	uint32_t *slots = calloc(n, sizeof(*slots));
	uint32_t n_old = w->n_slots;

	if (!slots)
		return false;
	w->slots = slots;
	w->n_slots = n;
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i])
			*slot_of(w, &w->v[old[i] - 1]) = old[i];
	free(old);
	return true;
}

/* Returns the array with room for another element, or NULL. */
static void *more(void *v, uint32_t n, uint32_t *cap, size_t size)
{
	uint32_t want = *cap ? *cap * 2 : 256;
	void *p;

	if (n < *cap)
		return v;
	if (want > UINT32_MAX / 4)
		return NULL;
	p = realloc(v, want * size);
	if (p)
		*cap = want;
	return p;
}

static bool is_named(struct inv_cast *w, uint32_t number, const void *name,
		     size_t len)
{
	uint32_t word = w->v[number - 1].name;
	const uint8_t *text;
	size_t n;

	if (!word || !len)
		return !word && !len;
	text = inv_words_text(&w->words, word, &n);
	return n == len && !memcmp(text, name, n);
}

uint32_t inv_cast_add(struct inv_cast *w, const struct inv_row_process *process,
		      const void *name, size_t len)
{
	struct inv_row_process *v;
	uint32_t *slot;

	if (w->n_keys * 2 >= w->n_slots && !grow_slots(w))
		return 0;
	slot = slot_of(w, process);
	if (*slot && is_named(w, *slot, name, len))
		return *slot;
	v = more(w->v, w->n, &w->cap, sizeof(*v));
	if (!v)
		return 0;
	w->v = v;
	v += w->n;
	*v = *process;
	v->name = len ? inv_words_add(&w->words, name, len) : 0;
	if (len && !v->name)
		return 0;
	if (!*slot)
		w->n_keys++;
	*slot = ++w->n;
	return w->n;
}

/* --- functions ------------------------------------------------------------ */

static bool is_word(const struct inv_cast *w, uint32_t word,
		    const struct inv_mfa_atom *a)
{
	size_t n;
	const uint8_t *text = inv_words_text(&w->words, word, &n);

	return n == a->len && (!n || !memcmp(text, a->bytes, n));
}

static uint32_t *function_slot(const struct inv_cast *w,
			       const struct inv_mfa *m, uint64_t hash)
{
	uint32_t i = (uint32_t)hash & (w->n_function_slots - 1);

	for (;; i = (i + 1) & (w->n_function_slots - 1)) {
		const struct inv_row_function *x;

		if (!w->function_slots[i])
			break;
		x = &w->functions[w->function_slots[i] - 1];
		if (m && x->hash == hash && x->arity == m->arity &&
		    is_word(w, x->module, &m->module) &&
		    is_word(w, x->function, &m->function))
			break;
	}
	return &w->function_slots[i];
}

static bool grow_function_slots(struct inv_cast *w)
{
	uint32_t n = w->n_function_slots ? w->n_function_slots * 2 : 512;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	free(w->function_slots);
	w->function_slots = slots;
	w->n_function_slots = n;
	for (uint32_t i = 0; i < w->n_functions; i++)
		*function_slot(w, NULL, w->functions[i].hash) = i + 1;
	return true;
}

/* Prints the function, in Elixir's syntax if the module is an Elixir module. */
static uint32_t print_mfa(struct inv_cast *w, const struct inv_mfa *m)
{
	static const char elixir[] = "Elixir.";
	struct inv_print_opts o = { .unicode = true };
	struct inv_buf text = { 0 };
	uint32_t word = 0;

	if (m->module.len > strlen(elixir) &&
	    !memcmp(m->module.bytes, elixir, strlen(elixir)))
		o.syntax = INV_SYNTAX_ELIXIR;
	inv_term_print_module(m->module.bytes, m->module.len, &text, &o);
	inv_term_print_function(m->function.bytes, m->function.len, &text, &o);
	inv_buf_putc(&text, '/');
	inv_buf_u64(&text, m->arity);
	if (!text.error)
		word = inv_words_add(&w->words, text.data, text.len);
	inv_buf_release(&text);
	return word;
}

uint32_t inv_cast_function(struct inv_cast *w, const struct inv_mfa *m)
{
	struct inv_row_function *v;
	uint32_t *slot;

	if (w->n_functions * 2 >= w->n_function_slots &&
	    !grow_function_slots(w))
		return 0;
	slot = function_slot(w, m, m->hash);
	if (*slot)
		return *slot;
	v = more(w->functions, w->n_functions, &w->cap_functions, sizeof(*v));
	if (!v)
		return 0;
	w->functions = v;
	v += w->n_functions;
	v->hash = m->hash;
	v->arity = m->arity;
	v->module = inv_words_add(&w->words, m->module.bytes, m->module.len);
	v->function =
		inv_words_add(&w->words, m->function.bytes, m->function.len);
	v->mfa = print_mfa(w, m);
	if (!v->module || !v->function || !v->mfa)
		return 0;
	*slot = ++w->n_functions;
	return w->n_functions;
}

/* --- texts ---------------------------------------------------------------- */

void inv_row_process_pid(const struct inv_row_process *process,
			 struct inv_buf *out)
{
	if (process->kind == INV_TOK_ATOM)
		return;
	inv_buf_puts(out, process->kind == INV_TOK_PID ? "<0." : "#Port<0.");
	inv_buf_u64(out, process->number);
	if (process->kind == INV_TOK_PID) {
		inv_buf_putc(out, '.');
		inv_buf_u64(out, process->serial);
	}
	inv_buf_putc(out, '>');
}
