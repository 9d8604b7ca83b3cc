/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_OTLP_LINK_H
#define INV_SINK_OTLP_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Links between spans of calls and spans of requests, which are in different
 * traces. A turn is what a process does after it received a message of a
 * request (flow/hops.h); the span of the turn is the span of this message. A
 * link says that a process made an outermost call in a turn:
 *
 *  - If events of requests happened during the call, the call's span has links
 *    to the turns of these events. If the process received several messages
 *    during the call, there are several such turns.
 *  - If events of one turn happened before and after the call, the turn's span
 *    has a link to the call.
 *
 * Processes without events of requests need no memory.
 */
struct inv_otlp_link {
	uint64_t trace[2];
	uint64_t span;
};

/* A span has at most this many links. */
#define INV_LINKS_MAX 8u
/* At most this many processes with turns are kept. If there are more, processes
 * without recent turns are forgotten. */
#define INV_LINKS_PARTIES 16384u
/* At most this many links from turns to calls are kept. */
#define INV_LINKS_LATER ((size_t)1 << 18)

struct inv_links_party;
struct inv_links_later;

struct inv_links {
	struct inv_links_party *parties;
	struct inv_links_later *later; /* links from turns */
	size_t n_later;
	size_t cap;
	bool failed; /* memory is exhausted */
};

/* Adds an event that happened in a turn of the process. */
void inv_links_turn(struct inv_links *l, uint64_t process, int64_t ts_ns,
		    const struct inv_otlp_link *turn);
/* Adds an outermost call that has ended. Sets `to' to the turns to which the
 * call's span has links, and returns how many there are. */
uint32_t inv_links_call(struct inv_links *l, uint64_t process, int64_t begin_ns,
			const struct inv_otlp_link *call,
			struct inv_otlp_link to[INV_LINKS_MAX]);

/* Call this after the last event, and before inv_links_of. */
void inv_links_end(struct inv_links *l);
/* Sets `to' to the calls to which the turn's span has links, and returns how
 * many there are. */
uint32_t inv_links_of(const struct inv_links *l, uint64_t turn,
		      struct inv_otlp_link to[INV_LINKS_MAX]);
void inv_links_release(struct inv_links *l);

#endif
