/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_INHERIT_H
#define INV_ENGINE_INHERIT_H

#include <erl_nif.h>
#include <stdbool.h>

#include "engine/profile.h"

/*
 * Inheritance of flags. Callbacks call these functions, with their environment;
 * a new process does not run before the callback returns. If a process then
 * needs other flags in the VM, the server gets {'$inviso_engine', changed,
 * Pid}.
 */

/*
 * Passes flags on to a spawned process. The VM may report a spawn twice: first
 * by an event of the parent (inv_inherit_spawn), then by an event of the child
 * (inv_inherit_spawned). `parent' may be a process of another node.
 */
void inv_inherit_spawn(ErlNifEnv *env, ERL_NIF_TERM parent, ERL_NIF_TERM child);
void inv_inherit_spawned(ErlNifEnv *env, ERL_NIF_TERM child,
			 ERL_NIF_TERM parent);

/* Gives an opened port its flags. */
void inv_inherit_open(ERL_NIF_TERM port);

/*
 * Passes flags on to `other', to which the process links; `other' may be a port
 * or of another node. Returns true if the caller must send getting_linked:
 * `other' gets flags by this link, and the VM may report the link before
 * `other' has these flags.
 */
bool inv_inherit_link(ErlNifEnv *env, ERL_NIF_TERM pid, ERL_NIF_TERM other);

/*
 * Handles the VM's event getting_linked.  Returns false if the engine has
 * already reported this link.
 */
bool inv_inherit_linked(ERL_NIF_TERM other, ERL_NIF_TERM pid);

/*
 * Returns true if a process with this profile passes on flags when it spawns,
 * or when it links.
 */
bool inv_inherit_spawns(const struct inv_profile *p);
bool inv_inherit_links(const struct inv_profile *p);

#endif
