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
 * What shall be traced when a node starts: questions to inviso_autostart_admin,
 * which is on nodes where inviso is installed.  Each of
 *
 *	show(), remove(), write(CaseText, [{Name, Value}], Starts, Log)
 *
 * is answered {ok, File, Starts | always, Lines, Started}: the node's file, how
 * often more it counts, what is in it, and whether the application inviso was
 * started with the node; or {error, usage | failed, Text}.
 */
#define INV_STARTS_ALWAYS (-1)

struct inv_autostart {
	char file[4096];
	int64_t starts; /* INV_STARTS_ALWAYS, or how many more; 0: none */
	struct inv_texts lines;
	bool started;
};

struct inv_autostart_case {
	const char *text;
	size_t len;
	const char *const *names; /* of variables, and what they are */
	const char *const *values;
	size_t n;
	int64_t starts;
	const char *log;
};

void inv_autostart_show(struct inv_ask *ask, struct inv_conn *c, int ms);
void inv_autostart_remove(struct inv_ask *ask, struct inv_conn *c, int ms);
void inv_autostart_write(struct inv_ask *ask, struct inv_conn *c,
			 const struct inv_autostart_case *what, int ms);

/* The answer to any of them; out is to be released, whatever it was.
 * INV_EREMOTE, too, where inviso is not installed. */
int inv_autostart_got(const struct inv_ask *ask, struct inv_autostart *out,
		      struct inv_err *err);
void inv_autostart_release(struct inv_autostart *a);

#endif
