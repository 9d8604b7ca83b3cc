/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_REDACT_OPTS_H
#define INV_CLI_REDACT_OPTS_H

#include <stddef.h>

#include "base/buf.h"
#include "match/redact.h"

/*
 * The values of --redact: rules (match/redact.h). A struct of zeros has no
 * rules.
 */
struct inv_redact_opts {
	struct inv_buf text; /* the rules, each with a NUL at its end */
	const char **rules;
	size_t n;
};

/* The part of --help about rules, which several commands print. */
#define INV_REDACT_HELP                                                       \
	"RULES say which values are not shown; can be repeated. A rule is a " \
	"key of maps and of {Key, Value} (password, '*token*'), a field "     \
	"('#user.password'), arguments or a result ('m:f(_, -)', "            \
	"'m:f(_) -> -', m:f/2), or all, none or default: well-known keys"

/*
 * Adds the rules in a value of --redact. `records' contains the definitions of
 * records that the command knows; it can be NULL. Returns 0 or an error with a
 * message.
 */
int inv_redact_opts_add(struct inv_redact_opts *o, const char *arg,
			const struct inv_records *records, struct inv_err *err);

/* Makes o->rules, when all rules are added. Returns 0 or INV_ENOMEM. */
int inv_redact_opts_end(struct inv_redact_opts *o);

void inv_redact_opts_release(struct inv_redact_opts *o);

#endif
