/* SPDX-License-Identifier: Apache-2.0 */
#include "log/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/uthash.h"
#include "log/record.h"
#include "term/cursor.h"
#include "term/print.h"

struct pid_key {
	uint64_t number;
	uint64_t serial;
};

struct pid_names {
	struct pid_key key;
	bool stored;
	struct inv_name *first;
	struct inv_name **last;
	UT_hash_handle hh;
};

/* A name that a process still has, because no unalias entry for it was read. */
struct holding {
	struct pid_names *pid;
	struct inv_name *name;
	struct holding *next;
};

struct alias {
	char *text;
	uint8_t *etf; /* external format of the name. Several terms can print
			 as `text'; this is the one that was read first */
	size_t etf_len;
	uint32_t len;
	bool stored;
	struct holding *open; /* the processes that still have this name */
	UT_hash_handle hh;
};

struct inv_names {
	struct pid_names *pids;
	struct alias *aliases;
};

struct inv_names *inv_names_new(void)
{
	return calloc(1, sizeof(struct inv_names));
}

/* HASH_CLEAR frees only the hash table. The entries are still a linked list,
 * and are freed one by one. */
static void free_pids(struct inv_names *n)
{
	struct pid_names *p = n->pids;

	HASH_CLEAR(hh, n->pids);
	while (p) {
		struct pid_names *next = p->hh.next;

		while (p->first) {
			struct inv_name *name = p->first;

			p->first = name->next;
			free(name);
		}
		free(p);
		p = next;
	}
}

static void free_alias(struct alias *a)
{
	while (a->open) {
		struct holding *next = a->open->next;

		free(a->open);
		a->open = next;
	}
	free(a->text);
	free(a->etf);
	free(a);
}

void inv_names_free(struct inv_names *n)
{
	struct alias *a;

	if (!n)
		return;
	free_pids(n);
	a = n->aliases;
	HASH_CLEAR(hh, n->aliases);
	while (a) {
		struct alias *next = a->hh.next;

		free_alias(a);
		a = next;
	}
	free(n);
}

static struct pid_names *find_pid(const struct inv_names *n,
				  const struct pid_key *key)
{
	struct pid_names *p;

	HASH_FIND(hh, n->pids, key, sizeof(*key), p);
	return p;
}

static struct pid_names *make_pid(struct inv_names *n,
				  const struct pid_key *key)
{
	struct pid_names *p = find_pid(n, key);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key = *key;
	p->last = &p->first;
	p->stored = true;
	HASH_ADD(hh, n->pids, key, sizeof(p->key), p);
	if (!p->stored) {
		free(p);
		return NULL;
	}
	return p;
}

/* A record of a ti file. */
struct entry {
	bool has_pid;
	struct pid_key pid;
	bool is_alias;
	const uint8_t *alias; /* points into the record */
	size_t alias_len;
	int64_t ts_ns;
};

static struct alias *make_alias(struct inv_names *n, const struct inv_buf *text,
				const struct entry *e)
{
	struct alias *a;

	HASH_FIND(hh, n->aliases, text->data, text->len, a);
	if (a)
		return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->text = malloc(text->len + 1);
	a->etf = malloc(e->alias_len);
	if (a->text && a->etf) {
		memcpy(a->etf, e->alias, e->alias_len);
		a->etf_len = e->alias_len;
		memcpy(a->text, text->data, text->len);
		a->text[text->len] = 0;
		a->len = (uint32_t)text->len;
		a->stored = true;
		HASH_ADD_KEYPTR(hh, n->aliases, a->text, a->len, a);
	}
	if (!a->stored) {
		free_alias(a);
		return NULL;
	}
	return a;
}

/* --- entries -------------------------------------------------------------- */

static int add_name(struct inv_names *n, struct alias *a, const struct entry *e)
{
	struct pid_names *p = make_pid(n, &e->pid);
	struct inv_name *name = calloc(1, sizeof(*name));
	struct holding *h = calloc(1, sizeof(*h));

	if (!p || !name || !h) {
		free(name);
		free(h);
		return INV_ENOMEM;
	}
	name->text = a->text;
	name->len = a->len;
	name->etf = a->etf;
	name->etf_len = a->etf_len;
	name->from_ns = e->ts_ns;
	name->until_ns = INT64_MAX;
	*p->last = name;
	p->last = &name->next;
	h->pid = p;
	h->name = name;
	h->next = a->open;
	a->open = h;
	return 0;
}

static void end_names(struct alias *a, const struct entry *e)
{
	struct holding **at = &a->open;

	while (*at) {
		struct holding *h = *at;

		if (e->ts_ns > h->name->from_ns &&
		    (!e->has_pid ||
		     !memcmp(&e->pid, &h->pid->key, sizeof(e->pid)))) {
			h->name->until_ns = e->ts_ns;
			*at = h->next;
			free(h);
		} else {
			at = &h->next;
		}
	}
}

static bool now(struct inv_cursor *c, int64_t *ns)
{
	int64_t v[3];
	uint32_t arity;

	if (inv_cursor_tuple(c, &arity) || arity != 3)
		return false;
	for (int i = 0; i < 3; i++)
		if (inv_cursor_int(c, &v[i]) || v[i] < 0 || v[i] > 1000000000)
			return false;
	return !__builtin_mul_overflow(v[0] * 1000000 + v[1],
				       INT64_C(1000000000), ns) &&
	       !__builtin_add_overflow(*ns, v[2] * 1000, ns);
}

static bool parse(struct inv_cursor *c, struct entry *e, struct inv_buf *text,
		  const struct inv_print_opts *w)
{
	struct inv_token tok;
	uint32_t arity;

	memset(e, 0, sizeof(*e));
	inv_buf_reset(text);
	if (inv_cursor_tuple(c, &arity) || arity != 4 ||
	    inv_cursor_next(c, &tok))
		return false;
	e->has_pid = tok.kind == INV_TOK_PID;
	if (e->has_pid) {
		e->pid.number = tok.id[0];
		e->pid.serial = tok.id[1];
	}
	if (inv_cursor_skip_rest(c, &tok))
		return false;
	e->alias = c->begin + inv_cursor_offset(c);
	if (inv_term_print(c, text, w) || text->error)
		return false;
	e->alias_len = (size_t)(c->begin + inv_cursor_offset(c) - e->alias);
	if (inv_cursor_next(c, &tok))
		return false;
	e->is_alias = inv_token_is(&tok, "alias");
	if ((!e->is_alias && !inv_token_is(&tok, "unalias")) ||
	    (e->is_alias && !e->has_pid))
		return false;
	return now(c, &e->ts_ns);
}

static int add_entry(struct inv_names *n, const struct entry *e,
		     const struct inv_buf *text)
{
	struct alias *a = make_alias(n, text, e);

	if (!a)
		return INV_ENOMEM;
	if (e->is_alias)
		return add_name(n, a, e);
	end_names(a, e);
	return 0;
}

int inv_names_read(struct inv_names *n, const struct inv_source *src,
		   unsigned otp, struct inv_notices *ns)
{
	const struct inv_print_opts w = { .style = INV_PRINT_W,
					  .unicode = true,
					  .otp = otp };
	struct inv_cursor *c = malloc(sizeof(*c));
	struct inv_buf text = { 0 };
	struct inv_window win;
	struct inv_record f;
	struct entry e;
	uint64_t off = 0;
	int rc = inv_window_init(&win, src, INV_RECORD_WINDOW);

	if (!c)
		rc = INV_ENOMEM;
	while (!rc && !(rc = inv_record_next(&win, &off, ns, &f))) {
		if (!f.term)
			continue;
		inv_cursor_init(c, INV_ENC_ETF, NULL, f.term, f.term_len);
		if (parse(c, &e, &text, &w))
			rc = add_entry(n, &e, &text);
		else
			inv_record_bad_term(&win, &off, ns, &f);
	}
	inv_window_release(&win);
	inv_buf_release(&text);
	free(c);
	return rc < 0 ? rc : 0;
}

const struct inv_name *inv_names_find(const struct inv_names *n, uint64_t pid,
				      uint64_t serial)
{
	const struct pid_key key = { pid, serial };
	const struct pid_names *p = find_pid(n, &key);

	return p ? p->first : NULL;
}
