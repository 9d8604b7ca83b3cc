/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_NAMES_H
#define INV_LOG_NAMES_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "log/notice.h"
#include "log/source.h"

/*
 * The names that processes of one node had at different times. They come from
 * trace information (ti) files, which consist of records (log/record.h) with
 * the terms
 *
 *	{Pid, Alias, alias, Now} and {PidOrOther, Alias, unalias, Now}.
 *
 * A process has a name from the time of an alias entry to the time of the next
 * unalias entry with this name. If the unalias entry has a pid, it applies only
 * to this process, otherwise to all processes with this name.
 */
struct inv_names;

struct inv_names *inv_names_new(void);
void inv_names_free(struct inv_names *n);

/*
 * Adds the contents of a ti file. Reports invalid entries as notices. `otp' is
 * the node's OTP release, which decides how terms are printed (term/print.h);
 * 0: unknown.
 */
int inv_names_read(struct inv_names *n, const struct inv_source *src,
		   unsigned otp, struct inv_notices *ns);

/* A name of a process, and the period in which the process had it. `text' is
 * what io:format prints for ~w, in UTF-8. */
struct inv_name {
	const char *text;
	uint32_t len;
	const uint8_t *etf; /* the name in external format, without the leading
			       byte 131 */
	size_t etf_len;
	int64_t from_ns; /* the process had the name at each time t with from_ns
			    < t <= until_ns */
	int64_t until_ns;
	struct inv_name *next; /* next name of the same pid, in the order of the
				  file */
};

/*
 * Returns the list of all names that the pid ever had, linked by `next', or
 * NULL. The caller checks in which period the pid had each name. The pointers
 * are valid until the next inv_names_read.
 */
const struct inv_name *inv_names_find(const struct inv_names *n, uint64_t pid,
				      uint64_t serial);

static inline int inv_name_holds(const struct inv_name *n, int64_t ts_ns)
{
	return n->from_ns < ts_ns && ts_ns <= n->until_ns;
}

#endif
