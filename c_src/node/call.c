/* SPDX-License-Identifier: Apache-2.0 */
#include "node/call.h"

#include "node/conn_int.h"
#include "node/encode.h"

static const struct inv_dest rex = { .name = "rex" };

int inv_conn_request(struct inv_conn *c, const struct inv_dest *to,
		     const struct inv_buf *request, int ms, uint64_t *tag,
		     struct inv_err *err)
{
	struct inv_question q = {
		.to = to, .ms = ms, .term = request->data, .len = request->len
	};

	*tag = 0;
	if (request->error)
		return inv_err_set(err, request->error,
				   "no memory for a request");
	return inv_request_add(c, &q, tag, err);
}

static void put_call(struct inv_buf *out, const char *module,
		     const char *function, const struct inv_buf *args)
{
	inv_etf_tuple(out, 5);
	inv_put_atom(out, "call");
	inv_put_atom(out, module);
	inv_put_atom(out, function);
	inv_buf_put(out, args->data, args->len);
	inv_put_atom(out, "user");
}

int inv_conn_rex(struct inv_conn *c, const char *module, const char *function,
		 const struct inv_buf *args, int ms, uint64_t *tag,
		 struct inv_err *err)
{
	struct inv_buf call = { .error = args->error };
	int r;

	put_call(&call, module, function, args);
	r = inv_conn_request(c, &rex, &call, ms, tag, err);
	inv_buf_release(&call);
	return r;
}
