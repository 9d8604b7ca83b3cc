/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_INHERIT_H
#define INV_ENGINE_INHERIT_H

#include <erl_nif.h>
#include <stdbool.h>

#include "engine/profile.h"

/*
 * Flags that go from one to another without anybody's asking.  In the thread
 * in which the VM tells of it, and in that callback's environment: a new
 * process does not run before that.  Where the VM's flags are not what is
 * needed any more, the server is asked to see to it: {'$inviso_engine',
 * changed, Pid}.
 */

/*
 * A process has got a child: the VM may tell twice, first by an event of the
 * parent, then by one of the child.  `parent` may be of another node.
 */
void inv_inherit_spawn(ErlNifEnv *env, ERL_NIF_TERM parent, ERL_NIF_TERM child);
void inv_inherit_spawned(ErlNifEnv *env, ERL_NIF_TERM child,
			 ERL_NIF_TERM parent);

/* A port is there. */
void inv_inherit_open(ERL_NIF_TERM port);

/*
 * A process links to another, which may be a port or of another node.  True:
 * that one has flags now that it did not have, and the VM's event
 * `getting_linked' may come before the VM has them: it is to be told here.
 */
bool inv_inherit_link(ErlNifEnv *env, ERL_NIF_TERM pid, ERL_NIF_TERM other);

/* That event came: false if it has been told. */
bool inv_inherit_linked(ERL_NIF_TERM other, ERL_NIF_TERM pid);

/* Whether one with that profile passes anything on. */
bool inv_inherit_spawns(const struct inv_profile *p);
bool inv_inherit_links(const struct inv_profile *p);

#endif
