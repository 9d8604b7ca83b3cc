/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library of the module inviso_tracer: its functions and its life cycle.
 *
 * Loading the same file a second time, over running tracers, gives the same
 * static data under a second instance: the first to load makes it, the last
 * to unload ends it.
 */
#include <erl_nif.h>
#include <string.h>

#include "abi/ring.h"
#include "nif/atoms.h"
#include "nif/control.h"
#include "nif/event.h"
#include "nif/gone.h"
#include "nif/hold.h"
#include "nif/scalar.h"
#include "nif/thread.h"
#include "nif/tracer.h"

static unsigned instances; /* load and unload do not run side by side */

/* Where this library came from: the spooler lies beside it. */
static char dir[INV_PATH_LEN];
static size_t dir_len;

static ERL_NIF_TERM get_dir(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM term;

	(void)argc;
	(void)argv;
	memcpy(enif_make_new_binary(env, dir_len, &term), dir, dir_len);
	return term;
}

static int init_dir(ErlNifEnv *env, ERL_NIF_TERM term)
{
	ErlNifBinary bin;

	if (!enif_inspect_binary(env, term, &bin) || bin.size > sizeof(dir))
		return -1;
	memcpy(dir, bin.data, bin.size);
	dir_len = bin.size;
	return 0;
}

static int init_threads(ErlNifEnv *env, ERL_NIF_TERM threads)
{
	const ERL_NIF_TERM *n;
	unsigned count[3];
	int arity;
	int i;

	if (!enif_get_tuple(env, threads, &arity, &n) || arity != 3)
		return -1;
	for (i = 0; i < 3; i++)
		if (!enif_get_uint(env, n[i], &count[i]))
			return -1;
	inv_threads_init(count[0], count[1], count[2]);
	return 0;
}

/* load_info: {{Schedulers, DirtyCpu, DirtyIo}, Dir} */
static int load(ErlNifEnv *env, void **priv, ERL_NIF_TERM load_info)
{
	const ERL_NIF_TERM *info;
	int arity;

	(void)priv;
	if (!enif_get_tuple(env, load_info, &arity, &info) || arity != 2)
		return -1;
	if (instances == 0 && init_threads(env, info[0]) != 0)
		return -1;
	if (init_dir(env, info[1]) != 0)
		return -1;
	if (inv_tracers_load(env) != 0)
		return -1;
	inv_atoms_init(env);
	inv_gone_init();
	inv_encode_init(env);
	inv_scalar_init();
	instances++;
	return 0;
}

static int upgrade(ErlNifEnv *env, void **priv, void **old_priv,
		   ERL_NIF_TERM load_info)
{
	(void)old_priv;
	return load(env, priv, load_info);
}

static void unload(ErlNifEnv *env, void *priv)
{
	(void)env;
	(void)priv;
	if (--instances > 0)
		return;
	inv_hold_end();
	if (inv_tracers_unload())
		inv_scalar_end();
}

static ErlNifFunc functions[] = {
	{ "enabled", 3, inv_event_enabled, 0 },
	{ "trace", 5, inv_event_trace, 0 },
	{ "dir", 0, get_dir, 0 },
	{ "nif_open", 2, inv_control_open, ERL_NIF_DIRTY_JOB_IO_BOUND },
	{ "nif_offer", 1, inv_control_offer, 0 },
	{ "nif_give", 1, inv_control_give, ERL_NIF_DIRTY_JOB_IO_BOUND },
	{ "nif_keeper", 1, inv_control_keeper, 0 },
	{ "nif_info", 1, inv_control_info, 0 },
	{ "nif_begin", 1, inv_control_begin, 0 },
	{ "nif_spool", 1, inv_control_spool, 0 },
	{ "nif_anchor", 1, inv_control_anchor, 0 },
	{ "nif_flush", 1, inv_control_flush, 0 },
	{ "nif_filter", 6, inv_control_filter, ERL_NIF_DIRTY_JOB_CPU_BOUND },
	{ "nif_retire", 1, inv_control_retire, 0 },
	{ "nif_quiet", 1, inv_control_quiet, 0 },
	{ "nif_end", 2, inv_control_end, 0 },
	{ "nif_free", 1, inv_control_free, ERL_NIF_DIRTY_JOB_IO_BOUND },
	{ "nif_hold", 1, inv_hold, ERL_NIF_DIRTY_JOB_IO_BOUND },
	{ "nif_gone", 0, inv_gone_count, 0 },
	{ "nif_settle", 0, inv_gone_settle, 0 },
	{ "nif_deliver", 4, inv_control_deliver, 0 },
	{ "nif_credit", 3, inv_control_credit, 0 },
	{ "nif_counts", 1, inv_control_counts, 0 },
};

/*
 * What is compiled with the header of a newer release must load on the oldest
 * that we support, whose functions are all that we use.
 */
#undef ERL_NIF_MINOR_VERSION
#define ERL_NIF_MINOR_VERSION 16
#undef ERL_NIF_MIN_ERTS_VERSION
#define ERL_NIF_MIN_ERTS_VERSION "erts-13.0"

ERL_NIF_INIT(inviso_tracer, functions, load, NULL, upgrade, unload)
