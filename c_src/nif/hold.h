/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_HOLD_H
#define INV_NIF_HOLD_H

#include <erl_nif.h>

/*
 * nif_hold(Path) -> boolean(). Locks a file (flock). The lock is released when
 * the VM ends, even if it is killed, when the library is unloaded, when another
 * file is locked, or by nif_hold(<<>>). The lock shows other processes, also in
 * other containers, whether the VM to which a place belongs is alive.
 *
 * Adds a line "locked" to the file; if it cannot be locked, adds "nolock" and
 * returns false. If this VM has locked the file already, only returns true.
 * Only the guard calls it. It runs on a dirty scheduler.
 */
ERL_NIF_TERM inv_hold(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* Call it when the library is unloaded. */
void inv_hold_end(void);

#endif
