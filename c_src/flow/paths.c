/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/uthash.h"
#include "term/print.h"

/* A name. The key of a function is the hash in struct inv_mfa; the key of a
 * text is a hash of its bytes. */
struct inv_paths_word {
	struct inv_paths_name name;
	uint64_t key;
	bool stored;
	UT_hash_handle hh;
	char text[];
};

struct inv_paths_entry {
	struct inv_paths_frame frame; /* must be the first member, because
					 frames are cast to entries */
	struct {
		const struct inv_paths_frame *above;
		const struct inv_paths_name *name;
	} key;
	bool stored;
	bool marked;
	/* Sums of those frames below this frame that were evicted. */
	uint64_t others_count;
	uint64_t others_ns;
	UT_hash_handle hh;
};

#define OTHERS "(others)"
#define DEEPER "(deeper)"
#define SEED_OF_TEXTS 1

bool inv_paths_by(const char *word, enum inv_paths_by *by)
{
	static const char *const words[] = { "nothing", "kind", "node",
					     "label" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(word, words[i])) {
			*by = (enum inv_paths_by)i;
			return true;
		}
	return false;
}

static struct inv_paths_entry *entry_of(struct inv_paths_frame *f)
{
	return (struct inv_paths_entry *)(void *)f;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

int inv_paths_init(struct inv_paths *p, size_t most)
{
	memset(p, 0, sizeof(*p));
	p->most = most ? most : INV_PATHS_MEMORY;
	p->root = calloc(1, sizeof(*p->root));
	return p->root ? 0 : INV_ENOMEM;
}

void inv_paths_release(struct inv_paths *p)
{
	struct inv_paths_entry *e;
	struct inv_paths_entry *next_e;
	struct inv_paths_word *w;
	struct inv_paths_word *next_w;

	HASH_ITER (hh, p->entries, e, next_e) {
		HASH_DEL(p->entries, e);
		free(e);
	}
	HASH_ITER (hh, p->words, w, next_w) {
		HASH_DEL(p->words, w);
		free(w);
	}
	inv_buf_release(&p->text);
	free(p->root);
	p->root = NULL;
}

struct inv_paths_frame *inv_paths_root(const struct inv_paths *p)
{
	return &p->root->frame;
}

/* --- names ---------------------------------------------------------------- */

/*
 * Returns true if c must not be in a name: it would end a line, make a document
 * of some output format invalid, or hide or reorder the text around it.
 */
static bool is_forbidden(uint32_t c)
{
	return c < ' ' || (c >= 0x7f && c < 0xa0) || c == INV_CHAR_BAD ||
	       (c & 0xfffe) == 0xfffe || inv_char_hidden(c);
}

/*
 * Copies text, and replaces each forbidden character by U+FFFD. In the name of
 * a function, the printer has already escaped all forbidden characters except
 * noncharacters such as U+FFFE. So if `function' is true, noncharacters are
 * escaped here, and different functions keep different names. The copy takes at
 * most three times as many bytes as the text. Returns the length of the copy.
 */
static size_t copy_text(char *out, const uint8_t *text, size_t len,
			bool function)
{
	const uint8_t *end = text + len;
	uint8_t *w = (uint8_t *)out;
	unsigned n;

	while (text < end) {
		uint32_t c = inv_utf8_get(text, end, &n);

		if (function && c != INV_CHAR_BAD && (c & 0xfffe) == 0xfffe)
			w += sprintf((char *)w, "\\x{%X}", c);
		else
			w = inv_utf8_put(w, is_forbidden(c) ? 0xfffd : c);
		text += n;
	}
	return (size_t)(w - (uint8_t *)out);
}

static struct inv_paths_word *find_word(struct inv_paths *p, uint64_t key)
{
	struct inv_paths_word *w;

	HASH_FIND(hh, p->words, &key, sizeof(key), w);
	return w;
}

static struct inv_paths_word *add_word(struct inv_paths *p, uint64_t key,
				       const void *text, size_t len,
				       size_t module_len)
{
	struct inv_paths_word *w = calloc(1, sizeof(*w) + 3 * len + 1);

	if (!w)
		return NULL;
	w->key = key;
	w->stored = true;
	w->name.number = HASH_COUNT(p->words);
	w->name.text = w->text;
	w->name.module_len = copy_text(w->text, text, module_len, true);
	w->name.len = w->name.module_len +
		      copy_text(w->text + w->name.module_len,
				(const uint8_t *)text + module_len,
				len - module_len, module_len);
	HASH_ADD(hh, p->words, key, sizeof(w->key), w);
	if (!w->stored) {
		free(w);
		return NULL;
	}
	p->size += sizeof(*w) + 3 * len + 1;
	return w;
}

static const struct inv_paths_name *text_name(struct inv_paths *p,
					      const void *text, size_t len)
{
	uint64_t key = XXH3_64bits_withSeed(text, len, SEED_OF_TEXTS);
	struct inv_paths_word *w = find_word(p, key);

	if (!w)
		w = add_word(p, key, text, len, 0);
	return w ? &w->name : NULL;
}

static const struct inv_paths_name *function_name(struct inv_paths *p,
						  const struct inv_mfa *m,
						  bool elixir)
{
	const struct inv_print_opts o = {
		.unicode = true,
		.syntax = elixir ? INV_SYNTAX_ELIXIR : INV_SYNTAX_ERLANG,
	};
	struct inv_paths_word *w = find_word(p, m->hash);
	size_t module_len;

	if (w)
		return &w->name;
	inv_buf_reset(&p->text);
	inv_term_print_module(m->module.bytes, m->module.len, &p->text, &o);
	module_len = p->text.len ? p->text.len - 1 : 0;
	inv_term_print_function(m->function.bytes, m->function.len, &p->text,
				&o);
	inv_buf_putc(&p->text, '/');
	inv_buf_u64(&p->text, m->arity);
	if (p->text.error)
		return NULL;
	w = add_word(p, m->hash, p->text.data, p->text.len, module_len);
	return w ? &w->name : NULL;
}

/* --- eviction ------------------------------------------------------------- */

void inv_paths_mark(struct inv_paths_frame *f)
{
	while (f && !entry_of(f)->marked) {
		entry_of(f)->marked = true;
		f = f->parent;
	}
}

static void unlink_frame(struct inv_paths_frame *f)
{
	struct inv_paths_frame **at = &f->parent->child;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

static void evict(struct inv_paths *p, struct inv_paths_entry *e)
{
	struct inv_paths_entry *above = entry_of(e->frame.parent);

	above->others_count = plus(above->others_count,
				   plus(e->frame.count, e->others_count));
	above->others_ns =
		plus(above->others_ns, plus(e->frame.self_ns, e->others_ns));
	unlink_frame(&e->frame);
	HASH_DEL(p->entries, e);
	free(e);
	p->size -= sizeof(*e);
	p->evicted++;
}

static int by_time(const void *a, const void *b)
{
	const struct inv_paths_entry *x =
		*(const struct inv_paths_entry *const *)a;
	const struct inv_paths_entry *y =
		*(const struct inv_paths_entry *const *)b;
	uint64_t xt = plus(x->frame.self_ns, x->others_ns);
	uint64_t yt = plus(y->frame.self_ns, y->others_ns);

	return xt < yt ? -1 : xt > yt;
}

/* Of the frames without children, evicts the half with the least time. Does not
 * evict marked frames. Returns how many frames were evicted. */
static size_t evict_leaves(struct inv_paths *p)
{
	struct inv_paths_entry **v = calloc(HASH_COUNT(p->entries) + 1,
					    sizeof(struct inv_paths_entry *));
	size_t n = 0;

	for (struct inv_paths_entry *e = p->entries; v && e; e = e->hh.next)
		if (!e->frame.child && !e->marked)
			v[n++] = e;
	if (n)
		qsort(v, n, sizeof(struct inv_paths_entry *), by_time);
	n = (n + 1) / 2;
	for (size_t i = 0; i < n; i++)
		evict(p, v[i]);
	free(v);
	return n;
}

/* Evicts frames until a quarter of the memory is free, but never `keep'. */
static void shrink(struct inv_paths *p, struct inv_paths_frame *keep)
{
	for (struct inv_paths_entry *e = p->entries; e; e = e->hh.next)
		e->marked = false;
	p->root->marked = false;
	inv_paths_mark(keep);
	if (p->mark)
		p->mark(p->mark_arg);
	while (p->size > p->most / 4 * 3 && evict_leaves(p))
		;
}

/* --- frames --------------------------------------------------------------- */

static struct inv_paths_frame *enter(struct inv_paths *p,
				     struct inv_paths_frame *above,
				     const struct inv_paths_name *name)
{
	struct inv_paths_entry *e;
	struct inv_paths_entry key;

	if (!name)
		return NULL;
	if (above->name == name)
		return above;
	memset(&key.key, 0, sizeof(key.key));
	key.key.above = above;
	key.key.name = name;
	HASH_FIND(hh, p->entries, &key.key, sizeof(key.key), e);
	if (e)
		return &e->frame;
	if (p->size > p->most)
		shrink(p, above);
	e = p->size > p->most ? NULL : calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->key = key.key;
	e->stored = true;
	HASH_ADD(hh, p->entries, key, sizeof(e->key), e);
	if (!e->stored) {
		free(e);
		return NULL;
	}
	e->frame.name = name;
	e->frame.parent = above;
	e->frame.depth = above->depth + 1;
	e->frame.next = above->child;
	above->child = &e->frame;
	p->size += sizeof(*e);
	return &e->frame;
}

/* Returns true if the path to this frame has the maximum length. */
static bool is_deep(const struct inv_paths_frame *f)
{
	return f->depth >= INV_PATHS_DEPTH;
}

static struct inv_paths_frame *deeper(struct inv_paths *p,
				      struct inv_paths_frame *above)
{
	return enter(p, above, text_name(p, DEEPER, strlen(DEEPER)));
}

struct inv_paths_frame *inv_paths_enter(struct inv_paths *p,
					struct inv_paths_frame *above,
					const struct inv_mfa *m, bool elixir)
{
	if (!above)
		return NULL;
	return is_deep(above) ? deeper(p, above) :
				enter(p, above, function_name(p, m, elixir));
}

struct inv_paths_frame *inv_paths_enter_text(struct inv_paths *p,
					     struct inv_paths_frame *above,
					     const void *text, size_t len)
{
	if (!above)
		return NULL;
	return is_deep(above) ? deeper(p, above) :
				enter(p, above, text_name(p, text, len));
}

void inv_paths_add(struct inv_paths *p, struct inv_paths_frame *f,
		   uint64_t count, int64_t ns)
{
	uint64_t time = ns > 0 ? (uint64_t)ns : 0;

	if (f) {
		f->count = plus(f->count, count);
		f->self_ns = plus(f->self_ns, time);
		return;
	}
	p->root->others_count = plus(p->root->others_count, count);
	p->root->others_ns = plus(p->root->others_ns, time);
}

/* --- the result ----------------------------------------------------------- */

/* Makes a frame "(others)" for the frames that were evicted below e. */
static int show_others(struct inv_paths *p, struct inv_paths_entry *e)
{
	struct inv_paths_frame *f;

	if (!e->others_count && !e->others_ns)
		return 0;
	f = enter(p, &e->frame, text_name(p, OTHERS, strlen(OTHERS)));
	if (!f)
		return INV_ENOMEM;
	inv_paths_add(p, f, e->others_count, 0);
	f->self_ns = plus(f->self_ns, e->others_ns);
	e->others_count = e->others_ns = 0;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct inv_paths_name *x =
		(*(const struct inv_paths_frame *const *)a)->name;
	const struct inv_paths_name *y =
		(*(const struct inv_paths_frame *const *)b)->name;
	int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);

	if (order)
		return order;
	return x->len < y->len ? -1 : x->len > y->len;
}

static int sort_children(struct inv_paths_frame *f)
{
	struct inv_paths_frame **v;
	size_t n = 0;

	for (struct inv_paths_frame *c = f->child; c; c = c->next)
		n++;
	if (n < 2)
		return 0;
	v = calloc(n, sizeof(struct inv_paths_frame *));
	if (!v)
		return INV_ENOMEM;
	n = 0;
	for (struct inv_paths_frame *c = f->child; c; c = c->next)
		v[n++] = c;
	qsort(v, n, sizeof(struct inv_paths_frame *), by_name);
	f->child = v[0];
	for (size_t i = 0; i < n; i++)
		v[i]->next = i + 1 < n ? v[i + 1] : NULL;
	free(v);
	return 0;
}

static void end_frame(struct inv_paths_frame *f)
{
	f->total_count = plus(f->total_count, f->count);
	f->total_ns = plus(f->total_ns, f->self_ns);
	if (f->parent) {
		f->parent->total_count =
			plus(f->parent->total_count, f->total_count);
		f->parent->total_ns = plus(f->parent->total_ns, f->total_ns);
	}
}

/* Adds up the totals, from the leaves to the root. */
static void sum(struct inv_paths_frame *f)
{
	for (;;) {
		while (f->child)
			f = f->child;
		end_frame(f);
		while (f->parent && !f->next) {
			f = f->parent;
			end_frame(f);
		}
		if (!f->parent)
			return;
		f = f->next;
	}
}

int inv_paths_finish(struct inv_paths *p)
{
	int rc = 0;

	/* The frames "(others)" may take more memory than the bound. */
	p->most = SIZE_MAX;
	rc = show_others(p, p->root);
	for (struct inv_paths_entry *e = p->entries; !rc && e; e = e->hh.next)
		rc = show_others(p, e);
	if (!rc)
		rc = sort_children(&p->root->frame);
	for (struct inv_paths_entry *e = p->entries; !rc && e; e = e->hh.next)
		rc = sort_children(&e->frame);
	if (!rc)
		sum(&p->root->frame);
	return rc;
}

const struct inv_paths_frame *inv_paths_next(const struct inv_paths *p,
					     const struct inv_paths_frame *f)
{
	if (!f)
		return p->root->frame.child;
	if (f->child)
		return f->child;
	while (f && !f->next)
		f = f->parent;
	return f ? f->next : NULL;
}

uint64_t inv_paths_count(const struct inv_paths *p)
{
	return HASH_COUNT(p->entries);
}

uint32_t inv_paths_names(const struct inv_paths *p)
{
	return HASH_COUNT(p->words);
}

void inv_paths_list(const struct inv_paths *p, const struct inv_paths_name **v)
{
	for (struct inv_paths_word *w = p->words; w; w = w->hh.next)
		v[w->name.number] = &w->name;
}
