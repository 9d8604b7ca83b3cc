/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_REPORT_H
#define INV_CLI_REPORT_H

#include "base/json.h"
#include "cli/members.h"

/*
 * Prints the results of sessions, for people and as JSON.
 */

/* Appends "612 events recorded, 12 lost (12 full), 3 came after the limit". */
void inv_report_put_counts(struct inv_buf *b, const struct inv_member *m);
/* Like inv_report_put_counts, with the sums of the counts of all members. */
void inv_report_put_sum(struct inv_buf *b, const struct inv_members *ms);
/* Append parts of the status line. inv_report_put_arming appends "arming 2 of 7
 * functions | " while sessions arm. inv_report_put_left appends " | 12s left":
 * the longest remaining time of all sessions. */
void inv_report_put_arming(struct inv_buf *b, const struct inv_members *ms);
void inv_report_put_left(struct inv_buf *b, const struct inv_members *ms);
/* Appends why the session stopped: "15 s", "run queue 212, limit 64", "lost:
 * …". Appends nothing if the session has not stopped. */
void inv_report_put_why(struct inv_buf *b, const struct inv_member *m);
/* Appends why the sessions of a command stopped: "interrupted", or the reason
 * of the first session that stopped by itself. If there are several sessions,
 * the reason follows the name of the session's node. */
void inv_report_put_stopped(struct inv_buf *b, const struct inv_members *ms,
			    bool interrupted);

/* Writes the fields of a status into a JSON object, which the caller opens and
 * closes. */
void inv_report_json_status(struct inv_json *j, const struct inv_status *s);
/* Writes "node", the fields of the member's status, and "error" if the member
 * failed. */
void inv_report_json_member(struct inv_json *j, const struct inv_member *m);
/* Writes the array "nodes", with an object for each member. */
void inv_report_json_nodes(struct inv_json *j, const struct inv_members *ms);
/* Writes the sums of the members' counts. */
void inv_report_json_sum(struct inv_json *j, const struct inv_members *ms);
/* Writes an array of strings. */
void inv_report_json_texts(struct inv_json *j, const char *key,
			   const struct inv_texts *list);

/* Returns how many calls have ended without being recorded, because no rule
 * picked them. */
uint64_t inv_report_forgotten(const struct inv_members *ms);

#endif
