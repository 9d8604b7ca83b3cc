/* SPDX-License-Identifier: Apache-2.0 */
#include "node/encode.h"

#include <string.h>

void inv_put_atom(struct inv_buf *out, const char *name)
{
	inv_etf_atom(out, name, strlen(name));
}

void inv_put_text(struct inv_buf *out, const char *s)
{
	inv_etf_binary(out, s, strlen(s));
}

void inv_put_texts(struct inv_buf *out, const char *const *v, size_t n)
{
	inv_etf_list(out, n);
	for (size_t i = 0; i < n; i++)
		inv_put_text(out, v[i]);
	inv_etf_nil(out);
}

#define IDENTIFIER_MAX (MAXATOMLEN_UTF8 + 64)

void inv_put_pid(struct inv_buf *out, const erlang_pid *pid)
{
	char bytes[IDENTIFIER_MAX];
	int n = 0;

	ei_encode_pid(bytes, &n, pid);
	inv_buf_put(out, bytes, (size_t)n);
}

void inv_put_ref(struct inv_buf *out, const erlang_ref *ref)
{
	char bytes[IDENTIFIER_MAX];
	int n = 0;

	ei_encode_ref(bytes, &n, ref);
	inv_buf_put(out, bytes, (size_t)n);
}
