/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_INHERIT_H
#define INV_ENGINE_INHERIT_H

#include <erl_nif.h>
#include <stdbool.h>

#include "engine/profile.h"

/*
 * Flags that go from one to another without anybody's asking.  In the thread
 * in which the VM tells of it: a new process does not run before that.
 */

/*
 * A process has got a child: the VM may tell twice, first by an event of the
 * parent, then by one of the child.  `parent` may be of another node.
 */
void inv_inherit_spawn(ERL_NIF_TERM parent, ERL_NIF_TERM child);
void inv_inherit_spawned(ERL_NIF_TERM child, ERL_NIF_TERM parent);

/* A port is there. */
void inv_inherit_open(ERL_NIF_TERM port);

/*
 * A process links to another, which may be a port or of another node.  If that
 * one has flags now that it did not have, the server is asked to tell the VM:
 * {'$inviso_engine', linked, Pid}, which may come too late for its event
 * `getting_linked'.  True: that is to be told here.  In a callback's
 * environment.
 */
bool inv_inherit_link(ErlNifEnv *env, ERL_NIF_TERM pid, ERL_NIF_TERM other);

/* That event came: false if it has been told. */
bool inv_inherit_linked(ERL_NIF_TERM other, ERL_NIF_TERM pid);

/* Whether one with that profile passes anything on. */
bool inv_inherit_spawns(const struct inv_profile *p);
bool inv_inherit_links(const struct inv_profile *p);

/* Makes the atoms. */
void inv_inherit_init(ErlNifEnv *env);

#endif
