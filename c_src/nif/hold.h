/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_HOLD_H
#define INV_NIF_HOLD_H

#include <erl_nif.h>

/*
 * nif_hold(Path) -> boolean().  Takes the lock (flock) on a file and keeps it
 * until the VM ends, however it ends, the library is unloaded, or another file
 * is locked; <<>> gives it up.  So other processes, from other containers too,
 * see whether the VM lives that a private directory belongs to.  Adds a line
 * "locked" to the file, or "nolock" and returns false if the lock cannot be
 * taken.  True and nothing else if the file is locked by this VM already.
 * Called by one process at a time, the guard.  On a dirty scheduler.
 */
ERL_NIF_TERM inv_hold(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* When the library is unloaded. */
void inv_hold_end(void);

#endif
