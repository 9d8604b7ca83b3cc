/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_FILTER_INT_H
#define INV_LOG_FILTER_INT_H

#include "log/filter.h"

/* Private declarations that filter.c and filter_parse.c share. */
struct inv_filter_pid {
	bool is_port;
	uint64_t number;
	uint64_t serial;
	char *node; /* NULL: any node */
};

struct inv_filter_mfa {
	char *module;		       /* UTF-8 */
	char *function;		       /* NULL: any function */
	bool any_module, any_function; /* the name is a wildcard
					  (base/glob.h) */
	int64_t arity;		       /* -1: any arity */
};

void inv_filter_mfa_release(struct inv_filter_mfa *m);

/* Parses "m:f/2" and the other forms of mfa in log/filter.h. Returns 0,
 * INV_EINVAL or INV_ENOMEM. */
int inv_filter_mfa_parse(struct inv_filter_mfa *m, const char *text,
			 struct inv_err *err);
/* Parses "a@h=<0.88.0>" and the other forms of pid in log/filter.h. Returns 0,
 * INV_EINVAL or INV_ENOMEM. */
int inv_filter_pid_parse(struct inv_filter_pid *x, const char *text,
			 struct inv_err *err);

#endif
