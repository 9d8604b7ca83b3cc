/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements test/4 of test/ct/inviso_match_vm.erl: runs a match spec on terms
 * of the VM. The spec is compiled from the external term format, as in the
 * command, and then run by the interpreter that the NIF has in c_src/nif.
 */
#include <stdlib.h>
#include <string.h>

#include "match/match.h"
#include "nif/match_vm.h"

#define ARGS 255

static struct inv_cursor cursor;
static struct inv_vm_run run; /* shared by all calls, because the suite makes
				 one call at a time */
static inv_word words[1 << 17];

static ERL_NIF_TERM code(ErlNifEnv *env, int rc)
{
	return enif_make_tuple2(env, enif_make_atom(env, "cannot"),
				enif_make_int(env, rc));
}

/* Performs an action as erlang:match_spec_test/3 does. If the action asks about
 * a process, this is the calling process. */
static int act(struct inv_vm_run *r, enum inv_match_act a,
	       const struct inv_val *top, uint32_t n, struct inv_val *out)
{
	ErlNifPid self;

	(void)top;
	(void)n;
	switch (a) {
	case INV_MACT_SELF:
		enif_self(r->env, &self);
		*out = inv_val_term(enif_make_pid(r->env, &self));
		return 0;
	case INV_MACT_IS_SEQ_TRACE:
		*out = inv_val_term(r->match->atoms[INV_AM_FALSE]);
		return 0;
	case INV_MACT_GET_SEQ_TOKEN:
		*out = inv_val_term(enif_make_list(r->env, 0));
		return 0;
	case INV_MACT_CALLER:
	case INV_MACT_CALLER_LINE:
		*out = inv_val_term(r->match->atoms[INV_AM_UNDEFINED]);
		return 0;
	case INV_MACT_SILENT:
	case INV_MACT_DISPLAY:
		return 0;
	default:
		return INV_EUNKNOWN;
	}
}

/* Makes the program's constants as terms of `env'. The caller must keep `env'
 * until the run has ended. */
static int load_consts(const struct inv_match_prog *p, ErlNifEnv *env,
		       struct inv_vm_const *consts)
{
	struct inv_buf b = { 0 };
	ERL_NIF_TERM t;
	int rc = 0;

	for (uint32_t i = 0; i < p->n_consts && !rc; i++) {
		inv_buf_reset(&b);
		rc = inv_tree_etf(p->consts[i], NULL, 0, &b);
		if (!rc && !enif_binary_to_term(env, b.data, b.len, &t, 0))
			rc = INV_EDAMAGED;
		if (!rc)
			inv_vm_const_init(&consts[i], env, t);
	}
	inv_buf_release(&b);
	return rc;
}

static ERL_NIF_TERM answer(ErlNifEnv *env)
{
	ERL_NIF_TERM flags = enif_make_list(env, 0);

	if (run.flags & INV_MATCH_EXCEPTION_TRACE)
		flags = enif_make_list_cell(
			env, enif_make_atom(env, "exception_trace"), flags);
	if (run.flags & INV_MATCH_RETURN_TRACE)
		flags = enif_make_list_cell(
			env, enif_make_atom(env, "return_trace"), flags);
	return enif_make_tuple3(env, enif_make_atom(env, "ok"), run.result,
				flags);
}

static ERL_NIF_TERM run_over(ErlNifEnv *env, const struct inv_match_prog *p,
			     ERL_NIF_TERM node, ERL_NIF_TERM list)
{
	struct inv_vm_match m = { .prog = p, .node = node };
	static const char end[] = "the end of its memory";
	struct inv_vm_const *consts;
	ERL_NIF_TERM args[ARGS];
	unsigned n = 0;
	char *room;
	int rc;

	m.atoms[INV_AM_TRUE] = enif_make_atom(env, "true");
	m.atoms[INV_AM_FALSE] = enif_make_atom(env, "false");
	m.atoms[INV_AM_EXIT] = enif_make_atom(env, "EXIT");
	m.atoms[INV_AM_UNDEFINED] = enif_make_atom(env, "undefined");
	while (n < ARGS && enif_get_list_cell(env, list, &args[n], &list))
		n++;
	consts = enif_alloc((p->n_consts + 1) * sizeof(*consts));
	m.env = enif_alloc_env();
	m.consts = consts;
	room = enif_alloc(inv_vm_room(p) + sizeof(end));
	memcpy(room + inv_vm_room(p), end, sizeof(end));
	rc = load_consts(p, m.env, consts);
	if (!rc) {
		inv_vm_use(&run, p, room);
		run.env = env;
		run.match = &m;
		run.act = act;
		run.steps = 1000000;
		rc = inv_vm_match_run(&run, args, n);
	}
	if (memcmp(room + inv_vm_room(p), end, sizeof(end)) != 0)
		abort();
	enif_free(room);
	enif_free_env(m.env);
	enif_free(consts);
	return rc ? code(env, rc) : answer(env);
}

/* Implements test(OtpRelease, node(), term_to_binary(Spec), Args). */
static ERL_NIF_TERM test(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	struct inv_heap heap = { .w = words,
				 .cap = sizeof(words) / sizeof(*words) };
	struct inv_match match;
	struct inv_err err;
	ErlNifBinary bin;
	ERL_NIF_TERM result;
	inv_word spec;
	int otp, rc;

	(void)argc;
	if (!enif_get_int(env, argv[0], &otp) ||
	    !enif_inspect_binary(env, argv[2], &bin))
		return enif_make_badarg(env);
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, bin.data, bin.size);
	rc = inv_tree_read(&heap, &cursor, &spec);
	if (rc)
		return code(env, rc);
	rc = inv_match_make(&match, spec, (unsigned)otp, INV_MATCH_CALL, &err);
	if (rc == INV_EINVAL)
		result = enif_make_atom(env, "error");
	else if (rc)
		result = code(env, rc);
	else
		result = run_over(env, &match.prog, argv[1], argv[3]);
	inv_match_release(&match);
	return result;
}

static ErlNifFunc functions[] = { { "test", 4, test, 0 } };

ERL_NIF_INIT(inviso_match_vm, functions, NULL, NULL, NULL, NULL)
