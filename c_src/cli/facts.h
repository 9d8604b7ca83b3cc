/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_FACTS_H
#define INV_CLI_FACTS_H

#include "base/buf.h"
#include "cli/members.h"

/*
 * What is said of sessions when they have ended, for people and as JSON.
 */

/* "612 events recorded, 12 lost (12 full), 3 came after the limit" */
void inv_facts_put_counts(struct inv_buf *b, const struct inv_member *m);
/* The same of all members together. */
void inv_facts_put_sum(struct inv_buf *b, const struct inv_members *ms);
/* "15 s", "run queue 212, limit 64", "lost: …"; "" when it has not stopped. */
void inv_facts_put_why(struct inv_buf *b, const struct inv_member *m);
/* The word of why, as it is in JSON: "time". */
const char *inv_facts_why(enum inv_session_why why);
/* "tracing" */
const char *inv_facts_state(enum inv_session_state state);

/* "name":"…",… : the fields of a status, without braces. */
void inv_facts_json_status(struct inv_buf *b, const struct inv_status *s);
/* {"node":"a@h","recorded":612,…} */
void inv_facts_json_member(struct inv_buf *b, const struct inv_member *m);
/* "recorded":…,"produced":…,"lost":…,"reasons":{…} of all together. */
void inv_facts_json_sum(struct inv_buf *b, const struct inv_members *ms);

/* "…" with what needs it escaped. */
void inv_facts_json_text(struct inv_buf *b, const char *text);

#endif
