/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/gone.h"

#include <stdatomic.h>
#include <string.h>

#include "nif/atoms.h"

static bool crashes;
static _Atomic unsigned gone;

/* How many were gone when the thread was settled.  As in thread.c. */
static __thread unsigned settled __attribute__((tls_model("initial-exec")));

void inv_gone_init(void)
{
	ErlNifSysInfo info;

	enif_system_info(&info, sizeof(info));
	crashes = strcmp(info.otp_release, "27") < 0;
}

void inv_gone_add(const struct inv_slot *slot)
{
	if (crashes && atomic_load(&slot->use) == INV_USE_ASKED)
		atomic_fetch_add(&gone, 1);
}

bool inv_gone_settled(void)
{
	/* Acquire: whoever has seen one go sees that it is counted. */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&gone, memory_order_relaxed) == settled;
}

ERL_NIF_TERM inv_gone_count(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	(void)argc;
	(void)argv;
	return enif_make_uint(env, atomic_load(&gone));
}

ERL_NIF_TERM inv_gone_settle(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[])
{
	(void)env;
	(void)argc;
	(void)argv;
	settled = atomic_load(&gone);
	return inv_am_ok;
}
