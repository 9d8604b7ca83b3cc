/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/redact_opts.h"

#include <stdlib.h>
#include <string.h>

int inv_redact_opts_add(struct inv_redact_opts *o, const char *arg,
			const struct inv_records *records, struct inv_err *err)
{
	int rc;

	while (!(rc = inv_redact_next(&arg, records, &o->text, err))) {
		inv_buf_putc(&o->text, 0);
		o->n++;
	}
	return rc == INV_END ? 0 : rc;
}

int inv_redact_opts_end(struct inv_redact_opts *o)
{
	const char *p = (const char *)o->text.data;

	if (o->text.error)
		return INV_ENOMEM;
	o->rules = calloc(o->n + 1, sizeof(*o->rules));
	if (!o->rules)
		return INV_ENOMEM;
	for (size_t i = 0; i < o->n; i++) {
		o->rules[i] = p;
		p += strlen(p) + 1;
	}
	return 0;
}

void inv_redact_opts_release(struct inv_redact_opts *o)
{
	inv_buf_release(&o->text);
	free(o->rules);
}
