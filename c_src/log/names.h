/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_NAMES_H
#define INV_LOG_NAMES_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "log/notice.h"
#include "log/source.h"

/*
 * The names that processes of one node had at different times, from trace
 * information (ti) files: records (log/record.h) of
 *
 *	{Pid, Alias, alias, Now} and {PidOrOther, Alias, unalias, Now}.
 *
 * A name is valid after its alias entry, up to the next unalias entry with this
 * name and either this pid or no pid.
 */
struct inv_names;

struct inv_names *inv_names_new(void);
void inv_names_free(struct inv_names *n);

/*
 * Adds the contents of a ti file. Reports invalid entries. `otp' is the node's
 * OTP release, 0 if unknown (term/print.h).
 */
int inv_names_read(struct inv_names *n, const struct inv_source *src,
		   unsigned otp, struct inv_notices *ns);

/* A name, and when it was valid. `text' is UTF-8, as ~w prints the name. */
struct inv_name {
	const char *text;
	uint32_t len;
	const uint8_t *etf; /* the name in external format, without the leading
			       byte 131 */
	size_t etf_len;
	int64_t from_ns; /* valid if from_ns < t <= until_ns */
	int64_t until_ns;
	struct inv_name *next; /* next name of the same pid, in the order of the
				  file */
};

/*
 * Returns the first of all names that the pid ever had, or NULL. The caller
 * follows `next' and checks the times. The names are valid until the next
 * inv_names_read.
 */
const struct inv_name *inv_names_find(const struct inv_names *n, uint64_t pid,
				      uint64_t serial);

static inline int inv_name_holds(const struct inv_name *n, int64_t ts_ns)
{
	return n->from_ns < ts_ns && ts_ns <= n->until_ns;
}

#endif
