/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/small.h"

ERL_NIF_TERM inv_small_words[INV_SMALL_MAX];

void inv_small_init(ErlNifEnv *env)
{
	for (unsigned i = 0; i < INV_SMALL_MAX; i++)
		inv_small_words[i] = enif_make_uint(env, i);
}
