/* SPDX-License-Identifier: Apache-2.0 */
#include "term/tree_print.h"

#include "term/print_int.h"
#include "term/tree_walk.h"

struct printer {
	struct inv_buf *out;
	const struct inv_print_opts *o;
};

static int print(void *arg, const struct inv_token *tok)
{
	const struct printer *p = arg;

	inv__print_token(tok, true, p->out, p->o);
	return p->out->error;
}

int inv_tree_print(inv_word t, struct inv_buf *out,
		   const struct inv_print_opts *o)
{
	struct printer p = { .out = out, .o = o };

	return inv_tree_walk(t, print, &p);
}
