/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_INHERIT_H
#define INV_ENGINE_INHERIT_H

#include <erl_nif.h>
#include <stdbool.h>

#include "engine/profile.h"

/*
 * Inheritance of flags by spawns and links. Callbacks call these functions,
 * with their environment; a new process does not run before the callback
 * returns. If the process then needs other flags in the VM than it has, the
 * callback sends the server {'$inviso_engine', changed, Pid}.
 */

/*
 * Passes flags on to a spawned process. The VM may report a spawn twice: first
 * by an event of the parent (for inv_inherit_spawn), then by an event of the
 * child (for inv_inherit_spawned). `parent' may be a process of another node.
 */
void inv_inherit_spawn(ErlNifEnv *env, ERL_NIF_TERM parent, ERL_NIF_TERM child);
void inv_inherit_spawned(ErlNifEnv *env, ERL_NIF_TERM child,
			 ERL_NIF_TERM parent);

/* Gives a port that was just opened its flags. */
void inv_inherit_open(ERL_NIF_TERM port);

/*
 * Passes flags on from the process `pid' to `other', to which it links. `other'
 * may also be a port, or belong to another node. Returns true if `other' gets
 * flags by this link, and the VM would report the event getting_linked before
 * `other' has these flags in the VM. The caller must then send that event.
 */
bool inv_inherit_link(ErlNifEnv *env, ERL_NIF_TERM pid, ERL_NIF_TERM other);

/*
 * Handles the VM's event getting_linked of `other'.  Returns false if the
 * engine has already sent this event, because inv_inherit_link returned true.
 */
bool inv_inherit_linked(ERL_NIF_TERM other, ERL_NIF_TERM pid);

/*
 * inv_inherit_spawns returns true if a process with this profile passes on
 * flags when it spawns a process. inv_inherit_links returns true if it passes
 * on flags when it links to a process.
 */
bool inv_inherit_spawns(const struct inv_profile *p);
bool inv_inherit_links(const struct inv_profile *p);

#endif
