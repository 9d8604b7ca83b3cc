/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "log/filter_int.h"

static int no_memory(struct inv_err *err)
{
	return inv_err_set(err, INV_ENOMEM, "no memory");
}

int inv_filter_init(struct inv_filter *f)
{
	memset(f, 0, sizeof(*f));
	f->from_ns = INT64_MIN;
	f->until_ns = INT64_MAX;
	f->cursor = malloc(sizeof(*f->cursor));
	return f->cursor ? 0 : INV_ENOMEM;
}

void inv_filter_release(struct inv_filter *f)
{
	for (size_t i = 0; i < f->n_pids; i++)
		free(f->pids[i].node);
	for (size_t i = 0; i < f->n_mfas; i++)
		inv_filter_mfa_release(&f->mfas[i]);
	free(f->pids);
	free(f->mfas);
	free(f->cursor);
	memset(f, 0, sizeof(*f));
}

void inv_filter_time(struct inv_filter *f, int64_t from_ns, int64_t until_ns)
{
	f->from_ns = from_ns;
	f->until_ns = until_ns;
	f->active = true;
}

int inv_filter_add_pid(struct inv_filter *f, const char *text,
		       struct inv_err *err)
{
	struct inv_filter_pid *more =
		realloc(f->pids, (f->n_pids + 1) * sizeof(*more));
	int rc;

	if (!more)
		return no_memory(err);
	f->pids = more;
	rc = inv_filter_pid_parse(&f->pids[f->n_pids], text, err);
	if (rc)
		return rc;
	f->n_pids++;
	f->active = true;
	return 0;
}

int inv_filter_add_mfa(struct inv_filter *f, const char *text,
		       struct inv_err *err)
{
	struct inv_filter_mfa *more;
	int rc;

	if (f->n_mfas == INV_FILTER_MFAS)
		return inv_err_set(err, INV_EINVAL,
				   "%s: more than %u functions", text,
				   INV_FILTER_MFAS);
	more = realloc(f->mfas, (f->n_mfas + 1) * sizeof(*more));
	if (!more)
		return no_memory(err);
	f->mfas = more;
	rc = inv_filter_mfa_parse(&f->mfas[f->n_mfas], text, err);
	if (rc)
		return rc;
	f->n_mfas++;
	f->active = true;
	return 0;
}

/* Sets an error message for an unknown tag, with a list of all known tags. */
static int unknown_tag(const char *text, size_t n, struct inv_err *err)
{
	char all[560];
	size_t at = 0;

	for (unsigned i = 1; i < INV_TAG_COUNT + INV_SYSTEM_COUNT; i++) {
		size_t len;
		const char *name =
			i < INV_TAG_COUNT ?
				inv_tag_text(i, &len) :
				inv_system_text(i - INV_TAG_COUNT, &len);

		if (!name || len + 2 >= sizeof(all) - at)
			continue;
		if (at) {
			all[at++] = ',';
			all[at++] = ' ';
		}
		memcpy(all + at, name, len);
		at += len;
	}
	return inv_err_set(err, INV_EINVAL,
			   "%.*s: no such tag; the tags are %.*s", (int)n, text,
			   (int)at, all);
}

int inv_filter_add_tags(struct inv_filter *f, const char *text,
			struct inv_err *err)
{
	for (;;) {
		size_t n = strcspn(text, ",");
		unsigned tag = inv_tag_number(text, n);
		unsigned system = inv_system_number(text, n);

		if (tag && tag < INV_TAG_COUNT)
			f->tags[tag] = true;
		else if (system < INV_SYSTEM_COUNT)
			f->system[system] = true;
		else
			return unknown_tag(text, n, err);
		f->by_tag = f->active = true;
		if (!text[n])
			return 0;
		text += n + 1;
	}
}

/* --- testing an item ------------------------------------------------------ */

/* Each of these functions returns 1 if the item satisfies a condition, 0 if it
 * does not, or an error of inv_cursor_next. */

static int one_of_pids(const struct inv_filter *f, const struct inv_node *node,
		       const struct inv_token *tok)
{
	for (size_t i = 0; i < f->n_pids; i++) {
		const struct inv_filter_pid *x = &f->pids[i];

		if (tok->kind == (x->is_port ? INV_TOK_PORT : INV_TOK_PID) &&
		    !tok->node && tok->id[0] == x->number &&
		    (x->is_port || tok->id[1] == x->serial) &&
		    (!x->node || !strcmp(x->node, node->name)))
			return 1;
	}
	return 0;
}

/* Tests the elements From and To of the payload of a seq_trace event, {Kind,
 * Serial, From, To, Message}. */
static int pid_of_seq(const struct inv_filter *f, const struct inv_item *it)
{
	struct inv_cursor *c = f->cursor;
	struct inv_token tok;
	int rc = inv_event_payload(&it->ev, c);

	if (!rc)
		rc = inv_cursor_next(c, &tok);
	if (rc || tok.kind != INV_TOK_TUPLE || tok.count != 5)
		return rc;
	rc = inv_cursor_skip(c);
	if (!rc)
		rc = inv_cursor_skip(c);
	for (int i = 0; !rc && i < 2; i++) {
		rc = inv_cursor_next(c, &tok);
		if (!rc && one_of_pids(f, it->node, &tok))
			return 1;
		if (!rc)
			rc = inv_cursor_skip_rest(c, &tok);
	}
	return rc;
}

/*
 * Sets *arity from the third element of {M,F,A}, whose first token is `first'.
 * The element is the arity or the list of arguments. If it is neither, *arity
 * becomes -1.
 */
static int arity_of(struct inv_cursor *c, const struct inv_token *first,
		    int64_t *arity)
{
	struct inv_token tok = *first;
	int rc = 0;

	*arity = -1;
	if (inv_token_i64(&tok, arity))
		return 0;
	if (tok.kind == INV_TOK_NIL)
		*arity = 0;
	else if (tok.kind == INV_TOK_STRING)
		*arity = (int64_t)(tok.len + (tok.cut ? tok.left : 0));
	if (tok.kind != INV_TOK_LIST)
		return 0;
	for (*arity = 0;; ++*arity) {
		rc = inv_cursor_next(c, &tok);
		if (rc || tok.kind == INV_TOK_END)
			return rc;
		if (tok.kind == INV_TOK_CUT && tok.left <= INT32_MAX)
			*arity += (int64_t)tok.left - 1;
		rc = inv_cursor_skip_rest(c, &tok);
		if (rc)
			return rc;
	}
}

/* Returns 1 if at least one condition in `mask' has this arity. Bit i of `mask'
 * stands for condition i. */
static int one_of_arities(const struct inv_filter *f, uint64_t mask,
			  int64_t arity)
{
	for (size_t i = 0; i < f->n_mfas; i++)
		if (mask >> i & 1 && f->mfas[i].arity == arity)
			return 1;
	return 0;
}

static bool is_named(const struct inv_token *tok, const char *name, bool glob)
{
	return glob ? inv_glob(name, (const char *)tok->bytes, tok->len) :
		      inv_token_is(tok, name);
}

/* Returns `mask' without the conditions that the atom `tok' does not match. The
 * atom is the event's function if `function' is true, otherwise its module.
 * Sets *whole to true if a remaining condition needs no further test: a
 * condition without a function needs only the test of the module, and a
 * condition without an arity needs only the tests of module and function. */
static uint64_t narrow(const struct inv_filter *f, uint64_t mask,
		       const struct inv_token *tok, bool function, bool *whole)
{
	for (size_t i = 0; i < f->n_mfas; i++) {
		const struct inv_filter_mfa *m = &f->mfas[i];

		if (!(mask >> i & 1))
			continue;
		if (!is_named(tok, function ? m->function : m->module,
			      function ? m->any_function : m->any_module))
			mask &= ~(UINT64_C(1) << i);
		else if (function ? m->arity < 0 : !m->function)
			*whole = true;
	}
	return mask;
}

/* Tests the next term of the cursor, {M,F,Arity} or {M,F,Args}. */
static int one_of_mfas(const struct inv_filter *f)
{
	struct inv_cursor *c = f->cursor;
	uint64_t mask = UINT64_MAX;
	bool whole = false;
	struct inv_token tok;
	int64_t arity;
	int rc = inv_cursor_next(c, &tok);

	if (rc || tok.kind != INV_TOK_TUPLE || tok.count != 3)
		return rc;
	for (int i = 0; i < 2; i++) {
		rc = inv_cursor_next(c, &tok);
		if (rc || tok.kind != INV_TOK_ATOM)
			return rc;
		mask = narrow(f, mask, &tok, i == 1, &whole);
		if (whole)
			return 1;
		if (!mask)
			return 0;
	}
	rc = inv_cursor_next(c, &tok);
	if (!rc)
		rc = arity_of(c, &tok, &arity);
	return rc ? rc : one_of_arities(f, mask, arity);
}

static bool by_pid(const struct inv_filter *f, const struct inv_item *it)
{
	struct inv_token tok;
	int rc;

	if (it->ev.bare)
		return false;
	rc = inv_event_tracee(&it->ev, f->cursor, &tok);
	if (!rc)
		rc = it->ev.tag == INV_TAG_SEQ_TRACE ?
			     pid_of_seq(f, it) :
			     one_of_pids(f, it->node, &tok);
	return rc != 0;
}

static bool by_mfa(const struct inv_filter *f, const struct inv_item *it)
{
	struct inv_token tok;
	int rc;

	if (it->ev.bare || it->ev.tag == INV_TAG_SEQ_TRACE)
		return false;
	rc = inv_event_tracee(&it->ev, f->cursor, &tok);
	if (!rc)
		rc = inv_event_payload(&it->ev, f->cursor);
	/* {trace, Pid, spawn, Pid2, {M,F,Args}}: skips Pid2 */
	if (!rc &&
	    (it->ev.tag == INV_TAG_SPAWN || it->ev.tag == INV_TAG_SPAWNED))
		rc = inv_cursor_skip(f->cursor);
	if (!rc)
		rc = one_of_mfas(f);
	return rc != 0;
}

static bool by_tag(const struct inv_filter *f, const struct inv_event *ev)
{
	unsigned system;

	if (ev->tag < INV_TAG_COUNT)
		return f->tags[ev->tag];
	system = inv_event_system(ev);
	return system < INV_SYSTEM_COUNT && f->system[system];
}

bool inv_filter_wants(const struct inv_filter *f, const struct inv_item *it)
{
	if (it->kind == INV_ITEM_LOSS)
		return true;
	if (inv_item_recorded_ns(it) < f->from_ns ||
	    inv_item_recorded_ns(it) >= f->until_ns)
		return false;
	if (f->by_tag && !by_tag(f, &it->ev))
		return false;
	if (f->n_pids && !by_pid(f, it))
		return false;
	return !f->n_mfas || by_mfa(f, it);
}
