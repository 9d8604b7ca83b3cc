/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/nif.h"

#include "nif/atoms.h"
#include "nif/dir.h"
#include "nif/hold.h"
#include "nif/redact.h"
#include "nif/retire.h"
#include "nif/scalar.h"
#include "nif/small.h"
#include "nif/thread.h"
#include "nif/tracer.h"

static unsigned instances; /* needs no lock, because load and unload never run
			      in parallel */

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
	inv_thread_clock_init();
	return 0;
}

int inv_nif_load(ErlNifEnv *env, void **priv, ERL_NIF_TERM load_info)
{
	const ERL_NIF_TERM *info;
	int arity;

	(void)priv;
	if (!enif_get_tuple(env, load_info, &arity, &info) || arity != 3)
		return -1;
	if (instances == 0 && init_threads(env, info[0]) != 0)
		return -1;
	if (inv_dir_load(env, info[1]) != 0 || inv_tracers_load(env) != 0) {
		if (instances == 0)
			inv_dir_end();
		return -1;
	}
	inv_atoms_init(env);
	inv_retire_init();
	inv_encode_init(env);
	inv_small_init(env);
	inv_redaction_init(env);
	inv_scalar_init();
	instances++;
	return 0;
}

void inv_nif_unload(ErlNifEnv *env, void *priv)
{
	(void)env;
	(void)priv;
	if (--instances > 0)
		return;
	inv_hold_end();
	inv_dir_end();
	if (inv_tracers_unload())
		inv_scalar_end();
}
