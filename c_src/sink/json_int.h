/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_JSON_INT_H
#define INV_SINK_JSON_INT_H

#include "base/json.h"
#include "flow/flow.h"
#include "sink/json_cache.h"
#include "sink/sink.h"
#include "sink/timefmt.h"

/* The arguments of a call are written twice: in the payload, and one by one. If
 * there are at most this many, and the payload needs no escapes, they are
 * copied from the payload the second time. Otherwise they are printed again. */
#define INV_JSON_ARGS 16u

/* Shared only by the files of the JSON format. */
struct inv_json_sink {
	struct inv_sink sink;
	struct inv_json w;
	struct inv_timefmt time;
	struct inv_timefmt start; /* for the start times of calls: a cache of
				   * their own, because they can be in an
				   * earlier second than the event */
	struct inv_json_cache processes;
	/* The places of a call's arguments in the payload that was written
	 * last: argument i is in the output from args[i] to args[i + 1] - 1. If
	 * the places are unknown, n_args is 0. */
	size_t args[INV_JSON_ARGS + 1];
	unsigned n_args;
	struct inv_buf spare;
};

/* Turns INV_END into INV_ETRUNCATED: inside an event, the end of the bytes is
 * an error. */
static inline int inv_json_must(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

/* Writes a time as a string. `t' is j->time or j->start. */
void inv_json_time(struct inv_json_sink *j, const char *key,
		   struct inv_timefmt *t, int64_t ts_ns);

/*
 * Writes a term as a string. If `tok' is not NULL, it is the term's first
 * token; otherwise the term is the cursor's next term.
 */
int inv_json_term(struct inv_json_sink *j, const char *key,
		  const struct inv_token *tok);

/*
 * Writes the process in tok as an object. `known' is the name of the process.
 * If `known' is NULL, writes the name that the flow has now.
 */
void inv_json_process(struct inv_json_sink *j, const char *key,
		      const struct inv_item *it, const struct inv_token *tok,
		      const struct inv_process_name *known);

/*
 * Writes the receiver of a message, which is the cursor's next term, as an
 * object {"pid","node","name"}. Unknown fields are null.
 */
int inv_json_receiver(struct inv_json_sink *j, const struct inv_item *it);

/* Writes "from" and "to" of a seq_trace event. */
int inv_json_seq(struct inv_json_sink *j, const struct inv_item *it);

/* Writes the cause of an event of a request. */
void inv_json_cause(struct inv_json_sink *j, const struct inv_cause *c);

/* Writes {M,F,Args} as a string. The cursor is before the payload. Fills in
 * j->args. */
int inv_json_mfa(struct inv_json_sink *j, const struct inv_item *it);

/* Writes the function of the event, and the call that the event ended. */
int inv_json_call(struct inv_json_sink *j, const struct inv_item *it);

#endif
