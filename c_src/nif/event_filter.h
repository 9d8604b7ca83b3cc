/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_EVENT_FILTER_H
#define INV_NIF_EVENT_FILTER_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "match/event_match.h"
#include "nif/match_vm.h"

/*
 * A compiled match spec that selects events of a tracer, as `inviso merge
 * --filter` does, with the same results.
 *
 * Callbacks run the filter, so a run takes no lock and allocates nothing. Terms
 * that a spec builds belong to the callback's environment, which the VM empties
 * afterwards. A compiled program jumps only forwards, has at most
 * INV_FILTER_CODE instructions, and visits at most INV_FILTER_STEPS list
 * elements to find the lengths of lists. A comparison ends where two terms
 * differ, as in the VM. If the program reads the size of a binary that does not
 * start on a byte, the VM copies the binary.
 */
#define INV_FILTER_BYTES 65536u
#define INV_FILTER_CODE 4096u
#define INV_FILTER_STEPS 10000u

struct inv_event_filter {
	struct inv_event_filter *next; /* in the tracer's list of replaced
					  filters that are not freed yet */
	struct inv_match_prog prog;
	struct inv_vm_match match;
	uint8_t *rooms; /* working memory of runs: `room' bytes for each thread
			 */
	size_t room;
	bool by_tag; /* the filter wants only events of the tags that are true
			in `tags' */
	bool tags[INV_TAG_COUNT];
	/* Wildcards for the names of the module and the function of a call; "":
	 * none. */
	char module_glob[1024], function_glob[1024];
};

/* An event as a spec sees it: the elements of the trace tuple. */
struct inv_event_words {
	ErlNifEnv *env;
	ERL_NIF_TERM v[INV_EVENT_ELEMENTS];
	unsigned n;
	bool has_result; /* the last word is the value of {message, _} */
};

enum inv_wanted {
	INV_WANTED_NO,
	INV_WANTED_YES,
	INV_WANTED_UNDECIDED, /* the result depends on facts that the VM does
			       * not provide */
};

/* This node. Identifiers without a node name belong to it. */
struct inv_filter_node {
	ERL_NIF_TERM atom;
	const char *name; /* the atom's name, UTF-8 */
	uint32_t creation;
	unsigned otp;
};

/*
 * Makes a filter from a match spec. The bytes are text, or the external term
 * format if the first byte is 131, with which no text begins. A NUL must follow
 * the bytes. Returns 0, or a code with a message.
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
