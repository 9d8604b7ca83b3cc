/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/dir.h"

#include <stdint.h>
#include <string.h>

#include "abi/ring.h"

struct dir {
	unsigned char path[INV_PATH_LEN];
	size_t len;
};

static ErlNifMutex *lock;
static struct dir files;
static struct dir library;

static int change(ErlNifEnv *env, struct dir *d, ERL_NIF_TERM path)
{
	ErlNifBinary bin;

	if (!enif_inspect_binary(env, path, &bin) || bin.size > sizeof(d->path))
		return -1;
	enif_mutex_lock(lock);
	memcpy(d->path, bin.data, bin.size);
	d->len = bin.size;
	enif_mutex_unlock(lock);
	return 0;
}

static ERL_NIF_TERM term_of(ErlNifEnv *env, const struct dir *d)
{
	ERL_NIF_TERM term;

	enif_mutex_lock(lock);
	memcpy(enif_make_new_binary(env, d->len, &term), d->path, d->len);
	enif_mutex_unlock(lock);
	return term;
}

int inv_dir_load(ErlNifEnv *env, ERL_NIF_TERM path)
{
	if (!lock)
		lock = enif_mutex_create((char *)(uintptr_t) "inviso_dir");
	if (!lock || change(env, &files, path) != 0)
		return -1;
	return change(env, &library, path);
}

void inv_dir_end(void)
{
	if (lock)
		enif_mutex_destroy(lock);
	lock = NULL;
}

ERL_NIF_TERM inv_dir(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	(void)argc;
	(void)argv;
	return term_of(env, &files);
}

ERL_NIF_TERM inv_dir_library(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[])
{
	(void)argc;
	(void)argv;
	return term_of(env, &library);
}

ERL_NIF_TERM inv_dir_change(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	(void)argc;
	if (change(env, &files, argv[0]) != 0)
		return enif_make_badarg(env);
	return enif_make_atom(env, "ok");
}
