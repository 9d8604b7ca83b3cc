/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_EVENT_FILTER_H
#define INV_NIF_EVENT_FILTER_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "match/event_match.h"
#include "nif/match_vm.h"

/*
 * A compiled match spec that selects events of a tracer. It selects the same
 * events as `inviso merge --filter`.
 *
 * Callbacks run the filter, so a run takes no lock and allocates nothing. Terms
 * that a spec builds belong to the callback's environment, which the VM empties
 * after the callback. The time of a run is bounded: a compiled program jumps
 * only forwards, has at most INV_FILTER_CODE instructions, and visits at most
 * INV_FILTER_STEPS list elements to find the lengths of lists. A comparison
 * ends where two terms differ, as in the VM. If the program reads the size of a
 * binary that does not start on a byte, the VM copies the binary.
 */
#define INV_FILTER_BYTES 65536u
#define INV_FILTER_CODE 4096u
#define INV_FILTER_STEPS 10000u

struct inv_event_filter {
	struct inv_event_filter *next; /* next one in the tracer's list of old
					  filters that are not freed yet */
	struct inv_match_prog prog;
	struct inv_vm_match match;
	uint8_t *rooms; /* memory in which threads run the filter: `room' bytes
			   for each thread */
	size_t room;
	bool by_tag; /* the filter wants only events with a tag for which
			tags[tag] is true */
	bool tags[INV_TAG_COUNT];
	/* Wildcard patterns for the names of the module and the function of a
	 * call; "": no pattern. */
	char module_glob[1024], function_glob[1024];
};

/* An event as a match spec sees it: v contains the n elements of the trace
 * tuple. */
struct inv_event_words {
	ErlNifEnv *env;
	ERL_NIF_TERM v[INV_EVENT_ELEMENTS];
	unsigned n;
	bool has_result; /* the last element is the value V of the {message, V}
			    of the event's match spec */
};

enum inv_wanted {
	INV_WANTED_NO,
	INV_WANTED_YES,
	INV_WANTED_UNDECIDED, /* the filter cannot decide, because the VM does
			       * not provide the facts that it needs */
};

/* This node: a pid, port or reference without a node name belongs to it. */
struct inv_filter_node {
	ERL_NIF_TERM atom;
	const char *name; /* the atom's name, UTF-8 */
	uint32_t creation;
	unsigned otp;
};

/*
 * Makes a filter from a match spec. The bytes are in the external term format
 * if the first byte is 131, and otherwise text, which never begins with that
 * byte. A NUL must follow the bytes. Returns 0, or an error code with a message
 * in *err.
 */
int inv_event_filter_make(struct inv_event_filter **made, const uint8_t *bytes,
			  size_t len, const struct inv_filter_node *node,
			  struct inv_err *err);
void inv_event_filter_free(struct inv_event_filter *f);

/* Returns false if the filter selects no event with this tag. */
static inline bool inv_event_filter_tag(const struct inv_event_filter *f,
					enum inv_tag tag)
{
	return !f->by_tag || (tag < INV_TAG_COUNT && f->tags[tag]);
}

/* Runs the filter for one event. `thread' is the index of the calling
 * thread. */
enum inv_wanted inv_event_filter_run(const struct inv_event_filter *f,
				     uint32_t thread,
				     const struct inv_event_words *w);

#endif
