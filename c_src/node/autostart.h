/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_AUTOSTART_H
#define INV_NODE_AUTOSTART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/decode.h"
#include "node/gather.h"

/*
 * Requests to the module inviso_autostart_admin, on nodes where inviso is
 * installed. This module configures a node to begin a trace whenever its VM
 * starts. The requests are
 *
 *	show(), remove(), write(CaseText, [{Name, Value}], Starts, Log)
 *
 * The answer is {ok, File, Starts | always, Lines, Started} or {error, usage |
 * failed, Text}. File is the path of the node's configuration file, Starts is
 * how many more starts of the VM will begin a trace, and Lines are the file's
 * lines. Started is true if the application inviso runs on the node.
 */
#define INV_STARTS_ALWAYS (-1)

struct inv_autostart {
	char file[4096];
	int64_t starts; /* how many more starts of the VM will begin a trace;
			   INV_STARTS_ALWAYS: all; 0: none */
	struct inv_texts lines;
	bool started;
};

struct inv_autostart_case {
	const char *text;
	size_t len;
	/* The names of the variables in the trace case `text'; `values' has
	 * their values. */
	const char *const *names;
	const char *const *values;
	size_t n;
	int64_t starts;
	const char *log;
};

void inv_autostart_show(struct inv_ask *ask, struct inv_conn *c, int ms);
void inv_autostart_remove(struct inv_ask *ask, struct inv_conn *c, int ms);
void inv_autostart_write(struct inv_ask *ask, struct inv_conn *c,
			 const struct inv_autostart_case *what, int ms);

/*
 * Decodes the answer to show(), remove() or write(...). The caller releases
 * `out', even if the result is an error. If inviso is not installed, the error
 * is INV_EREMOTE.
 */
int inv_autostart_got(const struct inv_ask *ask, struct inv_autostart *out,
		      struct inv_err *err);
void inv_autostart_release(struct inv_autostart *a);

#endif
