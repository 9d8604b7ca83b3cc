/* SPDX-License-Identifier: Apache-2.0 */
#include "node/encode.h"

#include <limits.h>
#include <string.h>

void inv_ei_init(struct inv_ei *e)
{
	memset(e, 0, sizeof(*e));
	e->failed = ei_x_new(&e->x) != 0;
}

void inv_ei_release(struct inv_ei *e)
{
	if (e->x.buff)
		ei_x_free(&e->x);
	memset(e, 0, sizeof(*e));
}

/* libei counts in int. */
static int small(struct inv_ei *e, size_t n)
{
	if (n <= INT_MAX / 2)
		return (int)n;
	e->failed = true;
	return 0;
}

static void done(struct inv_ei *e, int r)
{
	if (r)
		e->failed = true;
}

void inv_ei_tuple(struct inv_ei *e, size_t arity)
{
	int n = small(e, arity);

	if (!e->failed)
		done(e, ei_x_encode_tuple_header(&e->x, n));
}

void inv_ei_map(struct inv_ei *e, size_t pairs)
{
	int n = small(e, pairs);

	if (!e->failed)
		done(e, ei_x_encode_map_header(&e->x, n));
}

void inv_ei_list(struct inv_ei *e, size_t n)
{
	int len = small(e, n);

	/* of none it would be the empty list already */
	if (!e->failed && len)
		done(e, ei_x_encode_list_header(&e->x, len));
}

void inv_ei_nil(struct inv_ei *e)
{
	if (!e->failed)
		done(e, ei_x_encode_empty_list(&e->x));
}

void inv_ei_atom(struct inv_ei *e, const char *name)
{
	int n = small(e, strlen(name));

	if (!e->failed)
		done(e, ei_x_encode_atom_len_as(&e->x, name, n, ERLANG_UTF8,
						ERLANG_UTF8));
}

void inv_ei_bool(struct inv_ei *e, bool v)
{
	inv_ei_atom(e, v ? "true" : "false");
}

void inv_ei_i64(struct inv_ei *e, int64_t v)
{
	if (!e->failed)
		done(e, ei_x_encode_longlong(&e->x, v));
}

void inv_ei_u64(struct inv_ei *e, uint64_t v)
{
	if (!e->failed)
		done(e, ei_x_encode_ulonglong(&e->x, v));
}

void inv_ei_pid(struct inv_ei *e, const erlang_pid *pid)
{
	if (!e->failed)
		done(e, ei_x_encode_pid(&e->x, pid));
}

void inv_ei_bytes(struct inv_ei *e, const void *p, size_t len)
{
	int n = small(e, len);

	if (!e->failed)
		done(e, ei_x_encode_binary(&e->x, p, n));
}

void inv_ei_text(struct inv_ei *e, const char *s)
{
	inv_ei_bytes(e, s, strlen(s));
}

void inv_ei_texts(struct inv_ei *e, const char *const *v, size_t n)
{
	inv_ei_list(e, n);
	for (size_t i = 0; i < n; i++)
		inv_ei_text(e, v[i]);
	inv_ei_nil(e);
}

void inv_ei_raw(struct inv_ei *e, const void *p, size_t len)
{
	int n = small(e, len);

	if (!e->failed)
		done(e, ei_x_append_buf(&e->x, p, n));
}
