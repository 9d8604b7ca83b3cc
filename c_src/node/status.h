/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_STATUS_H
#define INV_NODE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/decode.h"

/*
 * What a session says of itself: Status of abi/control.h.  Keys that are not
 * known are passed over, those that are missing are 0, "" or -1, so that
 * either side can be newer.
 */
enum inv_session_state {
	INV_STATE_UNKNOWN = 0, /* a newer node's */
	INV_STATE_ARMING,
	INV_STATE_TRACING,
	INV_STATE_STOPPING,
	INV_STATE_STOPPED,
	INV_STATE_FAILED,
};

/* Why it stopped. */
enum inv_session_why {
	INV_WHY_NONE = 0,
	INV_WHY_EVENTS,
	INV_WHY_BYTES,
	INV_WHY_RATE,
	INV_WHY_TIME,
	INV_WHY_ASKED,
	INV_WHY_CLIENT_GONE,
	INV_WHY_RUN_QUEUE, /* this and the next three: protections */
	INV_WHY_MEMORY,
	INV_WHY_QUEUE,
	INV_WHY_TRACER,
	INV_WHY_OTHER, /* a newer node's */
};

struct inv_status_lost {
	char reason[32];
	uint64_t n;
};
#define INV_STATUS_LOST_MAX 16

struct inv_status {
	char name[65];
	char owner[256];
	char mode[16], keep[16]; /* as the node spells them */
	int64_t since;		 /* Unix time, seconds */
	struct inv_texts specs;
	struct inv_texts notes;
	/* limits; 0: none */
	int64_t limit_events, limit_bytes, limit_rate, limit_ms;
	enum inv_session_state state;
	enum inv_session_why why;
	char text[512]; /* of why, with the figures */
	int code;	/* of one that failed: enum inv_code; else 0 */
	char log[512];	/* where it is on the node's machine; "" */
	int64_t functions, processes, sensitive; /* matched; -1: not told */
	int64_t armed, armed_of;		 /* while arming */
	uint64_t produced, recorded, dropped, log_bytes;
	char filter[512];	      /* "": none */
	uint64_t filtered, undecided; /* by it */
	struct inv_status_lost lost[INV_STATUS_LOST_MAX];
	size_t n_lost;
	int64_t ms_left;  /* -1: infinity */
	int64_t expected; /* events a second, of a dry run; -1: not told */
};

/* The next term of d, a Status.  out is to be released, error or not. */
int inv_status_decode(struct inv_decode *d, struct inv_status *out);
void inv_status_release(struct inv_status *s);

/* Whether a protection of the node stopped it. */
bool inv_why_protection(enum inv_session_why why);

#endif
