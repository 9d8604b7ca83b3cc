/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_HOLD_H
#define INV_NIF_HOLD_H

#include <erl_nif.h>

/*
 * nif_hold(Path) -> boolean(). Locks a file (flock). The lock ends with the VM,
 * even if the VM is killed. It also ends when the library is unloaded, when
 * nif_hold locks another file, or by nif_hold(<<>>). The lock shows programs
 * outside the VM, even in other containers, that the VM is alive. So a spooler
 * removes the VM's directory (its `place') only after the VM has ended.
 *
 * Adds a line "locked" to the file and returns true. If the file cannot be
 * locked, adds a line "nolock" and returns false. If this VM has locked the
 * file already, only returns true. Only the guard (inviso_guard.erl) calls
 * nif_hold. It runs on a dirty scheduler.
 */
ERL_NIF_TERM inv_hold(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* Call it when the library is unloaded. */
void inv_hold_end(void);

#endif
