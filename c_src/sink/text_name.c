/* SPDX-License-Identifier: Apache-2.0 */
/* Names of processes. They are texts in Erlang's syntax: atoms, m:f/1, or
 * labels. */
#include "sink/text.h"

void inv_line_name(struct inv_line *t, const struct inv_process_name *name)
{
	inv_line_put(t, name->registered ? "" : "(");
	if (t->sink.print.syntax != INV_SYNTAX_ELIXIR ||
	    !inv_term_print_translated(name->text, name->len, t->sink.out))
		inv_buf_put(t->sink.out, name->text, name->len);
	inv_line_put(t, name->registered ? "" : ")");
}
