/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_FILTER_INT_H
#define INV_LOG_FILTER_INT_H

#include "log/filter.h"

/* What filter.c and filter_parse.c share. */
struct inv_filter_pid {
	bool is_port;
	uint64_t number;
	uint64_t serial;
	char *node; /* NULL: any */
};

struct inv_filter_mfa {
	char *module;	/* UTF-8 */
	char *function; /* NULL: any */
	int64_t arity;	/* -1: any */
};

void inv_filter_mfa_release(struct inv_filter_mfa *m);

/* "m:f/2" and its like; INV_EINVAL, INV_ENOMEM. */
int inv_filter_mfa_parse(struct inv_filter_mfa *m, const char *text,
			 struct inv_err *err);
/* "a@h=<0.88.0>" and its like */
int inv_filter_pid_parse(struct inv_filter_pid *x, const char *text,
			 struct inv_err *err);

#endif
