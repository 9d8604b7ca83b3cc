/* SPDX-License-Identifier: Apache-2.0 */
#include "node/call.h"

#include <string.h>

#include "node/conn_int.h"
#include "node/words.h"

static const struct inv_dest rex = { .name = "rex" };

static int ask(struct inv_conn *c, const struct inv_dest *to,
	       const ei_x_buff *request, int ms, bool awaited, uint64_t *tag,
	       struct inv_err *err)
{
	struct inv_question q = { .to = to, .ms = ms, .awaited = awaited };

	*tag = 0;
	if (request->index <= 0)
		return inv_err_set(err, INV_EINVAL, "an empty request");
	q.term = request->buff;
	q.len = (size_t)request->index;
	return inv_request_add(c, &q, tag, err);
}

int inv_conn_request(struct inv_conn *c, const struct inv_dest *to,
		     const ei_x_buff *request, int ms, uint64_t *tag,
		     struct inv_err *err)
{
	return ask(c, to, request, ms, false, tag, err);
}

/* {call, M, F, Args, user}; x is to be freed if this is 0. */
static int encode_call(ei_x_buff *x, const char *module, const char *function,
		       const ei_x_buff *args, struct inv_err *err)
{
	int skip = args->index > 0 && (unsigned char)args->buff[0] == 131;

	if (args->index <= skip)
		return inv_err_set(err, INV_EINVAL, "no arguments");
	if (ei_x_new(x))
		return inv_err_set(err, INV_ENOMEM, "no memory");
	if (ei_x_encode_tuple_header(x, 5) | ei_x_encode_atom(x, "call") |
	    ei_x_encode_atom(x, module) | ei_x_encode_atom(x, function) |
	    ei_x_append_buf(x, args->buff + skip, args->index - skip) |
	    ei_x_encode_atom(x, "user")) {
		ei_x_free(x);
		return inv_err_set(err, INV_ENOMEM, "no memory");
	}
	return 0;
}

int inv_conn_rex(struct inv_conn *c, const char *module, const char *function,
		 const ei_x_buff *args, int ms, uint64_t *tag,
		 struct inv_err *err)
{
	ei_x_buff x = { 0 };
	int r = encode_call(&x, module, function, args, err);

	*tag = 0;
	if (r)
		return r;
	r = ask(c, &rex, &x, ms, false, tag, err);
	ei_x_free(&x);
	return r;
}

int inv_rex_check(const struct inv_mail *answer, struct inv_err *err)
{
	char atom[MAXATOMLEN_UTF8];
	char why[300];
	int index = 0;
	int type;
	int n;

	if (ei_get_type(answer->term, &index, &type, &n) ||
	    (type != ERL_SMALL_TUPLE_EXT && type != ERL_LARGE_TUPLE_EXT) ||
	    n != 2 || ei_decode_tuple_header(answer->term, &index, &n) ||
	    ei_decode_atom_as(answer->term, &index, atom, sizeof(atom),
			      ERLANG_UTF8, NULL, NULL) ||
	    strcmp(atom, "badrpc") != 0)
		return 0;
	inv_term_words(why, sizeof(why), answer->term + index,
		       answer->len - (size_t)index);
	return inv_err_set(err, INV_EREMOTE, "%s: the call failed there: %s",
			   inv_conn_name(answer->conn)->full, why);
}

/* The answer to tag, and what the other items for it mean. */
static int await(struct inv_conn *c, uint64_t tag, int ms,
		 struct inv_mail *answer, struct inv_err *err)
{
	/* a little more than the request has: the thread says TIMEOUT */
	int r = inv_inbox_await(c->in, c, tag, (ms > 0 ? ms : 5000) + 2000,
				answer, err);

	if (r == INV_ETIME)
		return inv_err_set(err, r, "%s: no answer in time",
				   inv_conn_name(c)->full);
	if (r < 0)
		return r;
	if (answer->kind == INV_MAIL_ANSWER)
		return 0;
	if (err)
		*err = answer->err;
	return answer->err.code;
}

int inv_call(struct inv_conn *c, const struct inv_dest *to,
	     const ei_x_buff *request, int ms, struct inv_mail *answer,
	     struct inv_err *err)
{
	uint64_t tag;
	int r = ask(c, to, request, ms, true, &tag, err);

	memset(answer, 0, sizeof(*answer));
	return r < 0 ? r : await(c, tag, ms, answer, err);
}

int inv_call_rex(struct inv_conn *c, const char *module, const char *function,
		 const ei_x_buff *args, int ms, struct inv_mail *answer,
		 struct inv_err *err)
{
	ei_x_buff x = { 0 };
	int r = encode_call(&x, module, function, args, err);

	memset(answer, 0, sizeof(*answer));
	if (r)
		return r;
	r = inv_call(c, &rex, &x, ms, answer, err);
	ei_x_free(&x);
	if (r == 0) {
		r = inv_rex_check(answer, err);
		if (r < 0)
			inv_mail_release(answer);
	}
	return r;
}
