/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_CASEFILE_H
#define INV_CLI_CASEFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * A trace case: a file with the arguments of `inviso trace' or `inviso record',
 * one a line, in which variables stand for what differs from one use to another.
 *
 *	# What a module is called with.           the first comment: what it is
 *	record                                    or trace
 *	--for ${TIME:-10m}                        an option, and its value
 *	$MODULE:_/_ when node() =/= here          a SPEC, to the end of the line
 *
 * Variables are $NAME, ${NAME}, or ${NAME:-what it is when nothing is said}, of
 * A to Z, 0 to 9 and _; $$ is a $, which stays what it is before anything else.
 * What kind a line is, is seen before variables get their values, so that no
 * value can become an option.
 */
struct inv_case_var {
	char *name;
	char *value;	 /* owned; NULL: not given */
	char *otherwise; /* owned; NULL: it needs a value */
};

struct inv_casefile {
	char *name; /* of the file, without directory and .case */
	char *path;
	char *text;
	const char *summary; /* "" if it has none; borrowed of text */
	const char *command; /* trace or record */
	const char **lines;  /* without comments and blanks at their ends */
	size_t n_lines;
	struct inv_case_var *vars; /* in the order of their first use */
	size_t n_vars;
};

/* All zero before; to be released, whatever it answers.  INV_EIO, INV_EFORMAT
 * (with file and line), INV_ETOOBIG, INV_ENOMEM. */
int inv_casefile_read(struct inv_casefile *c, const char *path,
		      struct inv_err *err);
void inv_casefile_release(struct inv_casefile *c);

/*
 * "NAME=VALUE" gives a variable its value: INV_ENOTHING if that is no such
 * text, or there is no such variable.
 */
int inv_casefile_set(struct inv_casefile *c, const char *assignment,
		     struct inv_err *err);

/*
 * The arguments, with values for the variables, and a NULL after them: an array
 * of n texts, which the caller frees with inv_casefile_args_free.  INV_ENOTHING
 * if a variable has no value.
 */
int inv_casefile_args(const struct inv_casefile *c, char ***args, size_t *n,
		      struct inv_err *err);
void inv_casefile_args_free(char **args);

/* The name of the case in a path, as that of a recording of it; the caller
 * frees it.  NULL: no memory. */
char *inv_casefile_name(const char *path);

#endif
