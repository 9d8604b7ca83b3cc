/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_NAMES_H
#define INV_LOG_NAMES_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "log/notice.h"
#include "log/source.h"

/*
 * The names that processes of one node had in the course of time, from trace
 * information (ti) files: records (log/record.h) of
 *
 *	{Pid, Alias, alias, Now} and {PidOrOther, Alias, unalias, Now}.
 *
 * A name holds after its alias entry and up to the first later unalias entry
 * of the same name, of that pid or of none.
 */
struct inv_names;

struct inv_names *inv_names_new(void);
void inv_names_free(struct inv_names *n);

/*
 * Adds what a ti file has.  Entries that make no sense are reported.  otp is
 * the release of the node, 0 when it is not known (term/print.h).
 */
int inv_names_read(struct inv_names *n, const struct inv_source *src,
		   unsigned otp, struct inv_notices *ns);

/* A name at a time; the text is as ~w prints it, UTF-8. */
struct inv_name {
	const char *text;
	uint32_t len;
	const uint8_t *etf; /* the name, without the leading 131 */
	size_t etf_len;
	int64_t from_ns; /* holds when from < t <= until */
	int64_t until_ns;
	struct inv_name *next; /* of the same pid, in the order of the file */
};

/*
 * All names that the pid ever had, for the caller to pick from by time; NULL:
 * none.  Good until the next inv_names_read.
 */
const struct inv_name *inv_names_find(const struct inv_names *n, uint64_t pid,
				      uint64_t serial);

static inline int inv_name_holds(const struct inv_name *n, int64_t ts_ns)
{
	return n->from_ns < ts_ns && ts_ns <= n->until_ns;
}

#endif
