/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_HOLD_H
#define INV_NIF_HOLD_H

#include <erl_nif.h>

/*
 * nif_hold(Path) -> boolean().  Takes the lock (flock) on a file and keeps it
 * until the VM ends, however it ends, the library is unloaded, or this is
 * called again; <<>>: gives it up.  So others see, from other containers too,
 * whether the VM lives that a private directory belongs to.  Then a line
 * "locked" is added to the file.  On a dirty scheduler.
 */
ERL_NIF_TERM inv_hold(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* When the library is unloaded. */
void inv_hold_end(void);

#endif
