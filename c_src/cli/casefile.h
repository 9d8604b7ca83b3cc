/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_CASEFILE_H
#define INV_CLI_CASEFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * A trace case: a file with the arguments of `inviso trace' or `inviso record'.
 * Each line has one option or one SPEC. Lines may contain variables, which get
 * their values when the case is run.
 *
 *	# What a module is called with.          first comment: the summary
 *	record                                   or trace
 *	--for ${TIME:-10m}                       an option, and its value
 *	$MODULE:_/_ when node() =/= here         a SPEC, to the end of the line
 *
 * Variables are $NAME, ${NAME}, or ${NAME:-default}. A NAME consists of A to Z,
 * 0 to 9 and _.  $$ becomes a plain $.  Whether a line has an option or a SPEC
 * is determined before variables are replaced, so a value cannot become an
 * option.
 */
struct inv_case_var {
	char *name;
	char *value;	 /* owned; NULL: no value given */
	char *otherwise; /* the default, owned; NULL: a value is required */
};

struct inv_casefile {
	char *name; /* of the file, without directory and .case */
	char *path;
	char *text;
	const char *summary; /* "": none; points into text */
	const char *command; /* trace or record */
	const char **lines;  /* without comments, and without white space at
				both ends */
	size_t n_lines;
	struct inv_case_var *vars; /* in the order of first use */
	size_t n_vars;
};

/* Reads a file. c must be all zero. The caller releases it, also on failure.
 * Returns 0, INV_EIO, INV_EFORMAT (with file and line), INV_ETOOBIG or
 * INV_ENOMEM. */
int inv_casefile_read(struct inv_casefile *c, const char *path,
		      struct inv_err *err);
void inv_casefile_release(struct inv_casefile *c);

/*
 * Sets a variable. `assignment' is "NAME=VALUE". Returns INV_ENOTHING if
 * `assignment' has another form, or if the case has no such variable.
 */
int inv_casefile_set(struct inv_casefile *c, const char *assignment,
		     struct inv_err *err);

/*
 * Makes the arguments, with the values of the variables. *args is an array of n
 * texts and a NULL; the caller frees it with inv_casefile_args_free. Returns
 * INV_ENOTHING if a variable has no value.
 */
int inv_casefile_args(const struct inv_casefile *c, char ***args, size_t *n,
		      struct inv_err *err);
void inv_casefile_args_free(char **args);

/*
 * Returns the name of the case at this path. It is also the default name of a
 * recording. The caller frees it. Returns NULL if there is no memory.
 */
char *inv_casefile_name(const char *path);

#endif
