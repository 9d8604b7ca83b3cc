/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/retire.h"

#include <stdatomic.h>
#include <string.h>

#include "nif/atoms.h"

static bool crashes;
static _Atomic unsigned gone;

/*
 * The value of `gone' (how many tracers were retired) when this thread was last
 * settled. thread.h explains the TLS model.
 */
static __thread unsigned settled __attribute__((tls_model("initial-exec")));

void inv_retire_init(void)
{
	ErlNifSysInfo info;

	enif_system_info(&info, sizeof(info));
	crashes = strcmp(info.otp_release, "27") < 0;
}

void inv_retire_add(const struct inv_slot *slot)
{
	if (crashes && atomic_load(&slot->use) == INV_USE_ASKED)
		atomic_fetch_add(&gone, 1);
}

bool inv_retire_settled(void)
{
	/*
	 * Acquire: a thread that has seen that a tracer is retired also sees
	 * the count that includes this tracer.
	 */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&gone, memory_order_relaxed) == settled;
}

ERL_NIF_TERM inv_retire_count(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	(void)argc;
	(void)argv;
	return enif_make_uint(env, atomic_load(&gone));
}

ERL_NIF_TERM inv_retire_settle(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	(void)env;
	(void)argc;
	(void)argv;
	settled = atomic_load(&gone);
	return inv_am_ok;
}
