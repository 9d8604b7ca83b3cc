/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_DIR_H
#define INV_NIF_DIR_H

#include <erl_nif.h>

/*
 * The directory that contains the library and the spooler. It can change while
 * the library is loaded. If a command has sent the code to this node, the files
 * are later removed before the code is unloaded. A client that attaches between
 * these two steps sends the files again, to a new directory.
 */

/* Call it when the library is loaded. Returns 0, or -1 if `path' is not a
 * binary or is too long. */
int inv_dir_load(ErlNifEnv *env, ERL_NIF_TERM path);

/* Call it when the library is unloaded, or could not be loaded. */
void inv_dir_end(void);

/* dir() -> binary() */
ERL_NIF_TERM inv_dir(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/*
 * library() -> binary(). Returns the directory from which the library was
 * loaded. The dynamic linker knows the library by its path in this directory,
 * even after the file was removed.
 */
ERL_NIF_TERM inv_dir_library(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);

/* nif_dir(Path) -> ok.  dir() returns Path from now on. */
ERL_NIF_TERM inv_dir_change(ErlNifEnv *env, int argc,
			    const ERL_NIF_TERM argv[]);

#endif
