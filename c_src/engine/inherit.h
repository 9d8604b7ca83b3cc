/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_INHERIT_H
#define INV_ENGINE_INHERIT_H

#include <erl_nif.h>

/*
 * What a new process has of its parent's flags, and what the parent keeps.  The
 * parent runs this before the child ever runs.
 */
void inv_inherit_spawned(ERL_NIF_TERM child, ERL_NIF_TERM parent);

#endif
