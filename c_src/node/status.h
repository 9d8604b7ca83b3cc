/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_STATUS_H
#define INV_NODE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/decode.h"

/*
 * A session's Status (abi/control.h). Command and node may have different
 * versions. So unknown keys are skipped, a missing key has the value 0, "" or
 * -1, and texts such as `mode' are stored as the node sends them.
 */

struct inv_status_lost {
	char reason[32];
	uint64_t n;
};
#define INV_STATUS_LOST_MAX 16

struct inv_status {
	char name[65];
	char owner[256];
	char mode[16], keep[16]; /* atoms that the node sent */
	int64_t since;		 /* Unix time, seconds */
	struct inv_texts specs;
	struct inv_texts notes;
	/* limits; 0: no limit */
	int64_t limit_events, limit_bytes, limit_rate, limit_ms;
	char state[16]; /* arming, tracing, stopping, stopped, failed; "": the
			   key is missing */
	char why[16];	/* why the session has stopped, or is stopping; "" or
			   "none": it runs */
	char text[512]; /* explains `why', with figures */
	int code;	/* enum inv_code if the session failed; otherwise 0 */
	/* the log's path on the node's machine; "": there is no log */
	char log[512];
	int64_t functions, processes, sensitive; /* how many functions and
						  * processes the specs matched,
						  * and how many processes are
						  * left out because they have
						  * the flag `sensitive'; -1:
						  * unknown */
	int64_t system; /* how many kinds of events the VM's system monitor
			   reports */
	int64_t idle;	/* how many specs match nothing on this node; such
			 specs begin no requests */
	/* How many requests (sequential traces) began; -1: the session begins
	 * none. The next four fields also describe these requests. */
	int64_t begun;
	uint64_t beyond;       /* requests that were not recorded, because of
				  the limit or the sample */
	uint64_t remote;       /* requests that began with a message to
				  another node */
	uint64_t others;       /* events whose token has another label than
				  the session's */
	int64_t held;	       /* processes that have a token at the end; -1:
			    unknown */
	struct inv_texts list; /* of a dry run: lines that list the functions */
	/* In the state arming: the session has set its patterns on `armed' of
	 * `armed_of' functions. */
	int64_t armed, armed_of;
	uint64_t produced, recorded, dropped, log_bytes;
	char filter[512];	      /* "": no filter */
	uint64_t filtered, undecided; /* how many events the filter left out,
					 and for how many it lacked facts to
					 decide */
	uint64_t redacted; /* how many values were replaced by a mark */
	uint64_t left_out; /* calls, and ends of calls, that the bound on
			      open calls left out (nif/bound.h) */
	bool decides;	   /* rules pick calls when they end; the next fields
			 are those of struct inv_decide_counts
			 (nif/decide.h) */
	uint64_t forgotten, unkept, unended, open, without_args;
	struct inv_status_lost lost[INV_STATUS_LOST_MAX];
	size_t n_lost;
	int64_t ms_left;  /* -1: no time limit */
	int64_t expected; /* expected events a second, from a dry run; -1:
			     unknown */
};

/*
 * Reads the next term of `d', a Status.  The caller releases `out', even if the
 * result is an error.
 */
int inv_status_decode(struct inv_decode *d, struct inv_status *out);
void inv_status_release(struct inv_status *s);

bool inv_status_is(const struct inv_status *s, const char *state);
/*
 * inv_status_runs returns true if the session is arming or tracing, and
 * inv_status_ended if it has stopped or failed.
 */
bool inv_status_runs(const struct inv_status *s);
bool inv_status_ended(const struct inv_status *s);

/*
 * These return true if the session has stopped, or is stopping, for these
 * reasons:
 *
 *	inv_status_has_why      every reason
 *	inv_status_stopped_by   the reason `why'
 *	inv_status_protected    to protect the node, or because of the limit of
 *				events a second
 */
bool inv_status_has_why(const struct inv_status *s);
bool inv_status_stopped_by(const struct inv_status *s, const char *why);
bool inv_status_protected(const struct inv_status *s);

#endif
