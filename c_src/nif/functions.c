/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/functions.h"

int inv_functions_each(ErlNifEnv *env, ERL_NIF_TERM module, ERL_NIF_TERM list,
		       bool (*add)(void *arg, const struct inv_called *f),
		       void *arg)
{
	const ERL_NIF_TERM *e;
	ERL_NIF_TERM head;
	unsigned arity;
	int left = 0;
	int n;

	while (enif_get_list_cell(env, list, &head, &list)) {
		if (!enif_get_tuple(env, head, &n, &e) || n != 2 ||
		    !enif_get_uint(env, e[1], &arity))
			return -1;
		left += !add(arg, &(struct inv_called){ module, e[0], arity });
	}
	return enif_is_empty_list(env, list) ? left : -1;
}
