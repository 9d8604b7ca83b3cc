/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/event_filter.h"

#include <string.h>

#include "base/glob.h"
#include "nif/atoms.h"
#include "nif/ident.h"
#include "nif/memory.h"
#include "nif/thread.h"

#define ETF_MAGIC 131

/* --- making a filter: called by processes ------------------------------ */

/*
 * Makes the constants of a program, in an environment that lives as long as the
 * filter. Callbacks build terms that contain these constants. The constants
 * live longer than such terms: a callback ends before the filter is freed.
 */
static int load_consts(struct inv_event_filter *f,
		       const struct inv_match_prog *p,
		       const struct inv_filter_node *node)
{
	struct inv_vm_const *consts;
	struct inv_buf b = { 0 };
	ERL_NIF_TERM t;
	int rc = 0;

	consts = inv_memory_alloc((p->n_consts + 1) * sizeof(*consts));
	f->match.consts = consts;
	if (!consts)
		return INV_ENOMEM;
	for (uint32_t i = 0; i < p->n_consts && !rc; i++) {
		inv_buf_reset(&b);
		rc = inv_tree_etf(p->consts[i], node->name, node->creation, &b);
		if (!rc &&
		    !enif_binary_to_term(f->match.env, b.data, b.len, &t, 0))
			rc = INV_EDAMAGED;
		if (rc)
			break;
		inv_vm_const_init(&consts[i], f->match.env, t);
		consts[i].copy = false;
	}
	inv_buf_release(&b);
	return rc;
}

static int load(struct inv_event_filter *f, const struct inv_event_match *m,
		const struct inv_filter_node *node, struct inv_err *err)
{
	const struct inv_match_prog *p = &m->match.prog;
	size_t size = p->n_code * sizeof(*p->code);
	uint32_t *code;

	if (p->n_code > INV_FILTER_CODE)
		return inv_err_set(err, INV_ETOOBIG,
				   "it takes %u instructions; a filter in a "
				   "node may have %u",
				   p->n_code, INV_FILTER_CODE);
	f->prog = *p;
	f->prog.code = code = inv_memory_alloc(size);
	f->prog.consts = NULL;
	f->prog.names = NULL;
	f->prog.quirks = inv_match_quirks(node->otp);
	f->match.env = enif_alloc_env();
	/* A whole number of cache lines for each thread, so that threads do not
	 * write to the same line. */
	f->room = (inv_vm_room(p) + INV_CACHE_LINE) & -(size_t)INV_CACHE_LINE;
	f->rooms = inv_memory_alloc(f->room * inv_threads_count());
	if (!code || !f->match.env || !f->rooms)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	memcpy(code, p->code, size);
	f->match.prog = &f->prog;
	f->match.atoms[INV_AM_TRUE] = inv_am_true;
	f->match.atoms[INV_AM_FALSE] = inv_am_false;
	f->match.atoms[INV_AM_EXIT] = inv_am_EXIT;
	f->match.atoms[INV_AM_UNDEFINED] = inv_am_undefined;
	f->match.node = node->atom;
	f->by_tag = m->by_tag;
	memcpy(f->tags, m->tags, sizeof(f->tags));
	memcpy(f->module_glob, m->module_glob, sizeof(f->module_glob));
	memcpy(f->function_glob, m->function_glob, sizeof(f->function_glob));
	if (load_consts(f, p, node))
		return inv_err_set(err, INV_EINVAL,
				   "it has a term that this node cannot make, "
				   "such as a fun");
	return 0;
}

int inv_event_filter_make(struct inv_event_filter **made, const uint8_t *bytes,
			  size_t len, const struct inv_filter_node *node,
			  struct inv_err *err)
{
	struct inv_event_filter *f = inv_memory_alloc(sizeof(*f));
	struct inv_event_match *m = inv_memory_alloc(sizeof(*m));
	int rc = INV_ENOMEM;

	if (!f || !m)
		inv_err_set(err, rc, "no memory");
	else if (bytes[0] == ETF_MAGIC)
		rc = inv_event_match_etf(m, bytes, len, err);
	else if (memchr(bytes, 0, len))
		rc = inv_err_set(err, INV_EINVAL, "it has a NUL");
	else
		rc = inv_event_match_text(m, (const char *)bytes, err);
	if (!rc)
		rc = load(f, m, node, err);
	if (m)
		inv_event_match_release(m);
	inv_memory_free(m);
	if (rc) {
		inv_event_filter_free(f);
		return rc;
	}
	*made = f;
	return 0;
}

void inv_event_filter_free(struct inv_event_filter *f)
{
	if (!f)
		return;
	if (f->match.env)
		enif_free_env(f->match.env);
	inv_memory_free((void *)(uintptr_t)f->match.consts);
	inv_memory_free((void *)(uintptr_t)f->prog.code);
	inv_memory_free(f->rooms);
	inv_memory_free(f);
}

/* --- running a filter: called by callbacks ----------------------------- */

/* Runs an action of the match spec. The only fact about the traced process that
 * a filter knows is its pid. */
static int act(struct inv_vm_run *r, enum inv_match_act a,
	       const struct inv_val *top, uint32_t n, struct inv_val *out)
{
	const struct inv_event_words *w = r->arg;

	(void)top;
	(void)n;
	switch (a) {
	case INV_MACT_SELF:
		*out = inv_val_term(w->v[0]);
		return 0;
	case INV_MACT_DISPLAY:
	case INV_MACT_SILENT:
		return 0;
	default:
		return INV_EUNKNOWN;
	}
}

static enum inv_wanted run(struct inv_vm_run *r,
			   const struct inv_event_words *w, unsigned n)
{
	r->steps = INV_FILTER_STEPS;
	if (inv_vm_match_run(r, w->v, n))
		return INV_WANTED_UNDECIDED;
	return r->matched && r->result != inv_am_false ? INV_WANTED_YES :
							 INV_WANTED_NO;
}

static bool is_like(ErlNifEnv *env, const char *glob, ERL_NIF_TERM atom)
{
	uint8_t name[INV_IDENT_NAME];
	uint32_t len;

	return !*glob || (inv_ident_name(env, atom, name, &len) &&
			  inv_glob(glob, (const char *)name, len));
}

/* Returns true if the names of module and function in {M,F,Args} match the
 * wildcard patterns. */
static bool names_fit(const struct inv_event_filter *f,
		      const struct inv_event_words *w)
{
	const ERL_NIF_TERM *mfa;
	int arity;

	return (!*f->module_glob && !*f->function_glob) ||
	       (w->n >= 3 && enif_get_tuple(w->env, w->v[2], &arity, &mfa) &&
		arity == 3 && is_like(w->env, f->module_glob, mfa[0]) &&
		is_like(w->env, f->function_glob, mfa[1]));
}

enum inv_wanted inv_event_filter_run(const struct inv_event_filter *f,
				     uint32_t thread,
				     const struct inv_event_words *w)
{
	enum inv_wanted without = INV_WANTED_NO;
	enum inv_wanted with;
	struct inv_vm_run r;

	if (!names_fit(f, w))
		return INV_WANTED_NO;
	r.env = w->env;
	r.match = &f->match;
	r.act = act;
	r.arg = (void *)(uintptr_t)w;
	r.tcw = 0;
	inv_vm_use(&r, &f->prog, f->rooms + thread * f->room);
	/* If the match spec of the traced function has a result, it is the last
	 * element of the event. The user may have written the filter for events
	 * with this element or without it, so both are tried. */
	if (w->has_result)
		without = run(&r, w, w->n - 1);
	if (without == INV_WANTED_YES)
		return without;
	with = run(&r, w, w->n);
	return with == INV_WANTED_NO ? without : with;
}
