/* SPDX-License-Identifier: Apache-2.0 */
#include "node/registered.h"

#include <string.h>

#include "node/decode.h"
#include "term/print.h"

struct take {
	inv_registered_each *each;
	void *arg;
	struct inv_buf name;
};

/* Reads {Pid, Name}, after its first token. */
static int pair(struct inv_decode *d, const struct inv_token *tuple,
		struct take *t)
{
	const struct inv_print_opts w = { .style = INV_PRINT_W,
					  .unicode = true };
	struct inv_token process, name;
	int rc;

	if (tuple->kind != INV_TOK_TUPLE || tuple->count != 2)
		return inv_decode_bad(d);
	rc = inv_cursor_next(&d->c, &process);
	if (rc)
		return rc;
	if (process.kind != INV_TOK_PID && process.kind != INV_TOK_PORT)
		return inv_decode_bad(d);
	/* The bytes with the node's name are not valid after the next token. */
	process.len = 0;
	rc = inv_cursor_next(&d->c, &name);
	if (rc)
		return rc;
	if (name.kind != INV_TOK_ATOM)
		return inv_decode_bad(d);
	inv_buf_reset(&t->name);
	inv_term_print_atom(name.bytes, name.len, &t->name, &w);
	rc = t->name.error ? t->name.error : inv_cursor_end(&d->c);
	return rc ? rc :
		    t->each(t->arg, &process, (const char *)t->name.data,
			    t->name.len);
}

static int all(struct inv_decode *d, struct take *t)
{
	struct inv_token tok;
	int rc = inv_cursor_next(&d->c, &tok);

	if (rc || tok.kind == INV_TOK_NIL)
		return rc;
	if (tok.kind != INV_TOK_LIST)
		return inv_decode_bad(d);
	for (;;) {
		rc = inv_cursor_next(&d->c, &tok);
		if (rc || tok.kind == INV_TOK_END)
			return rc;
		rc = pair(d, &tok, t);
		if (rc)
			return rc;
	}
}

int inv_registered_got(const struct inv_ask *ask, inv_registered_each *each,
		       void *arg, struct inv_err *err)
{
	struct take t = { .each = each, .arg = arg };
	struct inv_decode d;
	int rc = inv_ask_answer(ask, &d, err);

	if (!rc)
		rc = inv_decode_ok(&d, 2, err);
	if (rc)
		return rc;
	rc = all(&d, &t);
	inv_buf_release(&t.name);
	if (rc == INV_ENOMEM)
		return inv_err_set(err, rc, "no memory");
	return rc ? inv_decode_strange(&d, err) : 0;
}
