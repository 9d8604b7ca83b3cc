/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_CAUSES_H
#define INV_CLI_CAUSES_H

#include "base/buf.h"
#include "base/json.h"
#include "flow/flow.h"

/*
 * Reports how many requests there were, and how many of their events and causes
 * are missing or uncertain. If the logs have no events of sequential traces,
 * both functions write nothing.
 */

/* Appends lines for people, each with the prefix. */
void inv_causes_text(const struct inv_requests *r, const char *prefix,
		     struct inv_buf *out);
/* Writes the object "requests". */
void inv_causes_json(const struct inv_requests *r, struct inv_json *j);

#endif
